"""`TorchVersion`, the type of ``torch.__version__``: a text that compares as a version does."""

import re

__all__ = ["TorchVersion"]

VERSION = re.compile(r"v?(?:(\d+)!)?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?(\d*))?"
                     r"(?:(?:[-_.]?(?:post|rev|r)[-_.]?|-)(\d*))?(?:[-_.]?dev[-_.]?(\d*))?(?:\+([\w.-]+))?", re.I)
STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}


def key(text):
    """The key that orders versions (PEP 440): epoch, release, then development, earlier stages, itself, later ones."""
    found = VERSION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"invalid version: {text!r}")
    epoch, release, stage, number, post, dev, local = found.groups()
    numbers = [int(n) for n in release.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    if stage:
        early = STAGES[stage.lower()], int(number or 0)
    else:
        early = (-1, 0) if dev is not None and post is None else (3, 0)
    late = -1 if post is None else int(post or 0)
    parts = [(1, int(p), "") if p.isdigit() else (0, 0, p.lower()) for p in re.split(r"[-_.]", local or "") if p]
    return int(epoch or 0), tuple(numbers), early, late, float("inf") if dev is None else int(dev or 0), parts


class TorchVersion(str):
    """A version as a text: compared with another, with a text or with a tuple of numbers, it is compared as versions.

    A text that is not a version is compared letter by letter.

    >>> from minitorch.torch_version import TorchVersion
    >>> TorchVersion("2.13.0") > "2.9", TorchVersion("1.10.0a") > (1, 9)
    (True, True)
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def _compared(self, other, how):
        if isinstance(other, (tuple, list)):
            other = ".".join(str(item) for item in other)
        if not isinstance(other, str):
            return NotImplemented
        try:
            return how(key(str(self)), key(str(other)))
        except ValueError:
            return how(str(self), str(other))

    def __eq__(self, other):
        return self._compared(other, lambda a, b: a == b)

    def __ne__(self, other):
        return self._compared(other, lambda a, b: a != b)

    def __lt__(self, other):
        return self._compared(other, lambda a, b: a < b)

    def __le__(self, other):
        return self._compared(other, lambda a, b: a <= b)

    def __gt__(self, other):
        return self._compared(other, lambda a, b: a > b)

    def __ge__(self, other):
        return self._compared(other, lambda a, b: a >= b)


__version__ = TorchVersion("2.13.0+minitorch")             # of PyTorch, whose names and behaviour these are
