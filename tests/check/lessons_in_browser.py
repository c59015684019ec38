"""Run the lessons in JupyterLab in a browser.

    python -m tests.check.lessons_in_browser DIR [--only 02]

Each notebook is opened in JupyterLab, all of its cells run, and the page is drawn in the light and the dark theme. What
went wrong is printed: exceptions in cells, errors on the browser's console, cells that did not end. DIR gets the
pictures and ``index.html``, the contact sheet, which somebody should look at. Needs JupyterLab, selenium and a Chromium
with its driver: ``pip install -e '.[notebooks,browser]'``.
"""

import argparse
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from html import escape
from pathlib import Path

from minitorch.check.notebook import solved, student, to_ipynb
from minitorch.viz.contact_sheet import BROWSERS
from tests import ROOT

SILENT = ("favicon", "Failed to load resource: the server responded with a status of 404", "/lsp/", "api/collaboration")
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
WIDTH, TALLEST = 1100, 14000                               # pixels


def missing():
    """The programs that this machine lacks; empty if the lessons can be run."""
    found = [name for name in ("jupyterlab", "selenium") if importlib.util.find_spec(name) is None]
    found += [] if any(map(shutil.which, BROWSERS)) else ["a Chromium"]
    return found + ([] if shutil.which("chromedriver") else ["chromedriver"])


class Lab:
    """A JupyterLab server on a folder, and a browser that looks at it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
        environment = {**os.environ, **threads, "PYTHONPATH": str(ROOT),
                       "MPLBACKEND": "module://matplotlib_inline.backend_inline",
                       "JUPYTERLAB_SETTINGS_DIR": str(self.folder / ".settings"),
                       "JUPYTER_CONFIG_DIR": str(self.folder / ".config")}
        command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={self.port}",
                   "--IdentityProvider.token=", "--ServerApp.password=", f"--ServerApp.root_dir={self.folder}",
                   "--expose-app-in-browser", "--LabApp.news_url=",
                   "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
        self.settings()
        self.server = subprocess.Popen(command, env=environment, cwd=self.folder, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        self.wait()
        self.browser = browser()

    def settings(self):
        """Every cell is drawn, seen or not."""
        path = self.folder / ".settings" / "@jupyterlab" / "notebook-extension" / "tracker.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"windowingMode": "none"}))
        path = path.parent.parent / "apputils-extension" / "notification.jupyterlab-settings"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False}))

    def wait(self):
        for _ in range(240):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api", timeout=5).close()
                return
            except OSError:
                time.sleep(0.5)
        raise TimeoutError("JupyterLab did not start")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.browser.quit()
        self.server.terminate()
        self.server.wait(20)

    def do(self, command, limit=60, **arguments):
        """Run a command of JupyterLab's to its end, for at most `limit` seconds."""
        self.browser.execute_script(
            "const [command, given] = arguments; window.ended = null;"
            "window.jupyterapp.commands.execute(command, given).then("
            "() => { window.ended = 'well'; }, e => { window.ended = String(e); });", command, arguments)
        self.until("return window.ended !== null", limit)
        if (end := self.browser.execute_script("return window.ended")) != "well":
            raise RuntimeError(f"{command}: {end}")

    def run(self, name, limit):
        """Open a notebook, run it and save it; the errors found, as words."""
        self.browser.set_window_size(WIDTH, 1000)
        self.browser.get(f"http://127.0.0.1:{self.port}/lab/tree/{name}?reset")
        self.until("return !!(window.jupyterapp && window.jupyterapp.shell.currentWidget"
                   " && window.jupyterapp.shell.currentWidget.content"
                   " && window.jupyterapp.shell.currentWidget.content.widgets)", 60)
        self.until("const s = window.jupyterapp.shell.currentWidget.sessionContext.session;"
                   "return !!(s && s.kernel && s.kernel.status === 'idle')", 60)
        self.do("notebook:run-all-cells", limit)
        self.do("docmanager:save")
        return errors_in(self.folder / name) + self.console()

    def until(self, script, limit):
        end = time.monotonic() + limit
        while not self.browser.execute_script(script):
            if time.monotonic() > end:
                raise TimeoutError(f"JupyterLab did not get there in {limit} s: {script}")
            time.sleep(0.3)

    def console(self):
        """The errors in the browser's console."""
        return [f"console: {entry['message'][:300]}" for entry in self.browser.get_log("browser")
                if entry["level"] == "SEVERE" and not any(word in entry["message"] for word in SILENT)]

    def pictures(self, target):
        """Draw the whole notebook in both themes."""
        self.do("application:set-mode", mode="single-document")
        height = self.browser.execute_script(
            "return Math.max(...Array.from(document.querySelectorAll('.jp-WindowedPanel-outer, .jp-Notebook'))"
            ".map(e => e.scrollHeight), 800)")
        self.browser.set_window_size(WIDTH, min(TALLEST, int(height) + 150))
        for theme, name in THEMES.items():
            self.do("apputils:change-theme", theme=name)
            time.sleep(1.5)
            self.browser.execute_script("document.querySelectorAll('.jp-WindowedPanel-outer, .jp-Notebook')"
                                        ".forEach(e => { e.scrollTop = 0; })")
            time.sleep(0.5)
            self.browser.save_screenshot(str(target.with_name(f"{target.name}-{theme}.png")))

    def close(self):
        """End the notebook's kernel."""
        self.browser.execute_async_script(
            "const end = arguments[0];"
            "window.jupyterapp.shell.currentWidget.sessionContext.shutdown().then(() => end(null), () => end(null));")


def browser():
    """A headless Chromium that talks to nobody but the server."""
    from selenium import webdriver
    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, BROWSERS)))
    for option in ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
                   "--disable-component-update", "--disable-sync", "--hide-scrollbars"):
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))


def errors_in(path):
    """The exceptions of a notebook's cells, and the cells that did not run."""
    found = []
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] != "code":
            continue
        if cell["execution_count"] is None and "".join(cell["source"]).strip():
            found.append(f"cell {number} did not run")
        found += [f"cell {number}: {out['ename']}: {out['evalue']}" for out in cell["outputs"]
                  if out["output_type"] == "error"]
    return found


def sheet(folder, results):
    """The contact sheet."""
    rows = "".join(f"<h2>{escape(name)}</h2><p>{escape('; '.join(wrong)) or 'no errors'}, {seconds:.0f} s</p>"
                   + "".join(f'<a href="{name}-{theme}.png"><img src="{name}-{theme}.png" alt="{name}, {theme}" '
                             f'style="width:46%;height:600px;object-fit:cover;object-position:top;margin:4px"></a>'
                             for theme in THEMES)
                   for name, (wrong, seconds) in results.items())
    (folder / "index.html").write_text(f"<!DOCTYPE html><meta charset=utf-8><title>Lessons</title><h1>Lessons in "
                                       f"JupyterLab</h1>{rows}", encoding="utf-8")


def run_lessons(folder, only="", versions=("student", "solved"), limit=600, draw=True, show=print):
    """Run the lessons whose names begin with `only`; the errors of each by name."""
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    with tempfile.TemporaryDirectory() as served:
        with Lab(served) as lab:
            for source in sorted((ROOT / "notebooks").glob(f"{only}*_*.py")):
                for version in versions:
                    name = f"{source.stem}-{version}"
                    make = {"student": student, "solved": solved}[version]
                    (Path(served) / f"{name}.ipynb").write_text(to_ipynb(make(source.read_text(encoding="utf-8"))),
                                                                encoding="utf-8")
                    started = time.monotonic()
                    wrong = lab.run(f"{name}.ipynb", limit)
                    results[name] = wrong, time.monotonic() - started
                    if draw:
                        lab.pictures(folder / name)
                    lab.close()
                    show(f"{name:32} {results[name][1]:6.1f} s  {'; '.join(wrong) or 'no errors'}", flush=True)
                    sheet(folder, results)
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="the beginning of a lesson's name, such as 02")
    parser.add_argument("--version", choices=["student", "solved"])
    args = parser.parse_args()
    if missing():
        raise SystemExit(f"missing: {', '.join(missing())}")
    results = run_lessons(args.folder, args.only, (args.version,) if args.version else ("student", "solved"))
    return sum(len(wrong) for wrong, _ in results.values())


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
