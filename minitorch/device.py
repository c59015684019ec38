"""`device`: where a tensor's memory lives, in PyTorch's spelling ("cpu", "cuda", "cuda:1", "sim")."""

__all__ = ["device"]

TYPES = ["cpu", "cuda", "sim", "meta"]                    # `backends.register` adds to them


class device:
    """``device("cuda:1")``, ``device("cuda", 1)`` or ``device("cpu")``; hashable, equal by value.

    `type` is the kind of hardware, `index` its number or None for the current one. The kinds are "cpu" (NumPy),
    "cuda" (CuPy) and "sim", which runs the CUDA kernels on the processor. Also a context manager: the tensors
    created inside live there.
    """

    __slots__ = ("type", "index", "_outer")

    def __init__(self, type, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int):
            type, index = "cuda", type
        elif isinstance(type, str) and ":" in type:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: "
                                   f"{type}")
            type, _, number = type.partition(":")
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}:{number}'")
            index = int(number)
        if type not in TYPES:
            raise RuntimeError(f"Expected one of {', '.join(TYPES)} device type at start of device string: {type}")
        self.type, self.index, self._outer = type, index, None

    def __repr__(self):
        return f"device(type='{self.type}'{'' if self.index is None else f', index={self.index}'})"

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (self.type, self.index)

    def __enter__(self):
        from . import backends
        self._outer = backends.default
        backends.default = backends.get(self)
        return self

    def __exit__(self, *exc):
        from . import backends
        backends.default = self._outer
