"""Test suites of other people's libraries, beside PyTorch:
``python -m tests.parity.suites LIST [--only PATTERN] [--seconds N] [--every N] [--json FILE]``.

The libraries are not part of this repository. Clone each into one folder, under its name in LIST,

    mkdir suites && cd suites && git clone --depth 1 https://github.com/deep-spin/entmax

and name that folder in the environment's SUITES; suites.json has the addresses under "from".
What the suites need besides PyTorch goes into another folder, named in SUITES_PATH
(``pip install --no-deps --target FOLDER parameterized jaxtyping ...``).

LIST is a JSON file, {name: suite}. A suite has "tests" (files and folders, relative to its own
folder), and may have "paths" (to import from, "." by default), "options" (of pytest), "env",
"every" (10: only a tenth of the tests, drawn by their names), "seconds" (a limit for the suite, 300
by default) and "seconds_each" (for one test, 30 by default).

Each suite runs twice, once with PyTorch and once with minitorch in its place. Tests that pass with
PyTorch and not with minitorch are listed, with the first line that pytest says about them; those
that a limit ended before they began are counted apart. The exit status is 1 if a suite has no test
that passes with PyTorch.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A pytest plugin that ends long tests and long suites, and keeps the report of what has run.
LIMITS = '''
import os, signal, time, zlib
import pytest

end = time.monotonic() + float(os.environ["SUITE_SECONDS"])

def stop(number, frame):
    raise TimeoutError("the test did not end in time")

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    if time.monotonic() > end:
        item.session.shouldstop = "the suite did not end in time"
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, float(os.environ["SUITE_SECONDS_EACH"]))
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)

def pytest_collection_modifyitems(items):
    every = int(os.environ["SUITE_EVERY"])   # by names: the order may depend on addresses
    items[:] = [item for item in items if zlib.crc32(item.nodeid.encode()) % every == 0]
'''


def results_of(report):
    """{test: (outcome, reason)} of a report in JUnit's format."""
    found = {}
    if not report.exists():
        return found
    for case in ElementTree.parse(report).iter("testcase"):
        outcome, reason = "passed", ""
        for child in case:
            if child.tag in ("failure", "error", "skipped"):
                outcome, reason = child.tag, (child.get("message") or "").split("\n")[0]
        found[f"{case.get('classname')}::{case.get('name')}"] = outcome, reason
    return found


def run(folder, suite, shared, replaced):
    """Run a suite with PyTorch, or with minitorch in its place.

    Returns {test: (outcome, reason)} and the last lines that pytest printed."""
    with tempfile.TemporaryDirectory() as place:
        Path(place, "limits_of_suites.py").write_text(LIMITS)
        report = Path(place, "report.xml")
        seconds = suite.get("seconds", 300)
        paths = [str(folder / path) for path in suite.get("paths", ["."])] + shared
        environment = dict(os.environ, OMP_NUM_THREADS="1", PYTHONHASHSEED="0",
                           SUITE_SECONDS=str(seconds),
                           SUITE_SECONDS_EACH=str(suite.get("seconds_each", 30)),
                           SUITE_EVERY=str(suite.get("every", 1)),
                           PYTHONPATH=os.pathsep.join(paths + [place] + [str(ROOT)] * replaced))
        environment |= suite.get("env", {})
        command = [sys.executable, *["-m", "minitorch"] * replaced, "-m", "pytest",
                   "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "limits_of_suites",
                   "-q", "--tb=no", "--continue-on-collection-errors",
                   f"--junitxml={report}", "--rootdir", str(folder),
                   "-o", "addopts=", *suite.get("options", []), *suite["tests"]]
        try:
            done = subprocess.run(command, cwd=folder, env=environment, text=True,
                                  timeout=2 * seconds + 60,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            end = done.stdout.splitlines()[-5:]
        except subprocess.TimeoutExpired:
            end = ["pytest did not end in time"]
        return results_of(report), end


def compare(name, folder, suite, shared):
    """Run a suite both ways and print what differs; the counts."""
    expected, end = run(folder, suite, shared, False)
    passing = [test for test, (outcome, _) in expected.items() if outcome == "passed"]
    if not passing:
        print(f"{name}: nothing passes with PyTorch: {' | '.join(end)}", flush=True)
        return dict(passed=0, of=0, not_reached=0, lost={})
    found, end = run(folder, suite, shared, True)
    late = any("did not end in time" in line for line in end)
    not_reached = [test for test in passing if late and test not in found]
    lost = {test: found.get(test, ("absent", " | ".join(end)))
            for test in passing if found.get(test, ("absent",))[0] != "passed"}
    for test in not_reached:
        del lost[test]
    passed = len(passing) - len(lost) - len(not_reached)
    print(f"{name}: {passed} of {len(passing)} that pass with PyTorch"
          + (f", {len(not_reached)} not reached in time" if late else ""), flush=True)
    for test, (outcome, reason) in lost.items():
        print(f"  {test}: {outcome}: {reason[:160]}", flush=True)
    return dict(passed=passed, of=len(passing), not_reached=len(not_reached),
                lost={test: reason for test, (_, reason) in lost.items()})


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("list", type=Path)
    parser.add_argument("--only", default="", help="a pattern of names")
    parser.add_argument("--seconds", type=float, help="a limit for every suite")
    parser.add_argument("--every", type=int, help="run one test of N")
    parser.add_argument("--json", type=Path, help="a file for the results")
    args = parser.parse_args()
    folder = Path(os.environ.get("SUITES", ".")).resolve()
    shared = [path for path in os.environ.get("SUITES_PATH", "").split(os.pathsep) if path]
    told = {key: getattr(args, key) for key in ("seconds", "every") if getattr(args, key)}
    results = {name: compare(name, folder / name, suite | told, shared)
               for name, suite in json.loads(args.list.read_text()).items()
               if re.search(args.only, name)}
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))
    print(f"{sum(r['passed'] for r in results.values())} of "
          f"{sum(r['of'] for r in results.values())}")
    return int(not all(result["of"] for result in results.values()))


if __name__ == "__main__":
    sys.exit(main())
