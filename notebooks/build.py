"""Make the notebooks from their sources, the .py files beside this one.

    python notebooks/build.py                    student versions into notebooks/student (these are committed)
    python notebooks/build.py --solved DIR       solved versions into DIR
    python notebooks/build.py --check            say what is not current, and exit with 1
"""

import argparse
import sys
from pathlib import Path

from minitorch.check.notebook import solved, student, to_ipynb

HERE = Path(__file__).resolve().parent
STUDENT = HERE / "student"


def sources():
    """The percent-format sources, in the order of the lessons."""
    return sorted(HERE.glob("[0-9][0-9]_*.py"))


def stale():
    """Names of student notebooks that are not what their source gives."""
    wanted = {path.stem: to_ipynb(student(path.read_text(encoding="utf-8"))) for path in sources()}
    there = {path.stem: path.read_text(encoding="utf-8") for path in STUDENT.glob("*.ipynb")}
    return sorted(name for name in wanted.keys() | there.keys() if wanted.get(name) != there.get(name))


def build(folder, version):
    folder.mkdir(parents=True, exist_ok=True)
    for path in sources():
        text = to_ipynb(version(path.read_text(encoding="utf-8")))
        (folder / f"{path.stem}.ipynb").write_text(text, encoding="utf-8", newline="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--solved", type=Path, metavar="DIR")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        print("\n".join(stale()) or "all current")
        return bool(stale())
    build(options.solved or STUDENT, solved if options.solved else student)
    return 0


if __name__ == "__main__":
    sys.exit(main())
