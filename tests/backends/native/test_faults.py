"""Compilers that hang, die or write garbage, and places that take no code: nothing waits for long without a word."""

import ctypes
import errno
import os
import shlex
import time

import numpy as np
import pytest

import minitorch as torch
from minitorch.backends import cache, native
from minitorch.backends.native import library, toolchain
from minitorch.compiler import choice
from tests.backends.native.test_toolchain import DOUBLED, doubled, needs_compiler

ONES = np.ones(2, "f")


@pytest.fixture
def fake(home, monkeypatch, tmp_path):
    """``fake(text)``: let the compiler be a shell script, in which ``real`` is the compiler of this machine. `probes`:
    seconds in which it has to answer."""
    def set_to(text, probes=60.0):
        (command, *_), _ = toolchain.compiler()
        script = tmp_path / "fake"
        script.write_text(f"#!/bin/sh\nreal() {{ exec {shlex.quote(command)} \"$@\"; }}\n{text}\n")
        script.chmod(0o755)
        monkeypatch.setenv("CC", shlex.quote(str(script)))
        toolchain.found.cache_clear()
        monkeypatch.setattr(toolchain, "PROBES", probes)
        monkeypatch.setattr(toolchain, "VERSION", probes / 2)
    monkeypatch.setattr(toolchain, "WORDLESS", 0.1)
    monkeypatch.setattr(library, "PATIENCE", 0.2)
    monkeypatch.setattr(choice, "RUNS", 2)
    return set_to


def is_probe():
    return '[ "$1" = --version ] || case "$*" in *probe.c*) true;; *) false;; esac'


@needs_compiler
@pytest.mark.parametrize("script", ["sleep 60", "sleep 60 & wait", '[ "$1" = --version ] && exit 0; sleep 60'])
def test_probes_end_soon_and_say_that_there_was_no_answer(fake, capfd, script):
    fake(script, probes=0.6)
    start = time.monotonic()
    f = torch.compile(lambda x: (x * 2 + 1).tanh())
    for _ in range(4):
        f(torch.ones(5))
    assert time.monotonic() - start < 5
    assert any("NumPy, not C" in note and "did not answer" in note for note in f.notes), f.notes
    assert "did not answer" in native.reason()
    assert "waiting for the C compiler" in capfd.readouterr().err


@needs_compiler
@pytest.mark.parametrize("backend", ["auto", "c"])
def test_a_long_build_goes_on_in_the_background(fake, capfd, monkeypatch, backend):
    fake(f"if {is_probe()}; then real \"$@\"; fi\nsleep 1\nreal \"$@\"")
    f = torch.compile(lambda x: (x * 2 + 1).tanh(), backend=backend)
    x, start = torch.ones(5), time.monotonic()
    results = [f(x) for _ in range(5)]
    assert f.c_source == "" and "in the background" in f.notes[-1]
    while "C: 1 loops" not in str(f.notes) and time.monotonic() - start < 20:
        time.sleep(0.05)
        results.append(f(x))
    assert "m_tanh" in f.c_source
    for y in results:
        np.testing.assert_allclose(y.numpy(), np.tanh(3.0), 1e-6)
    assert capfd.readouterr().err.count("has been compiling") == 1


@needs_compiler
def test_a_build_without_an_answer_is_ended_and_not_tried_again(fake, monkeypatch):
    fake(f"if {is_probe()}; then real \"$@\"; fi\nsleep 60")
    monkeypatch.setattr(library, "LIMIT", 0.5)
    with pytest.raises(native.Unavailable, match="did not answer"):
        doubled(ONES)
    with pytest.raises(native.Unavailable, match="did not answer"):
        native.build(DOUBLED + "\n")
    assert not toolchain.running and not library.jobs


@needs_compiler
@pytest.mark.parametrize("fault, error, words", [
    ("kill -9 $$", RuntimeError, "refused the code"),
    ("exit 0", native.Unavailable, "wrote nothing"),
    ("while [ \"$1\" != -o ]; do shift; done; echo garbage > \"$2\"", native.Unavailable, "cannot be loaded"),
    ("echo 'No space left on device' >&2; exit 1", native.Unavailable, "No space left"),
])
@pytest.mark.filterwarnings("ignore:compiled kernels are kept")
def test_a_compiler_that_fails_otherwise_is_named(fake, home, monkeypatch, fault, error, words):
    fake(f"if {is_probe()}; then real \"$@\"; fi\n{fault}")
    monkeypatch.setattr(library, "PATIENCE", 60.0)
    with pytest.raises(error, match=words):
        try:
            doubled(ONES)
        finally:
            assert not [*(home / "native").glob("*.so")]


@needs_compiler
def test_a_library_that_cannot_be_loaded_is_built_again(home, monkeypatch, tmp_path):
    name = native.build(DOUBLED).path.name
    library.built.cache_clear()
    monkeypatch.setenv("MINITORCH_CACHE", str(tmp_path / "other"))   # no file of this path is loaded
    path = cache.cache_folder("native") / name
    cache.keep(path, b"garbage")
    assert cache.is_kept(path) and doubled(ONES).tolist() == [2, 2] and path.read_bytes() != b"garbage"


def full(monkeypatch, home):
    fsync = os.fsync

    def failing(file):
        if str(home) in os.readlink(f"/proc/self/fd/{file}"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(file)
    monkeypatch.setattr(os, "fsync", failing)


def without_execution(monkeypatch, home):
    load = ctypes.CDLL

    def failing(path, *args, **kwargs):
        if str(home) in str(path):
            raise OSError(f"{path}: failed to map segment from shared object")
        return load(path, *args, **kwargs)
    monkeypatch.setattr(ctypes, "CDLL", failing)


def read_only(monkeypatch, home):
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: str(home) not in str(path) and access(path, mode))


def in_its_place(monkeypatch, home):
    path = native.build(DOUBLED).path
    library.built.cache_clear()
    os.rename(path, path.with_name("twin"))
    path.mkdir()
    (path / "file").touch()


@needs_compiler
@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="files are found through /proc")
@pytest.mark.parametrize("fault", [full, without_execution, read_only, in_its_place])
def test_a_place_that_takes_no_code_is_left_for_another(home, monkeypatch, fault):
    fault(monkeypatch, home)
    with pytest.warns(UserWarning, match="for this process only"):
        found = doubled(ONES)
    assert found.tolist() == [2, 2] and home not in native.build(DOUBLED).path.parents
    if fault is not in_its_place:                          # where other entries lie
        assert native.build(DOUBLED + "\n").path.parent == native.build(DOUBLED).path.parent
