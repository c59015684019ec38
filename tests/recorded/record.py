"""Rewrite `tests/data/recorded` with the PyTorch that is installed: all subjects, or those named.

"inputs" redraws those of the op definitions; "defaults" are those of parameters.
"""

import importlib
import json
import sys

from tests.recorded import FOLDER, SUBJECTS, cases, outcome  # noqa: E402


def lines(found):
    """A line of JSON for each case: short, and a change shows in a diff."""
    rows = ",\n".join(f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}" for name, value in found.items())
    return "{\n" + rows + "\n}\n"


def main(subjects):
    import torch
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    if "inputs" in subjects:
        from tests.recorded.definitions import INPUTS, draw
        INPUTS.write_text(lines(draw()))
        subjects = ["definitions"]
        importlib.reload(sys.modules["tests.recorded.definitions"])
    if "defaults" in subjects or not subjects:
        import minitorch
        from tests.structure import defaults
        found = defaults.shared(defaults.recorded(torch), defaults.recorded(minitorch))
        (FOLDER / "defaults.json").write_text(lines(found))
        subjects = [name for name in subjects or SUBJECTS if name != "defaults"]
    for subject in subjects:
        found = {name: outcome(case, torch) for name, case in cases(subject).items()}
        text = lines(found)
        (FOLDER / f"{subject}.json").write_text(text)
        refused = [name for name, value in found.items() if isinstance(value, str) and value.startswith("raises")]
        print(f"{subject}: {len(found)} cases, {len(text) / 1000:.0f} kB; {len(refused)} raise: {refused[:20]}")


if __name__ == "__main__":
    main(sys.argv[1:])
