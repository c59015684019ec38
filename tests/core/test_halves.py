"""16-bit floats: the type and the value of every result and gradient, of every definition; norms, sums, anomaly mode.

Bfloat16 is not one of NumPy's types: its kind is "V", and its products with Python's numbers are float32. What holds
for float16 need not hold for it.
"""

import random
import re
from pathlib import Path

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn
from minitorch.autograd import api
from minitorch.backends.cpu.backend import cpu
from minitorch.core.arrays import is_floating, is_half, is_inexact
from minitorch.core.registry import OPS
from minitorch.core.tensor import Tensor, wrap
from minitorch.nn import functional as F
from minitorch.nn.utils import prune
from minitorch.testing.strategies import Draw
from tests.helpers.op_calls import outputs_of

pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")

HALVES = [torch.float16, torch.bfloat16]
EPS = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
each_half = pytest.mark.parametrize("half", HALVES, ids=lambda d: d.name)
# Definitions whose public functions refuse 16-bit floats, as PyTorch's do.
FACTORS = {"cholesky", "qr", "svd", "svdvals", "eigh", "eigvalsh", "lu_factor", "inv", "solve", "solve_triangular",
           "det", "cofactors", "slogdet", "pinv", "matrix_exp", "eig", "complex", "polar", "view_as_complex",
           "fft_half"}
ROWS = [row for row in OPS.values() if (row.sample or row.inputs[0].kind != "variadic") and row.name not in FACTORS]
DIFFERENTIABLE = [row for row in ROWS if row.differentiable]


# ---- every definition --------------------------------------------------------------------------------------
def is_live(row, i, x):
    """True if input i of a sample has a gradient."""
    if not isinstance(x, np.ndarray) or not is_floating(x.dtype):
        return False
    kind = row.inputs[0] if row.inputs[0].kind == "variadic" else row.inputs[i]
    rule = row.joint or row.vjps[kind.name]
    return kind.kind != "other" and bool(rule) and not getattr(rule, "missing", False)


def recorded(row, arrays, attrs):
    """The leaves, and the outputs of the call that are tensors."""
    tensors = [wrap(x, cpu).requires_grad_(is_live(row, i, x)) if isinstance(x, np.ndarray) else x
               for i, x in enumerate(arrays)]
    leaves = [t for t in tensors if isinstance(t, Tensor) and t.requires_grad]
    return leaves, outputs_of(row, tensors, attrs)


def gradients(leaves, outputs, create_graph=False):
    live = [o for o in outputs if o.requires_grad]
    if not leaves or not live:
        return []
    seeds = [wrap(np.linspace(1, 2, o.numel()).reshape(o.shape).astype(o.array.dtype), cpu) for o in live]
    return api.grad(live, leaves, seeds, create_graph=create_graph, materialize_grads=True)


def samples(row, half, n=3):
    """Arrays in a 16-bit type, the same numbers in float32, and attributes."""
    for seed in range(n):
        arrays, attrs = Draw(random.Random(seed)).op_sample(row)
        narrow = [x.astype(half.np) if isinstance(x, np.ndarray) and x.dtype == "float64" else x for x in arrays]
        wide = [x.astype("float32") if isinstance(x, np.ndarray) and x.dtype == half.np else x for x in narrow]
        if not any("float64" in str(v) for v in attrs.values()):
            yield narrow, wide, attrs


def assert_near(found, wanted, half, factor):
    """Equal up to so many units in the last place of the largest element; infinities of float16 aside."""
    found, wanted = found.array.astype("float64"), wanted.array.astype("float64")
    assert found.shape == wanted.shape
    finite = np.isfinite(wanted) & (np.abs(wanted) < 6e4)
    scale = max(1.0, np.abs(wanted[finite]).max(initial=0.0))
    assert np.abs(found - wanted)[finite].max(initial=0.0) <= factor * EPS[half] * scale


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@each_half
def test_results_have_the_type_of_the_inputs(row, half):
    for narrow, wide, attrs in samples(row, half):
        for a, b in zip(recorded(row, narrow, attrs)[1], recorded(row, wide, attrs)[1]):
            if row.name != "rnn_layer_backward":           # given what its forward pass kept, in float32
                assert a.dtype is (half if b.dtype is torch.float32 else b.dtype)


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda row: row.name)
@each_half
def test_gradients_have_the_type_of_their_inputs(row, half):
    """And the value that they have in float32, up to rounding; in a recorded backward pass, too."""
    for narrow, wide, attrs in samples(row, half):
        wanted = gradients(*recorded(row, wide, attrs))
        for create_graph in (False, True):
            leaves, outputs = recorded(row, narrow, attrs)
            for leaf, g, w in zip(leaves, gradients(leaves, outputs, create_graph), wanted):
                assert g.dtype is half is leaf.dtype and isinstance(g.array, np.ndarray)
                assert_near(g, w, half, 8)


@pytest.mark.parametrize("row", [row for row in DIFFERENTIABLE if row.outputs != 1], ids=lambda row: row.name)
@each_half
def test_gradients_of_one_of_several_results(row, half):
    """The others have no gradient, and the formula puts zeros in their place: is their type
    right?"""
    for narrow, wide, attrs in samples(row, half):
        for k in (0, -1):
            found, wanted = [], []
            for arrays, grads in ((narrow, found), (wide, wanted)):
                leaves, outputs = recorded(row, arrays, attrs)
                live = [o for o in outputs if o.requires_grad]
                grads += gradients(leaves, live[k:][:1])
            for g, w in zip(found, wanted):
                assert g.dtype is half
                assert_near(g, w, half, 8)


@pytest.mark.parametrize("row", DIFFERENTIABLE, ids=lambda row: row.name)
@each_half
def test_second_gradients_have_the_type_of_their_inputs(row, half):
    for narrow, _, attrs in samples(row, half, 2):
        leaves, outputs = recorded(row, narrow, attrs)
        first = [g for g in gradients(leaves, outputs, create_graph=True) if g.requires_grad]
        if first:
            total = sum((g.float() * g.float()).sum() for g in first)
            for g in api.grad(total, leaves, materialize_grads=True):
                assert g.dtype is half


@pytest.mark.parametrize("row", [row for row in ROWS if row.keeps], ids=lambda row: row.name)
@each_half
def test_results_are_the_same_where_nothing_is_kept(row, half):
    """To the last bit: a reference that gives its result only is computed in float32, too."""
    for narrow, _, attrs in samples(row, half, 8):
        with torch.no_grad():
            bare = recorded(row, narrow, attrs)[1]
        for a, b in zip(recorded(row, narrow, attrs)[1], bare, strict=True):
            assert a.dtype is b.dtype and a.array.tobytes() == b.array.tobytes()


@pytest.mark.parametrize("device", ["sim"])
@pytest.mark.parametrize("name", ["mul", "pow", "layer_norm", "expand"])
def test_gradients_have_the_type_of_their_inputs_on_a_device(name, device):
    pytest.importorskip("cupy", reason="the simulator's arrays are CuPy's")
    row = OPS[name]
    narrow, _, attrs = next(samples(row, torch.bfloat16))
    tensors = [wrap(x, cpu).to(device).requires_grad_() if isinstance(x, np.ndarray) else x for x in narrow]
    out = row.call(*tensors, **attrs)
    out.sum().backward()
    assert out.dtype is torch.bfloat16
    assert all(t.grad.dtype is torch.bfloat16 for t in tensors if isinstance(t, Tensor))


# ---- sums into one place are rounded once ------------------------------------------------------------------
N = 20_000
MANY = {
    "expand": lambda x: x.expand(N, 3), "repeat": lambda x: x.repeat(N, 1), "tile": lambda x: torch.tile(x, (N, 1)),
    "meshgrid": lambda x: torch.meshgrid(x, torch.zeros(N, dtype=x.dtype), indexing="ij")[0],
    "repeat_interleave": lambda x: x.repeat_interleave(N), "broadcast": lambda x: x * torch.ones(N, 3, dtype=x.dtype),
    "index": lambda x: x[torch.arange(N) % 3], "take": lambda x: x.take(torch.arange(N) % 3),
    "index_select": lambda x: x.index_select(0, torch.arange(N) % 3),
    "gather": lambda x: x.gather(0, torch.arange(N) % 3),
    "embedding": lambda x: F.embedding(torch.arange(N) % 3, x[:, None]),
    "as_strided": lambda x: x.as_strided((N, 3), (0, 1)),
    "interpolate": lambda x: F.interpolate(x[None, None], size=N),
    "replicate": lambda x: F.pad(x[None, None], (N, N), "replicate"),
    "bias": lambda x: F.linear(torch.ones(N, 2, dtype=x.dtype), torch.ones(3, 2, dtype=x.dtype), x),
    "masked_select": lambda x: x[:1].masked_select(torch.arange(N) % 2 == 0),
}


@pytest.mark.parametrize("name", MANY)
@each_half
def test_many_gradients_of_one_element_are_added_exactly(name, half):
    """A sum in bfloat16 stops growing at 256 times its terms."""
    rng, found = np.random.default_rng(0), []
    values, weights = rng.uniform(0.5, 1, 3).astype("float32"), None
    for dtype in (half, torch.float64):
        x = torch.tensor(values).to(half).to(dtype).requires_grad_()
        y = MANY[name](x)
        if weights is None:
            weights = torch.tensor(rng.uniform(0, 0.5, tuple(y.shape)).astype("float32")).to(half)
        y.backward(weights.to(dtype))
        found.append(x.grad)
    assert found[0].dtype is half
    scale = float(found[1].abs().max())
    assert float((found[0].double() - found[1]).abs().max()) <= EPS[half] * scale


def test_a_parameter_behind_expand_learns():
    token = nn.Parameter(torch.ones(1, 3, dtype=torch.bfloat16))
    (token.expand(4, 3) * 0.3).float().mean().backward()
    assert token.grad.dtype is torch.bfloat16
    torch.testing.assert_close(token.grad.float(), torch.full((1, 3), 0.1), rtol=1e-2, atol=0)
    torch.optim.SGD([token], lr=1.0).step()
    assert float(token.detach().float().max()) < 0.95


def test_unused_parts_get_zeros_also_of_infinite_gradients():
    for part in (lambda x: x.unbind(0)[0], lambda x: x.split(1)[0], lambda x: x.chunk(2)[0]):
        x = torch.ones(2, 2, requires_grad=True)
        part(x).backward(torch.full(part(x).shape, float("inf")))
        assert x.grad[1].tolist() == [0, 0]


# ---- norms -------------------------------------------------------------------------------------------------
NORMS = {"batch_norm": lambda x, w, b: F.batch_norm(x, None, None, w, b, True),
         "batch_norm_inference": lambda x, w, b: F.batch_norm(x, torch.zeros(4), torch.ones(4), w, b),
         "layer_norm": lambda x, w, b: F.layer_norm(x, (4,), w, b), "rms_norm": lambda x, w, b: F.rms_norm(x, (4,), w),
         "group_norm": lambda x, w, b: F.group_norm(x, 2, w, b), "instance_norm": lambda x, w, b: F.instance_norm(
             x, None, None, w, b)}


@pytest.mark.parametrize("name", NORMS)
@each_half
def test_norms_of_lower_precision_take_float32_weights(name, half):
    rng, found = np.random.default_rng(0), []
    arrays = [rng.uniform(0.5, 1.5, s).astype("float32") for s in ((3, 4, 4), (4,), (4,), (3, 4, 4))]
    for dtype in (half, torch.float32):
        x = torch.tensor(arrays[0]).to(half).to(dtype).requires_grad_()
        w, b = [torch.tensor(a).requires_grad_() for a in arrays[1:3]]
        y = NORMS[name](x, w, b)
        y.backward(torch.tensor(arrays[3]).to(half).to(dtype))
        assert y.dtype is dtype is x.grad.dtype and w.grad.dtype is torch.float32
        found.append((y, x.grad, w.grad))
    for a, b in zip(*found):
        assert float((a.float() - b).abs().max()) <= 2 * EPS[half] * max(1, float(b.abs().max()))


def test_norms_refuse_other_mixtures():
    x, w = torch.ones(2, 4), torch.ones(4)
    for norm in (lambda x, w: F.layer_norm(x, (4,), w, w), lambda x, w: F.batch_norm(x, None, None, w, w, True),
                 lambda x, w: F.group_norm(x, 2, w, w)):
        for a, b in ((x, w.double()), (x.double(), w), (x, w.bfloat16()), (x.half(), w.bfloat16())):
            with pytest.raises(RuntimeError, match="dtype"):
                norm(a, b)
    with pytest.raises(RuntimeError, match="expected scalar type float32 but found float64: running_mean"):
        F.batch_norm(x, w.double(), w.double(), w, w)
    assert F.rms_norm(x, (4,), w.double()).dtype is torch.float32, "the one norm that promotes"


@each_half
def test_rms_norm_of_small_numbers_has_float32s_epsilon(half):
    x = torch.full((1, 4), 1e-3, dtype=half)
    assert F.rms_norm(x, (4,)).tolist() == [[0.9453125] * 4]
    assert F.add_rms_norm(x, x * 0)[0].tolist() == [[0.9453125] * 4]


@each_half
def test_what_a_norm_keeps_is_not_rounded(half):
    """With a rounded mean the gradient of an offset batch would be noise."""
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.uniform(0.9, 1.1, (64, 8)).astype("float32")).to(half)
    g = torch.tensor(rng.uniform(-1, 1, (64, 8)).astype("float32")).to(half)
    found = []
    for dtype in (half, torch.float32):
        leaf = x.to(dtype, copy=True).requires_grad_()
        F.batch_norm(leaf, None, None, training=True).backward(g.to(dtype))
        found.append(leaf.grad.float())
    assert float((found[0] - found[1]).abs().max()) <= EPS[half] * float(found[1].abs().max())


# ---- elsewhere ---------------------------------------------------------------------------------------------
@each_half
def test_anomaly_mode_sees_nan(half):
    x = torch.zeros(1, dtype=half, requires_grad=True)
    with pytest.raises(RuntimeError, match="SqrtBackward0.*returned nan"), torch.autograd.detect_anomaly():
        (x.sqrt() * 0).sum().backward()


@each_half
def test_dropout_keeps_the_type(half):
    x = torch.ones(4, 6, dtype=half, requires_grad=True)
    for call in (F.dropout, F.alpha_dropout, F.feature_alpha_dropout):
        assert call(x, 0.5, True).dtype is half
    q = torch.ones(2, 3, 4, dtype=half, requires_grad=True)
    assert F.scaled_dot_product_attention(q, q, q, dropout_p=0.5).dtype is half


def test_masks_are_combined_in_the_type_of_the_scores():
    layer = nn.Linear(4, 4)
    prune.l1_unstructured(layer, "weight", 0.25)
    layer.double()
    prune.l1_unstructured(layer, "weight", 0.5)            # the scores are the pruned weight, still in float32
    assert layer.weight_mask.dtype is torch.float32 and layer.weight.dtype is torch.float64


@each_half
def test_custom_functions_get_gradients_cast(half):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g.float() * 2
    x = torch.ones(3, dtype=half, requires_grad=True)
    Twice.apply(x).sum().backward()
    assert x.grad.dtype is half and x.grad.tolist() == [2, 2, 2]


def test_questions_about_types():
    bfloat16 = torch.bfloat16.np
    assert is_half(bfloat16) and is_floating(bfloat16) and is_inexact(bfloat16)
    assert is_inexact(np.dtype("complex64")) and not is_floating(np.dtype("complex64"))
    assert not any(ask(np.dtype(d)) for ask in (is_half, is_floating, is_inexact) for d in ("int16", "bool", "uint16"))


def test_no_test_of_a_kind_forgets_bfloat16():
    """Its kind is "V": ``kind in "fc"`` takes it for no float. `is_floating` and `is_inexact` ask rightly."""
    asked = re.compile(r"""kind\s*(?:==|!=|not in|in)\s*(["'])([biufcOSUV]+)\1""")
    wrong = []
    for path in Path(torch.__file__).parent.rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for _, kinds in asked.findall(line):
                if "f" in kinds and "V" not in kinds and "bfloat16" not in line:
                    wrong.append(f"{path.name}:{number}: {line.strip()}")
    assert not wrong, "say V, or in a comment why bfloat16 is left out:\n" + "\n".join(wrong)


@each_half
@pytest.mark.parametrize("create_graph", [False, True])
def test_saved_tensors_are_packed(half, create_graph):
    """By hooks that halve what a product saved."""
    x = torch.tensor([1.0, 3.0]).to(half).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 4):
        y = (x * x).sum()
    g, = torch.autograd.grad(y, x, create_graph=create_graph)
    assert g.dtype is half and g.tolist() == [1, 3]


@each_half
@pytest.mark.parametrize("number", [float("inf"), -float("inf"), float("nan"), 1e39, 70000.0, 0.0, -0.0, 0.1, 2])
def test_numbers_have_no_say_in_the_type(number, half):
    x = torch.tensor([0.5, 2.0]).to(half)
    found = [x * number, x + number, number - x, x * 0 + number, number / x]
    if not 65504 < abs(number) < float("inf"):             # refused, by PyTorch as well but for `where`
        found += [x.masked_fill(x > 1, number), x.clamp(max=number), torch.where(x > 1, number, x)]
    for y in found:
        assert y.dtype is half
