"""The toolchain for C: compiler and flags found, texts built once, damage noticed, BLAS checked, work in parts."""

import os
import shlex
import stat

import numpy as np
import pytest

import minitorch
from minitorch.backends import cache, native
from minitorch.backends.native import blas, library, toolchain

needs_compiler = pytest.mark.skipif(native.reason() is not None, reason=f"{native.reason()}")

DOUBLED = """
#include "prelude.h"
void doubled(const float *x, float *y, i64 n, double by) { for (i64 i = 0; i < n; i++) y[i] = x[i] * (float)by; }
float sum(const float *x, i64 n) { float s = 0; for (i64 i = 0; i < n; i++) s += x[i]; return s; }
"""


def doubled(x):
    made = native.build(DOUBLED)
    y = np.empty_like(x)
    made.function("doubled", "pp l d")(native.address(x), native.address(y), x.size, 2.0)
    return y


@needs_compiler
def test_a_text_is_built_and_called(home):
    x = np.arange(5, dtype="f")
    assert doubled(x).tolist() == [0, 2, 4, 6, 8]
    assert native.build(DOUBLED).function("sum", "pl", "f")(native.address(x), 5) == 10.0
    assert native.build(DOUBLED) is native.build(DOUBLED)
    kept = list((home / "native").iterdir())
    assert len(kept) == 2 and stat.S_IMODE(os.stat(home / "native").st_mode) == 0o700


@needs_compiler
def test_a_kept_library_needs_no_compiler_run(home, monkeypatch):
    doubled(np.ones(2, "f"))
    library.built.cache_clear()
    monkeypatch.setattr(library, "run", lambda command: pytest.fail("compiled again"))
    assert doubled(np.ones(2, "f")).tolist() == [2, 2]


@needs_compiler
@pytest.mark.parametrize("damage", [lambda path: path.write_bytes(path.read_bytes()[:100]),
                                    lambda path: path.write_bytes(b""), lambda path: path.chmod(0o666),
                                    lambda path: (path.unlink(), path.symlink_to("/dev/null"))])
def test_a_damaged_entry_is_built_again(home, damage):
    made = native.build(DOUBLED).path                      # not loaded under this name by any other test
    library.built.cache_clear()
    twin = made.with_name("twin")
    os.rename(made, twin)                                  # the loaded file stays as it is
    made.write_bytes(twin.read_bytes())
    damage(made)
    assert doubled(np.ones(2, "f")).tolist() == [2, 2] and cache.is_kept(made)


@needs_compiler
@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_somebody_else_is_not_used(home):
    (home / "native").mkdir(parents=True, mode=0o700)
    os.chown(home / "native", 12345, 12345)
    with pytest.warns(UserWarning, match="for this process only"):
        assert doubled(np.ones(2, "f")).tolist() == [2, 2]
    assert not list((home / "native").iterdir())


@needs_compiler
def test_the_key_holds_everything_that_the_code_depends_on(home, monkeypatch):
    paths = {native.build(DOUBLED).path, native.build(DOUBLED + "\n").path, native.build(DOUBLED, ("-O1",)).path}
    for name, value in (("headers", "other"), ("package_version", "2")):
        library.built.cache_clear()
        monkeypatch.setattr(library, name, lambda value=value: value)
        paths.add(native.build(DOUBLED).path)
    toolchain.found.cache_clear()
    library.built.cache_clear()
    monkeypatch.setattr(toolchain, "processor", lambda: "another")
    paths.add(native.build(DOUBLED).path)
    assert len(paths) == 6


@needs_compiler
def test_refused_text_is_an_error_with_the_words_of_the_compiler(home):
    with pytest.raises(RuntimeError, match="refused the code(.|\n)*nonsense"):
        native.build("nonsense")
    assert not list((home / "native").iterdir())


def test_without_a_compiler_there_is_a_reason(home, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no C compiler" in native.reason() and "apt install" in native.reason()
    with pytest.raises(native.Unavailable, match="cc is not installed; gcc is not installed"):
        native.build(DOUBLED)
    monkeypatch.setenv("CC", "no-such-compiler --option")
    assert "no-such-compiler is not installed" in native.reason()
    monkeypatch.setenv("CC", "gcc '")
    assert "not a command" in native.reason()


def test_a_compiler_that_compiles_nothing_is_refused(home, monkeypatch, tmp_path):
    broken = tmp_path / "broken cc"
    broken.write_text("#!/bin/sh\n[ \"$1\" = --version ] && exit 0\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", f"'{broken}'")
    assert "does not compile" in native.reason()


def test_native_code_is_switched_off_by_a_variable(home, monkeypatch):
    for text in ("0", "off"):
        monkeypatch.setenv("MINITORCH_NATIVE", text)
        assert "MINITORCH_NATIVE" in native.reason()
        with pytest.raises(native.Unavailable):
            native.build(DOUBLED)
    assert not home.exists()


@needs_compiler
def test_flags_that_a_compiler_does_not_know_are_left_out(home, monkeypatch, tmp_path):
    (command, *_), _ = toolchain.compiler()
    picky = tmp_path / "picky"
    picky.write_text(f"#!/bin/sh\nfor x in \"$@\"; do [ $x = -march=native ] && exit 1; done\nexec {command} \"$@\"\n")
    picky.chmod(0o755)
    monkeypatch.setenv("CC", shlex.quote(str(picky)))
    (_, *flags), _ = toolchain.compiler()
    assert "-march=native" not in flags and "-ffp-contract=off" in flags
    assert doubled(np.ones(2, "f")).tolist() == [2, 2]


@needs_compiler
def test_products_are_numpys(home):
    if blas.products() is None:
        pytest.skip("NumPy without a BLAS for C")
    made = native.build('#define PRODUCTS\n#include "prelude.h"\n'
                        "void product(i64 m, i64 n, i64 k, const float *a, const float *b, float *c) {\n"
                        "  sgemm(101, 111, 111, m, n, k, 1, a, k, b, n, 0, c, n); }\n")
    rng = np.random.default_rng(0)
    a, b, c = rng.random((7, 30), "f"), rng.random((30, 5), "f"), np.empty((7, 5), "f")
    made.function("product", "lllppp")(7, 5, 30, *map(native.address, (a, b, c)))
    np.testing.assert_allclose(c, a @ b, rtol=1e-6)


def test_a_blas_that_computes_something_else_is_not_used(monkeypatch):
    assert not blas.works(lambda_like(), "float32")
    blas.products.cache_clear()
    monkeypatch.setattr(blas, "libraries", lambda: iter(["/no/such/library.so"]))
    assert blas.products() is None
    blas.products.cache_clear()


def lambda_like():
    """A function as ctypes has them, which does nothing."""
    class Nothing:
        def __call__(self, *args):
            return None
    return Nothing()


@pytest.mark.parametrize("size", [0, 10, 1 << 17, 1 << 18, 1 << 22])
def test_parts_cover_all_rows_once_whatever_the_number_of_threads(size):
    def rows():
        found = []
        native.in_parts(lambda part, parts, n: found.append((n * part // parts, n * (part + 1) // parts)), size, 100)
        return sorted(found)
    before = minitorch.get_num_threads()
    try:
        minitorch.set_num_threads(1)
        one = rows()
        minitorch.set_num_threads(2)
        assert rows() == one
    finally:
        minitorch.set_num_threads(before)
    assert one[0][0] == 0 and one[-1][1] == 100 and all(a[1] == b[0] for a, b in zip(one, one[1:]))
