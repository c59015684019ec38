"""Writes down how PyTorch lays out the results and gradients of `layout_cases.py`.

    python -m tests.core.record_layouts

`test_layouts.py` compares with the file, so that the suite holds without PyTorch. To be run again when the cases or the
samples of the definitions change.
"""

import json

import pytest

from tests import DATA
from tests.core.layout_cases import (
    EXPRESSIONS,
    definition_layouts,
    definitions,
    expression_layouts,
    grad_layouts,
    twin,
)

torch = pytest.importorskip("torch", reason="PyTorch is what is written down")
FILE = DATA / "layouts.json"


def record():
    cases = {"definitions": {f"{space}.{name}".lstrip("."): definition_layouts(torch, space, name, op)
                             for space, name, op in definitions() if twin(torch, space, name)},
             "expressions": {e: expression_layouts(torch, e) for e in EXPRESSIONS},
             "gradients": {e: grad_layouts(torch, e) for e in EXPRESSIONS}}
    return {"torch": torch.__version__,
            **{kind: {key: " ".join(codes) for key, codes in found.items() if set(codes) - {"-", ""}}
               for kind, found in cases.items()}}


if __name__ == "__main__":
    FILE.write_text(json.dumps(record(), indent=0) + "\n", encoding="utf-8")
