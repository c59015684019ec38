"""Build a classroom without installation: JupyterLite with the lessons and the package, a folder of static files.

    python notebooks/lite.py my_site          # then, to try it: python -m http.server -d my_site

Any web server can hand the folder out. Python runs in the reader's browser (Pyodide), without threads, processes and
the simulator (lesson 12 and parts of 13 need an installation). The browser loads Pyodide, NumPy and matplotlib from
Pyodide's server, so it needs the network; `--pyodide URL` names another place for them, such as a copy of your own.
Needs `pip install -e '.[lite]'`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
FIRST = """# Installs the package in this page. Nothing leaves your browser.
%pip install -q minitorch-eager matplotlib"""


def wheel(folder):
    """The package as a wheel: pure Python, for any machine."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(HERE.parent)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(Path(folder).glob("*-none-any.whl"))


def lessons(folder):
    """The student's notebooks, with a first cell that installs the package."""
    folder.mkdir()
    for path in sorted((HERE / "student").glob("*.ipynb")):
        book = json.loads(path.read_text(encoding="utf-8"))
        cell = {"cell_type": "code", "id": "install", "metadata": {}, "execution_count": None, "outputs": [],
                "source": FIRST.splitlines(keepends=True)}
        book["cells"].insert(1, cell)
        book["metadata"]["kernelspec"] = {"display_name": "Python (Pyodide)", "language": "python", "name": "python"}
        (folder / path.name).write_text(json.dumps(book, indent=1, ensure_ascii=False), encoding="utf-8")


def build(target, pyodide=None):
    """Build the site in the folder `target`."""
    with tempfile.TemporaryDirectory() as staging:
        staging = Path(staging)
        lessons(staging / "lessons")
        found = wheel(staging / "wheel")
        settings = {"LiteBuildConfig": {"contents": [str(staging / "lessons")]},
                    "PipliteAddon": {"piplite_urls": [str(found)]}}
        if pyodide:
            settings["PyodideAddon"] = {"pyodide_url": pyodide}
        (staging / "jupyter_lite_config.json").write_text(json.dumps(settings))
        subprocess.run([sys.executable, "-m", "jupyter", "lite", "build", "--output-dir", str(Path(target).resolve())],
                       check=True, cwd=staging)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pyodide", metavar="URL", help="where Pyodide's files are")
    args = parser.parse_args()
    build(args.folder, args.pyodide)


if __name__ == "__main__":
    main()
