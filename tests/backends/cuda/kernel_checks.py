"""Pieces of the tests of CUDA kernels: a device, an op run by its kernel and by its reference, and how far they may
differ.

The device is the simulator, or what ``pytest --device`` names.
"""

import contextlib
import os

import numpy as np
import pytest

from minitorch import backends, bfloat16
from minitorch.core.registry import OPS
from tests.conftest import backend_for_kernels

DEVICE = os.environ.get("MINITORCH_TEST_DEVICE", "sim")
try:
    device = backend_for_kernels(DEVICE)
except (ImportError, RuntimeError) as error:
    if isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("minitorch"):
        raise
    pytest.skip(f"kernels cannot run here: {error}", allow_module_level=True)

DTYPES = {"f16": np.dtype("float16"), "bf16": bfloat16.np, "f32": np.dtype("float32"), "f64": np.dtype("float64")}


def unit(dtype):
    """The unit roundoff of what kernels compute in for arrays of a dtype; of float64 twice: the reference errs too."""
    return 2.0**-24 if dtype.itemsize < 8 else 2 * 2.0**-53


def rounding(dtype):
    """By how much, relatively, a result may change when it is stored."""
    return {"float16": 2.0**-11, "bfloat16": 2.0**-8}.get(dtype.name, 0)


def smallest(dtype):
    """Below this, numbers are lost or flushed to zero."""
    return {"float16": 2.0**-24, "float64": 5e-324}.get(dtype.name, 2.0**-126)


def cast(x, dtype):
    return x.astype(dtype) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def exact(x):
    """The same values in float64."""
    return x.astype("float64") if isinstance(x, np.ndarray) and x.dtype.kind in "fV" else x


def put(x, layout="dense"):
    """A host array on the device: "dense", behind a gap ("offset"), in another order ("transposed"), with gaps."""
    if not isinstance(x, np.ndarray):
        return x
    if layout == "offset":
        flat = device.from_host(np.concatenate([x.reshape(-1)[:1], x.reshape(-1)]))
        return flat[1:].reshape(x.shape)
    if layout == "transposed":
        return device.from_host(np.ascontiguousarray(x.T)).T
    if layout == "gaps" and x.ndim:
        return device.from_host(np.repeat(x, 2, axis=-1))[..., ::2]
    return device.from_host(x)


@contextlib.contextmanager
def launches():
    """The names of the kernels that are launched, in order."""
    found, launch = [], device.machine.launch

    def record(function, *rest):
        found.append(function[1] if isinstance(function, tuple) else function.name)
        launch(function, *rest)
    device.machine.launch = record
    try:
        yield found
    finally:
        del device.machine.launch


def run(name, arrays, attrs, layout="dense"):
    """The results of a kernel as host arrays, and the names of what was launched."""
    with launches() as names:
        out = device.kernels[name](device, *[put(x, layout) for x in arrays], **attrs)
    return [device.to_host(x) for x in leaves(out)], names


def leaves(out):
    if isinstance(out, (tuple, list)):
        return [x for part in out for x in leaves(part)]
    return [] if out is None else [out]


def reference(name, arrays, attrs):
    """The result of the op's reference for the same values in float64 on the CPU."""
    with np.errstate(all="ignore"):
        return [np.asarray(x) for x in leaves(OPS[name].forward(backends.get("cpu"), *map(exact, arrays), **attrs))]


def orders():
    """Contexts in which blocks, warps and threads run in other orders."""
    if DEVICE != "sim":
        return []
    from minitorch.backends import sim
    return [lambda: sim.settings(order="descending"), lambda: sim.settings(order="seeded", seed=7)]


def same_in_every_order(compute, first):
    """`compute()` gives the arrays `first` again, to the last bit, whatever runs first."""
    for order in orders():
        with order():
            for a, b in zip(first, compute(), strict=True):
                assert a.tobytes() == b.tobytes()


def without_clusters(monkeypatch, module):
    """Have a module of kernels think that the device is of compute capability 8.0."""
    monkeypatch.setattr(module, "capability", lambda machine: 80)


def close(got, wanted, allowed):
    """Elements are equal, both NaN, or differ by no more than `allowed`."""
    assert got.shape == wanted.shape
    got = got.astype("float64")
    with np.errstate(all="ignore"):
        fine = (got == wanted) | (np.isnan(got) & np.isnan(wanted)) | (abs(got - wanted) <= allowed)
    assert fine.all(), (f"{(~fine).sum()} of {fine.size} differ, the first: {got[~fine][0]} for {wanted[~fine][0]}, "
                        f"allowed {np.broadcast_to(allowed, got.shape)[~fine][0]:.3g}")


def check_resources(kernel, dtypes, architectures=("90",), **constants):
    """The kernel compiles for each architecture, without spills, and a block of it fits."""
    for arch in architectures:
        found = kernel.resources(arch, dtypes, **constants)
        assert found.spills == 0 and found.stack == 0, (kernel.entry, arch, constants, found)
        assert found.registers * constants.get("THREADS", 256) * constants.get("ROWS", 1) <= 65536
        assert found.shared <= 48 * 1024


def check_norm_backward(x, g, weight):
    """The gradients of layer_norm of the rows of `x` beside the reference's, by three kernels."""
    arrays, attrs = [g, x, weight, None, None], dict(dims=(1,), eps=1e-5, centred=True)
    got, names = run("affine_norm_backward", arrays, attrs)
    assert names[-3:] == ["normalise_rows_backward", "weight_parts", "add_parts"]
    for a, b in zip(got, reference("affine_norm_backward", arrays, attrs), strict=True):
        close(a, b, unit(x.dtype) * 300 * (1 + abs(b)))
