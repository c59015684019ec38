"""A sample of the mutation run over CUDA kernels: their tests notice bugs on the simulator. See `tests/mutation`."""

import os
import subprocess
import sys

import pytest

from tests import ROOT

pytest.importorskip("tests.backends.cuda.kernel_checks", exc_type=ImportError)
PLANT = "from tests.mutation import sample; sample.kernels()"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants live in forked processes")
@pytest.mark.skipif(os.environ.get("MINITORCH_TEST_DEVICE", "sim") != "sim", reason="bugs on a GPU may end the process")
def test_planted_bugs_in_kernels_are_noticed():
    done = subprocess.run([sys.executable, "-c", PLANT], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    said = [line.split(": ", 1) for line in done.stdout.splitlines()]
    from tests.mutation.sample import KERNELS
    assert said == [[file, test] for file, *_, test in KERNELS], done.stdout + done.stderr


def test_mutants_of_kernels_change_one_place_and_keep_lines():
    from tests.mutation.kernels import mutants_of
    text = """#define WIDE 8
__global__ void f(float* x, int n) {
    for (int i = first(n, k); i < n; i += 32) {
        x[i] = x[i + 1] * 2;                               // i < n
        __syncthreads();
    }
}
"""
    found = mutants_of("f.cu", text)
    assert {m.kind for m in found} == {"comparison", "operator", "constant", "delete statement",
                                       "swap arguments"}
    assert {m.line for m in found} == {3, 4, 5}
    assert len({m.name for m in found}) == len(found)
    moved = mutants_of("f.cu", "// one line more\n" + text)
    assert [m.name for m in moved] == [m.name for m in found] and {m.line for m in moved} == {4, 5, 6}
    assert any("        ;\n" in m.text and "__syncthreads" not in m.text for m in found)
    for mutant in found:
        assert mutant.text != text and mutant.text.count("\n") == text.count("\n")
        assert mutant.text.splitlines()[0] == "#define WIDE 8" and "// i < n" in mutant.text


def test_each_source_has_tests_for_its_mutants(monkeypatch):
    from tests.mutation.kernels import SOURCES, TESTS, mutants_of, tests_of
    sources = {path.name for path in SOURCES.glob("*.cu*") if mutants_of(path.name, path.read_text())}
    assert set(TESTS) <= sources
    for file in sources:
        assert tests_of(file) and all((ROOT / test).exists() for test in tests_of(file)), file
    assert tests_of("attention_anew.cu") == tests_of("attention_anew.cuh") == ["tests/backends/cuda/test_attention.py"]
    monkeypatch.delitem(TESTS, "async.cuh")
    assert {"tests/backends/cuda/test_attention.py", "tests/backends/cuda/test_softmax.py"} < set(tests_of("async.cuh"))


def test_mutants_of_kernels_in_the_last_run_were_killed():
    """At least 95 % of those that make a difference, and each survivor is explained, as the committed page says."""
    from tests.mutation.report import kernel_counts, kernel_reasons, kernel_rows
    total, killed, equivalent = kernel_counts()
    assert total >= 15 and killed >= 0.95 * (total - equivalent)
    assert {row["name"] for row in kernel_rows() if row["verdict"] == "survived"} <= set(kernel_reasons())
