"""The stance of the whole process towards compiling: `compiler.set_stance` and
`compiler.set_default_backend`."""

__all__ = ["current"]


class Stance:
    """How compiled functions behave (`word`), and the backend of those that name none."""

    WORDS = ("default", "force_eager", "eager_on_recompile", "fail_on_recompile")
    word, eager, backend = "default", False, "auto"

    def take(self, word):
        """Set the stance from now on."""
        self.word, self.eager = word, word == "force_eager"

    def recompile(self, function):
        """True if a function may be compiled for another kind of arguments; RuntimeError if the
        stance makes that an error."""
        if self.word == "fail_on_recompile":
            name = getattr(function, "__name__", function)
            raise RuntimeError(f"{name} would be compiled again, and the stance is "
                               f"fail_on_recompile: none of its programs takes these arguments")
        return self.word != "eager_on_recompile"


current = Stance()
