"""Parameters of public functions and classes have PyTorch's defaults, as `tests/data/recorded` has them."""

import json

import minitorch
from tests.recorded import FOLDER
from tests.structure import defaults

# Parameters, PyTorch's default and ours, which means the same.
SPELLED_OTHERWISE = [
    ("dim", None, []), ("dim", None, -1),                  # all dimensions; the last one
    ("correction", 1, None),                               # 1 unless `unbiased` says otherwise
    ("nan", 0.0, None), ("weights_only", None, True), ("device", defaults.REQUIRED, None),
    ("device_type", defaults.REQUIRED, "cuda"),            # as their namesakes under cuda.amp
    ("mesh", None, defaults.REQUIRED), ("dtype", None, defaults.REQUIRED)]


def test_defaults_are_pytorchs():
    ours, wanted = defaults.recorded(minitorch), json.loads((FOLDER / "defaults.json").read_text())
    found = [(name, (key, value, ours[name][key])) for name, given in wanted.items() for key, value in given.items()]
    assert not [row for row in found if row[1][1] != row[1][2] and row[1] not in SPELLED_OTHERWISE]
    assert len(found) > 2500
