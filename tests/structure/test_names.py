"""Every public name of PyTorch 2.13 is here, or `docs/differences_from_pytorch.md` lists it as absent.

The names are those of `tests/data/pytorch_names.txt` (`record_names.py`). The page's tables have patterns of
absent names, as `fnmatch` takes them, with their reasons.
"""

import fnmatch
import importlib
import re
import warnings
from functools import cache

import pytest

import minitorch as torch
from minitorch.cli.alias import twin
from tests import DATA, ROOT

PAGE = (ROOT / "docs" / "differences_from_pytorch.md").read_text(encoding="utf-8")


def listed():
    """The patterns of the page's tables of names."""
    section = PAGE.partition("\n## Names that are not there\n")[2].partition("\n## ")[0]
    return [pattern for row in re.findall(r"^\| (`.*?) \|", section, re.M) for pattern in re.findall(r"`([^`]+)`", row)]


@cache
def owner(path):
    """The module or class that stands for that of PyTorch; None if there is none."""
    above, _, name = path.rpartition(".")
    found = vars(owner(above)).get(name) if above and owner(above) is not None else None
    if isinstance(found, type):
        return torch.finfo() if name == "finfo" else torch.iinfo(torch.int8) if name == "iinfo" else found
    try:
        return importlib.import_module(twin(path))
    except ImportError:
        return getattr(owner(above), name, None) if above else None


@cache
def absent():
    """All names that are not here, with their modules."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = []
        for line in (DATA / "pytorch_names.txt").read_text(encoding="utf-8").splitlines():
            path, _, names = line.partition(": ")
            missing += [path] if owner(path) is None else []
            missing += [f"{path}.{name}" for name in names.split() if not hasattr(owner(path), name)]
        return missing


@cache
def matched(pattern):
    return frozenset(fnmatch.filter(absent(), pattern))


def test_every_public_name_is_here_or_listed():
    unlisted = set(absent()).difference(*[matched(pattern) for pattern in listed()])
    assert sorted(unlisted) == []


@pytest.mark.parametrize("pattern", listed())
def test_what_is_listed_is_absent(pattern):
    """If this fails, somebody has added the name: take it off the page."""
    assert matched(pattern), pattern
