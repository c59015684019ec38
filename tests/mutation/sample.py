"""A few planted bugs, one for each kind of thing that went unnoticed once, and the tests that notice them."""

RECORDED = "tests/test_recorded.py::test_same_as_recorded"
# File, what stands there once, what is put in its place, and the test that must fail.
SAMPLE = [
    ("optim/adam.py", "correction = sqrt(1 - beta2**step)\n", "correction = 1\n", f"{RECORDED}[optimisers-Adam 1.0]"),
    ("ops/promotion.py", "x >= 2**(size - 1)", "x > 2**(size - 1)", f"{RECORDED}[promotion-add int8 number]"),
    ("ops/nn/norm.py", "(size // 2, (size - 1) // 2)", "((size - 1) // 2, size // 2)",
     f"{RECORDED}[layers-LocalResponseNorm(2) 1,4,3]"),
    ("optim/lr_scheduler/plateau.py", "> self.eps", ">= 0", f"{RECORDED}[schedules-ReduceLROnPlateau 8]"),
    ("printing.py", "large / small > 1000", "large / small >= 1000", f"{RECORDED}[printing-T.tensor([1000.,1.])]"),
]


def main():
    """Print the fate of each, and of the library as it is."""
    from mutation import run
    run.warm_up()
    tests = [test for *_, test in SAMPLE]
    print("as it is:", run.outcome(SAMPLE[0][0], None, tests) or "passes")
    for file, before, after, test in SAMPLE:
        text = (run.ROOT / "minitorch" / file).read_text()
        assert text.count(before) == 1, f"{file} has changed: choose another place"
        print(f"{file}:", run.outcome(file, text.replace(before, after), [test]) or "passes")
