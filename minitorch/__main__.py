"""The command line: ``python -m minitorch demo``, and ``python -m minitorch script.py`` for PyTorch's own scripts."""

import argparse
import sys

USAGE = """python -m minitorch demo [options]       train a small network on handwritten digits (--help: options)
       python -m minitorch SCRIPT.py [args]     run a PyTorch script, unmodified, on minitorch
       python -m minitorch --check SCRIPT.py    list the names that a script uses and minitorch lacks
       python -m minitorch notebooks [DIR]      copy the lessons out, and open JupyterLab if it is installed
       python -m minitorch grade FOLDER         grade the hand-ins of a lesson (--help: options)
       python -m minitorch classroom KIND DIR   write files for nbgrader, otter, Gradescope or GitHub Classroom
       python -m minitorch info                 versions and devices"""


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] == "demo":
        from .cli.demo import main as demo
        return demo(argv[1:])
    if argv and argv[0] == "notebooks":
        from .check.copies import main as notebooks
        return notebooks(argv[1:])
    if argv and argv[0] == "grade":
        from .check.grading import main as grade
        return grade(argv[1:])
    if argv and argv[0] == "classroom":
        from .check.classroom import main as classroom
        return classroom(argv[1:])
    if argv and argv[0] == "--check":
        from .cli.check import main as check
        return check(argv[1:])
    if argv and argv[0] == "info":
        return info()
    if argv and (argv[0].endswith(".py") or argv[0] == "-m"):
        from .cli.alias import run
        return run(argv)
    parser = argparse.ArgumentParser("minitorch", usage=USAGE)
    parser.parse_args(argv if argv and argv[0].startswith("-") else ["--help"])
    parser.error("say what to do")


def info():
    """Versions of all that is installed, for bug reports."""
    import importlib.metadata as metadata
    import platform

    from . import __version__
    print(f"minitorch {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    for package in ("numpy", "ml_dtypes", "cupy-cuda12x", "cupy-cuda13x", "tqdm", "matplotlib", "safetensors"):
        try:
            print(f"  {package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            print(f"  {package}: not installed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
