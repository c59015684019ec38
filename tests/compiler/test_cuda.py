"""CUDA printed from row kernels: random ones beside NumPy, programs of a device, what is fused and what is not."""

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch.backends.cuda.runtime.kernel import Kernel as Launcher
from minitorch.compiler import cuda
from minitorch.compiler.loops import Effect, Kernel, Ref
from minitorch.compiler.program import Value
from tests.compiler import row_kernels
from tests.conftest import backend_for_kernels

try:
    backend_for_kernels("sim")
except (ImportError, RuntimeError) as error:
    pytest.skip(f"kernels cannot run here: {error}", allow_module_level=True)


@pytest.mark.parametrize("seed", range(14))
def test_a_random_kernel_gives_numpys_answer(seed):
    row_kernels.check(f"test {seed}")


def on_device(function, *arrays, grad=False):
    """A function's results eagerly on the processor and compiled on the simulator, twice; returns the compiled one."""
    compiled = torch.compile(function)
    for _ in range(2):
        results = []
        for f, device in ((function, "cpu"), (compiled, "sim")):
            inputs = [torch.tensor(a).to(device) for a in arrays]
            if grad:
                inputs = [x.requires_grad_() for x in inputs]
            outs = f(*inputs)
            outs = outs if isinstance(outs, tuple) else (outs,)
            if grad:
                sum((o * o).sum() for o in outs).backward()
            results.append([o.detach().cpu().numpy() for o in outs] + [x.cpu().numpy() for x in inputs if not grad]
                           + [x.grad.cpu().numpy() for x in inputs if grad])
        for a, b in zip(*results):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(b, a, 2e-5, 1e-5)
    return compiled


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def test_broadcasting_reductions_and_views_are_one_kernel():
    """The old printer took arrays of one shape only."""
    def f(x, b):
        y = (x + b).tanh() * x[:, :1]
        z = y - y.mean(-1, keepdim=True)
        return z, (z * z).sum(0)
    compiled = on_device(f, normal(5, 40), normal(40))
    assert compiled.source.count("Fused(F") == 1 and "F.mean" not in compiled.source
    assert any("CUDA: 1 kernels in place of 8 calls, 0 calls" in note for note in compiled.notes), compiled.notes


def test_gradients_too():
    compiled = on_device(lambda x, b: torch.where(x > b, x * b, x.exp()).sum(-1), normal(6, 33), normal(33), grad=True)
    assert compiled.source.count("Fused(F") >= 2


def test_transposed_memory_and_writes_in_place():
    def f(x, y):
        t = x * 2 + y
        x.copy_(y.t().contiguous().t())
        y[:, 1:].add_(t[:, 1:] * 0.5)
        return (t + 1).t().contiguous(), y.sum()
    on_device(f, normal(6, 9), normal(6, 9))


def test_an_old_value_is_used_after_its_memory_was_overwritten():
    """All that a pass over a row reads is read before it writes."""
    def f(x, y):
        t = x * 2 + y
        x.copy_(y)
        return t + 1
    on_device(f, normal(3, 4), normal(3, 4))
    for backend in ("c", "numpy"):
        x, y = torch.tensor(normal(3, 4)), torch.ones(3, 4)
        compiled = torch.compile(f, backend=backend)
        for _ in range(2):
            a = x.clone()
            np.testing.assert_array_equal(compiled(a, y).numpy(), x.numpy() * 2 + 1 + 1)
            assert a.tolist() == y.tolist()


def test_integers_bools_and_float64():
    i, b = np.arange(-6, 6).reshape(3, 4), np.arange(12).reshape(3, 4) % 3 == 0
    on_device(lambda i, b: ((i + 2) * i - 3, (i * 2).sum(0), b & (i > 0), ~b | (i < 0), (i.float() * 0.5 + 1).sum(),
                            torch.where(b, i, -i) + 1), i, b)
    x = normal(4, 5).astype(np.float64)
    assert "double" in on_device(lambda x: (x.exp() + 1).log() * x.amax(-1, keepdim=True), x).source


def test_bfloat16_is_rounded_after_each_call():
    def f(x, y):
        return (x * y + 1) * 0.3, torch.where(x > 0, x, y * 2), (x > y) & (y > 0), (x + y).float().sum(-1) * 2
    x, y = [torch.tensor(a).bfloat16() for a in (normal(3, 9), normal(9, 3).T.copy())]
    compiled, expected = torch.compile(f), f(x, y)
    for _ in range(2):
        for a, b in zip(expected, compiled(x.to("sim"), y.to("sim"))):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(b.cpu().float().numpy(), a.float().numpy(), 1e-6, 1e-6)
    assert "narrow<__nv_bfloat16>" in compiled.source


def test_special_values():
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 3e38, 1.0, -88.0] * 2, np.float32).reshape(2, 8)
    with np.errstate(all="ignore"):
        on_device(lambda x: (x.exp() * 2, -x + 0, x.tanh() + 1, torch.relu(x) + x, x.maximum(x * 0) + 1,
                             (x + 1).amax(-1) * 2, (x * 1 + 0).amin(-1) + 1, (x != x) | (x > 0)), x)


def test_what_is_alone_stays_the_call_that_it_was():
    compiled = on_device(lambda x: x.exp(), normal(3, 4))
    assert "Fused" not in compiled.source and "np.exp" in compiled.source


def test_a_row_kernel_of_the_device_stays():
    """Softmax holds its rows in registers; what is around it is fused with its neighbours."""
    compiled = on_device(lambda x: F.softmax(x * 2 + 1, -1) * 3 - 1, normal(3, 40))
    assert "F.softmax(" in compiled.source and compiled.source.count("Fused(F") == 2


def test_sums_do_not_depend_on_the_order_of_blocks():
    """A long total is shared by blocks, whose parts are added up in their order by a second kernel."""
    dims, f32 = (1, 40000), np.dtype(np.float32)
    x, out = Value("made", np.ones(dims, f32)), Value("made", np.ones((1,), f32))
    k = Kernel(dims, "sum")
    k.store(Ref(out, out, 0, (0, 0), f32), k.reduce("sum", k.load(Ref(x, x, 0, (40000, 1), f32))))
    found = cuda.printed(k)
    assert "atomic" not in found.text and [name for name, *_ in found.launches] == ["fused", "fused_finish"]
    assert found.launches[0][1][1] > 8                     # blocks


def test_kernels_assemble_for_a_gpu():
    """Registers and spills as the assembler tells them, for one with carried values and sums over rows."""
    f32 = np.dtype(np.float32)
    x, out, total = [Value("made", np.ones(s, f32)) for s in ((64, 4000), (64, 4000), (4000,))]
    k = Kernel((64, 4000), "softmax")
    v = k.load(Ref(x, x, 0, (4000, 1), f32))
    powers = k.add("exp", [k.add("subtract", [v, k.reduce("max", v)], f32)], f32)
    y = k.add("divide", [powers, k.reduce("sum", powers)], f32)
    k.store(Ref(out, out, 0, (4000, 1), f32), y)
    k.effects.append(Effect("sum", Ref(total, total, 0, (0, 1), f32), y))
    found = cuda.printed(k)
    fused = cuda.with_includes("softmax.cu", found.text)
    for arch in ("80", "90"):
        taken = Launcher(fused, "fused", found.signature).resources(arch)
        assert taken.spills == 0 and taken.registers <= 128, taken
