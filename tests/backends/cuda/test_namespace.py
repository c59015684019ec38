"""NumPy's names on devices: each is entered once, and under a name that NumPy has."""

import numpy as np
import pytest


@pytest.fixture
def namespace():
    """NumPy's names on a device, all of them entered."""
    pytest.importorskip("minitorch.backends.cuda.kernels", exc_type=ImportError)
    from minitorch.backends.cuda.arrays import namespace
    return namespace


def test_no_function_of_numpys_is_entered_twice(namespace):
    for name, function in namespace.OURS.items():
        with pytest.raises(TypeError, match="already"):
            namespace.ours(function, name=name)


def test_what_is_entered_is_numpys(namespace):
    """A misspelt name would never be found; but indexing has no function there, and casts only in newer versions."""
    names = {*namespace.OURS} - {"getitem", "setitem", "astype"}
    assert len(namespace.OURS) > 50 and [name for name in names if not hasattr(np, name)] == []
