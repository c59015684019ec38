"""The wall stands: the kernel imports no guest, a guest only its friends, and each part runs alone."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import minitorch
from minitorch.core.registry import guests
from tests import alone
from tests.structure.source import MODULES, PACKAGE, imports, package_of, text_of
from tests.structure.wall import GUESTS, KERNEL, friends


def test_every_package_is_kernel_or_guest():
    at_the_top = {path.name.removesuffix(".py") for path in PACKAGE.iterdir()
                  if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert at_the_top - {"__init__", "__main__"} == {*KERNEL, *GUESTS}
    assert not set(KERNEL) & set(GUESTS)


def crossings():
    """(module, imported module) for each import of a guest from outside that guest."""
    for module in MODULES:
        for imported, _, _ in imports(module):
            if package_of(imported) in GUESTS and package_of(module) != package_of(imported):
                yield module, imported


def test_the_kernel_imports_no_guest():
    of_kernel = [(a, b) for a, b in crossings() if package_of(a) in {*KERNEL, "minitorch"}]
    assert of_kernel == []


def test_guests_import_only_their_friends():
    strangers = [(a, b) for a, b in crossings() if package_of(a) in GUESTS
                 and package_of(b) not in friends(package_of(a))]
    assert strangers == []


# Friends that a guest asks for by a public name, in its examples and in what its tests run.
BY_PUBLIC_NAME = {
    ("viz", "compiler"),                                   # pictures of what torch.compile has fused
    ("check", "viz"),                                      # lessons show pictures
    ("check", "distributions"),                            # and draw from them
    ("cli", "jit"), ("cli", "vision"),                     # programs that are run import these
    ("distributed", "cli"),                                # the launcher runs programs of PyTorch
}


def test_declared_friends_are_used():
    used = {(package_of(a), package_of(b)) for a, b in crossings()}
    declared = {(guest, friend) for guest, (names, _) in GUESTS.items() for friend in names.split()}
    assert declared - used == BY_PUBLIC_NAME


def test_guests_are_named_in_one_place():
    """As strings: by the root's table, which finds a guest when it is first asked for."""
    names = "|".join(GUESTS)
    pattern = re.compile(rf"""["']minitorch\.(?:{names})\b[.:\w]*["']""")
    found = {module for module in MODULES if package_of(module) in KERNEL
             and pattern.search(text_of(module))}
    assert found <= {"minitorch.compat"}


@pytest.mark.parametrize("name, text", [
    ("sparse", "minitorch.sparse is not in this copy"),
    ("sparse_coo", "minitorch.sparse is not in this copy, and minitorch.sparse_coo needs it")])
def test_an_absent_guest_is_named(name, text, monkeypatch):
    for module in [m for m in sys.modules if m.startswith("minitorch.sparse")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "minitorch.sparse", None)
    for found in ("sparse", "sparse_coo"):
        monkeypatch.delitem(vars(minitorch), found, raising=False)
    with pytest.raises(ModuleNotFoundError, match=f"^{text}$"):
        getattr(minitorch, name)
    with pytest.raises(ModuleNotFoundError, match="not in this copy, and to_sparse needs it"):
        _ = guests.found("to_sparse")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("what", ["kernel", "with", "without"])
def test_parts_run_alone(what):
    """Where the others are not: all modules import, and a network trains."""
    command = [sys.executable, str(Path(alone.__file__)), what, "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": holds") == (1 if what == "kernel" else len(GUESTS))
