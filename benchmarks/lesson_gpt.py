"""The GPT of lesson 21, trained by both libraries from the same seed: ``python -m benchmarks.lesson_gpt [--steps N]``.

Runs the cells of ``notebooks/21_gpt.py`` themselves, with ``import minitorch as torch`` and with ``import torch``, each
in a process of its own, and writes the losses to benchmarks/results/lesson_gpt.json, the curve to docs/lesson_gpt.svg
and what the models write to docs/lesson_gpt.md. The step is compiled with minitorch and eager with PyTorch.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from minitorch.check.notebook import cells, solved
from minitorch.viz.drawing import BLUE, FAINT, RED, element, svg_root, text

ROOT = Path(__file__).resolve().parents[1]
LESSON = ROOT / "notebooks" / "21_gpt.py"
RESULTS = Path(__file__).with_name("results") / "lesson_gpt.json"
PAGE, PICTURE = ROOT / "docs" / "lesson_gpt.md", ROOT / "docs" / "lesson_gpt.svg"
PROMPTS = ("The", "The value of a class is", "def", "Note that")


def program(library):
    """The lesson's code for one of the libraries, without its checks and comparisons."""
    source = solved(LESSON.read_text(encoding="utf-8")).split("# ## In real PyTorch")[0]
    code = "\n\n".join(body for kind, body in cells(source) if kind == "code")
    code = re.sub(r"^check\.nb21.*$", "", code, flags=re.MULTILINE)
    code = re.sub(r"check\.passed\([^)]*\)", "True", code).replace("import check, nn", "import nn")
    if library == "torch":
        code = code.replace("import minitorch as torch", "import torch").replace("from minitorch", "from torch")
        code = code.replace("@torch.compile\n", "")
    return code


def run(library, path):
    """Train in this process; the results go to the file `path`."""
    import matplotlib
    matplotlib.use("Agg")
    started, space = (time.perf_counter(), time.process_time()), {"__name__": "lesson"}
    exec(compile(program(library), f"lesson 21 with {library}", "exec"), space)
    seconds = time.perf_counter() - started[0], time.process_time() - started[1]
    samples = {prompt: space["write"](prompt, 200, seed=1) for prompt in PROMPTS}
    Path(path).write_text(json.dumps({
        "library": library, "version": space["torch"].__version__, "losses": [round(x, 5) for x in space["losses"]],
        "held_out_bits": space["measured"], "seconds": seconds[0], "processor_seconds": seconds[1],
        "samples": samples}))


def smooth(losses, width=20):
    return [sum(part) / len(part) for part in (losses[i:i + width] for i in range(0, len(losses), width))]


def picture(found):
    """The curves as an SVG."""
    width, height, left, bottom = 720, 300, 50, 260
    steps = max(len(result["losses"]) for result in found.values())
    low, high = 1.5, math.ceil(max(max(result["losses"]) for result in found.values()))

    def at(step, loss):
        return left + step / steps * (width - left - 20), bottom - (loss - low) / (high - low) * (bottom - 20)

    marks = [element("line", x1=left, x2=width - 20, y1=at(0, y)[1], y2=at(0, y)[1], stroke="#dddddd") + text(
        left - 8, at(0, y)[1] + 4, y, 11, "end", FAINT) for y in range(2, high + 1)]
    marks += [text(at(x, low)[0], bottom + 18, x, 11, fill=FAINT) for x in range(0, steps + 1, max(steps // 4, 1))]
    curves = []
    for (name, result), colour, dash in zip(found.items(), (BLUE, RED), (None, "2 4")):
        losses = smooth(result["losses"])
        points = [at((i + 0.5) * steps / len(losses), loss) for i, loss in enumerate(losses)]
        curves.append(element("polyline", points=" ".join(f"{x:.1f},{y:.1f}" for x, y in points), fill="none",
                              stroke=colour, stroke_width=2 if dash is None else 3, stroke_dasharray=dash))
        curves.append(text(width - 24, 40 + 20 * len(curves) / 2, name, 13, "end", colour))
    words = text(left, 14, "loss of a token, mean of 20 steps", 12, "start")
    return svg_root(width, height, "the training of lesson 21", "; ".join(
        f"{name}: from {result['losses'][0]:.2f} to {smooth(result['losses'])[-1]:.2f}"
        for name, result in found.items()), *marks, *curves, words)


def page(found):
    """The report as markdown."""
    lines = ["# The GPT of lesson 21", "",
             f"Written by `python -m benchmarks.lesson_gpt`: the cells of [lesson 21](../notebooks/21_gpt.py), "
             f"{len(found['minitorch']['losses'])} steps, once with each library, from the same seed.", "",
             "![The training curves](lesson_gpt.svg)", "",
             "| | " + " | ".join(f"{name} {result['version']}" for name, result in found.items()) + " |",
             "|---|" + "---:|" * len(found)]
    rows = {"loss of step 1": lambda r: f"{r['losses'][0]:.5f}", "step 10": lambda r: f"{r['losses'][9]:.5f}",
            "step 50": lambda r: f"{r['losses'][min(49, len(r['losses']) - 1)]:.4f}",
            "mean of the last 100": lambda r: f"{sum(r['losses'][-100:]) / len(r['losses'][-100:]):.3f}",
            "bits per character, held out": lambda r: f"{r['held_out_bits']:.3f}",
            "processor time of the lesson, seconds": lambda r: f"{r['processor_seconds']:.0f}"}
    lines += [f"| {name} | " + " | ".join(row(r) for r in found.values()) + " |" for name, row in rows.items()]
    apart = [abs(a - b) for a, b in zip(*(result["losses"] for result in found.values()))] if len(found) > 1 else []
    if apart:
        lines += ["", f"The losses of the two runs differ by at most {max(apart):.1g} at any step: weights and batches "
                  "are drawn by the same random numbers, and only rounding differs.", ""]
    lines += ["## Samples of minitorch's model", "",
              "Temperature 0.8, of the 40 likeliest tokens, 200 tokens after each prompt; none was picked by hand.", ""]
    for sample in found["minitorch"]["samples"].values():
        lines += ["```text", sample.strip("\n"), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--report", action="store_true", help="measure nothing: write the pages again")
    parser.add_argument("--only", choices=("minitorch", "torch"), help="one of them; the other keeps its figures")
    parser.add_argument("--run", nargs=2, metavar=("LIBRARY", "FILE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        return run(*args.run)
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for library in () if args.report else (args.only,) if args.only else ("minitorch", "torch"):
        path = RESULTS.with_suffix(f".{library}.tmp")
        subprocess.run([sys.executable, "-m", "benchmarks.lesson_gpt", "--run", library, str(path)], check=True,
                       cwd=ROOT, env={**os.environ, "MINITORCH_LESSON_STEPS": str(args.steps)})
        found[library] = json.loads(path.read_text())
        path.unlink()
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    PICTURE.write_text(picture(found).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1) + "\n")
    PAGE.write_text(page(found))
    print(page(found))


if __name__ == "__main__":
    main()
