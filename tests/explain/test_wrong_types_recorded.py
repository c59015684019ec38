"""Arguments of a wrong type, for all public functions: PyTorch's classes of errors, in words of its users."""

import json
import warnings

import numpy as np
import pytest

import minitorch
from tests.explain import wrong_types

# Differences that stay. A message of PyTorch's own that makes no sense for the user is not copied.
MEANT = {
    "lib.broadcast_shapes(None)": "PyTorch passes over None",
    "lib.nn.functional.lp_pool2d": "ValueError: not enough values to unpack",
    "lib.nn.functional.lp_pool3d": "ValueError: not enough values to unpack",
    "lib.Tensor.__getitem__": "a string as an index is an IndexError, with the list of what may be one",
    "lib.Tensor.__setitem__": "a string as an index is an IndexError, with the list of what may be one",
    "lib.squeeze": "dim=None stands for all dimensions, as in NumPy's squeeze",
    "lib.Tensor.squeeze": "dim=None stands for all dimensions, as in NumPy's squeeze",
    "lib.Tensor.to(lib.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=lib.float32), 3.5)": "PyTorch takes any number here",
}
FOREIGN = ("numpy", "ufunc", "ndarray")
STORED = json.loads(wrong_types.FILE.read_text())


def answers(entries):
    """(call, our error, the letter of PyTorch's) for all calls of `entries`."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for function, entry in entries.items():
            for call, letter in wrong_types.calls(function, entry) if entry else ():
                if not call.startswith(tuple(MEANT)):
                    yield call, wrong_types.error(call, minitorch), letter


@pytest.fixture(scope="module")
def found():
    return list(answers(STORED))


def differences(found):
    return "\n".join(f"{call}: {error!r}, PyTorch: {letter}" for call, error, letter in found
                     if not wrong_types.agrees(error, letter))


def odd_words(found):
    return "\n".join(f"{call}: {error!r}" for call, error, _ in found
                     if isinstance(error, AttributeError) or any(word in str(error).lower() for word in FOREIGN))


def test_classes_of_errors(found):
    assert len(found) > 4500
    assert not differences(found)


def test_words(found):
    assert not odd_words(found)


def test_verdicts_differ():
    assert wrong_types.agrees(TypeError(), "T") and not wrong_types.agrees(None, "T")
    assert not wrong_types.agrees(TypeError(), ".") and not wrong_types.agrees(TypeError(), "R")
