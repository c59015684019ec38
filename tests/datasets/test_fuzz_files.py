"""A sample of what `fuzz_files.py` does, in this process; and that it would notice each kind of fault."""

import faulthandler
import json
import random
import shutil
import sys
import warnings

import pytest

pytest.importorskip("resource", reason="limits of a process, as POSIX has them")
from tests import ROOT
from tests.datasets import fuzz_files  # noqa: E402


@pytest.mark.parametrize("name", [name for name in fuzz_files.READERS if name != "faults"])
def test_mutated_files(name, tmp_path):
    make, mutate, errors = fuzz_files.READERS[name]
    valid, read = make()
    faulthandler.dump_traceback_later(120, exit=True)      # a hang ends the run with a traceback
    loaded = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(10**6, 10**6 + 200):
            rng = random.Random(f"{name} {seed}")
            data = mutate(rng, rng.choice(valid), valid)
            shutil.rmtree(tmp_path / "out", ignore_errors=True)
            try:
                read(str(tmp_path / "file"), data)
                loaded += 1
            except errors as error:
                assert len(str(error)) < 2000, seed
            except Exception as error:
                pytest.fail(f"{name}, seed {seed}: {type(error).__name__}: {error}")
    faulthandler.cancel_dump_traceback_later()
    assert 0 < loaded < 200                                # or this tests nothing


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_the_fuzzer_notices_every_fault():
    found = fuzz_files.fuzz("faults", 0, 7, report=lambda text: None)
    problems = {entry["seed"]: entry["problem"] for entry in found["problems"]}
    expected = {1: "the process ended with -11", 2: "more than 2.0 s", 3: "more than 300 MB", 4: "it does open",
                5: "it does ", 6: "KeyError"}
    assert problems.keys() == expected.keys() and all(problems[n].startswith(text) for n, text in expected.items())


def test_the_long_run_is_recorded():
    """100,000 files, of all readers; the problems were mended, none is left."""
    record = ROOT / "benchmarks" / "results" / "files.json"
    facts = json.loads(record.read_text())
    assert facts["files"] >= 100_000 and set(facts["readers"]) == set(fuzz_files.READERS) - {"faults"}
    for row in facts["readers"].values():
        assert not row["problems"] and row["slowest_seconds"] < facts["limits"]["seconds"]
        assert row["megabytes"] < facts["limits"]["megabytes"]
