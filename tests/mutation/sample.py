"""A few planted bugs, one for each kind of thing that went unnoticed once, and the tests that notice them."""

RECORDED = "tests/recorded/test_recorded.py::test_same_as_recorded"
# File, what stands there once, what is put in its place, and the test that must fail.
SAMPLE = [
    ("optim/adam.py", "correction = sqrt(1 - beta2**step)\n", "correction = 1\n", f"{RECORDED}[optimisers-Adam 1.0]"),
    ("core/promotion.py", "x >= 2**(size - 1)", "x > 2**(size - 1)", f"{RECORDED}[promotion-add int8 number]"),
    ("ops/nn/norm.py", "(size // 2, (size - 1) // 2)", "((size - 1) // 2, size // 2)",
     f"{RECORDED}[layers-LocalResponseNorm(2) 1,4,3]"),
    ("optim/lr_scheduler/plateau.py", "> self.eps", ">= 0", f"{RECORDED}[schedules-ReduceLROnPlateau 8]"),
    ("printing.py", "large / small > 1000", "large / small >= 1000", f"{RECORDED}[printing-T.tensor([1000.,1.])]"),
]

# The same for kernels, each in another file: a border of windows, a bound of a loop, a barrier.
KERNELS = [
    ("pool.cu", "return at.plane < planes;", "return at.plane <= planes;",
     "tests/backends/cuda/test_pool.py::test_other_dtypes[f16]"),
    ("resize.cu", "k < starts[i + 1]", "k <= starts[i + 1]",
     "tests/backends/cuda/test_resize.py::test_halves_are_rounded_once[f16]"),
    ("cumulative.cu", "of_warp[warp] = carried;\n    __syncthreads();", "of_warp[warp] = carried;\n",
     "tests/backends/cuda/test_cumulative.py::test_every_way_to_scan[cumsum-f32-(2,9001)-1]"),
]


def kernels():
    """Print the fate of each of `KERNELS`: all are planted at once, in one process."""
    import contextlib
    import io
    import pathlib
    import tempfile

    from tests.mutation import run
    from tests.mutation.kernels import SOURCES, plant
    pytest = run.warm_up()[-1]
    changed = {}
    for file, before, after, _ in KERNELS:
        text = (SOURCES / file).read_text()
        assert text.count(before) == 1, f"{file} has changed: choose another place"
        changed[file] = text.replace(before, after)
    failed = []

    class Watch:
        def pytest_runtest_logreport(self, report):
            if report.failed:
                failed.append(report.nodeid)
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
        plant(changed, pathlib.Path(folder))
        pytest.main(["-o", "addopts=", "-q", "--tb=line", "-p", "no:cacheprovider", "-p", "no:xdist",
                     *(test for *_, test in KERNELS)], plugins=[Watch()])
    for file, *_, test in KERNELS:
        print(f"{file}:", test if test in failed else f"passes\n{said.getvalue()}")


def main():
    """Print the fate of each, and of the library as it is."""
    from tests.mutation import run
    run.warm_up()
    tests = [test for *_, test in SAMPLE]
    print("as it is:", run.outcome(SAMPLE[0][0], None, tests) or "passes")
    for file, before, after, test in SAMPLE:
        text = (run.ROOT / "minitorch" / file).read_text()
        assert text.count(before) == 1, f"{file} has changed: choose another place"
        print(f"{file}:", run.outcome(file, text.replace(before, after), [test]) or "passes")
