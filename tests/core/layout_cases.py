"""Programs of one call whose results' memory layout is compared with PyTorch's, and the layouts of their inputs.

`tests/parity/test_layouts.py` compares with PyTorch itself, `test_layouts.py` with what `record_layouts.py` wrote
down about it.
"""

import copy
import functools
import random
import warnings

import numpy as np

from minitorch.core.registry import FUNCTIONS, OPS
from minitorch.testing.strategies import Draw

SAMPLES = 3
RANDOM = {"empty_like": "uninitialised memory", "kthvalue": "written below"}


# ---- layouts ------------------------------------------------------------------------------------------------
def ordered(a, order):
    """`a` with its axes stored in this order."""
    return a.transpose(order).copy().transpose(np.argsort(order))


def transposed(a):
    return ordered(a, (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2)) if a.ndim > 1 else None


def fortran(a):
    return ordered(a, range(a.ndim)[::-1]) if a.ndim > 2 else None


def rotated(a):
    return ordered(a, (*range(1, a.ndim), 0)) if a.ndim > 2 else None


def channels_last(a):
    return ordered(a, (0, *range(2, a.ndim), 1)) if a.ndim > 3 else None


def expanded(a, axis=0):
    return np.broadcast_to(a.take([0], axis), a.shape) if a.ndim > 1 and a.size else None


def expanded_last(a):
    return expanded(a, a.ndim - 1)


def stepped(a):
    if not a.ndim:
        return None
    wide = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]


def cut(a):
    """Some columns of more, some rows of more."""
    wide = np.zeros([n + 2 for n in a.shape], a.dtype)
    inner = tuple([slice(1, 1 + n) for n in a.shape])
    wide[inner] = a
    return wide[inner]


def rows_transposed(a):
    """A piece of a transposed array: neither dense nor in order."""
    return cut(a.T).T if a.ndim > 1 else None


LAYOUTS = {f.__name__: f for f in (transposed, fortran, rotated, channels_last, expanded, expanded_last, stepped, cut,
                                   rows_transposed)}


def laid_out(arrays, layout):
    """The arrays in a layout: of all, or "first transposed": of the first only; None if it says nothing about them."""
    which, f = layout.split()
    found = []
    for k, a in enumerate(arrays):
        chosen = isinstance(a, np.ndarray) and (which == "all" or (which == "first") == (k == 0))
        b = LAYOUTS[f](a) if chosen else None
        found.append(a if b is None else b)
    return None if all(a is b for a, b in zip(arrays, found)) else found


EVERY = [f"all {name}" for name in LAYOUTS]
MIXED = [f"{which} {name}" for which in ("first", "rest") for name in ("transposed", "rotated", "expanded",
                                                                       "channels_last", "cut")]


# ---- what is compared ---------------------------------------------------------------------------------------
def code(x):
    """The layout of a tensor: "c" contiguous, "102" its dimensions from the slowest to the fastest, "v12,1" strides.

    Only dimensions of more than one element count; "e" if there are no elements.
    """
    if 0 in x.shape:
        return "e"
    dims = [(s, d, n) for d, (n, s) in enumerate(zip(x.shape, x.stride())) if n > 1]
    step, dense = 1, True
    for s, _, n in sorted(dims):
        dense, step = dense and s == step, step * n
    order = [d for *_, d, _ in sorted(dims, reverse=True)]
    if dense:
        return "c" if order == sorted(order) else "".join(map(str, order))
    return "v" + ",".join(str(s) for s, *_ in dims)


def seen(found):
    """The layouts of results."""
    return "/".join([code(x) for x in (found if isinstance(found, (tuple, list)) else [found]) if hasattr(x, "stride")])


def tensors(library, arrays):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [library.from_numpy(a) if isinstance(a, np.ndarray) else a for a in arrays]


# ---- one public function of each definition -----------------------------------------------------------------
def twin(library, namespace, name):
    try:
        return functools.reduce(getattr, [*(namespace.split(".") if namespace else []), name], library)
    except AttributeError:
        return None


def definitions():
    """(namespace, name, definition) of the public functions that are definitions themselves."""
    return [(namespace, name, public.call.op) for (namespace, name), public in FUNCTIONS.items()
            if getattr(public.call, "op", None) in OPS.values() and name not in RANDOM]


def definition_samples(op):
    """Inputs and attributes, the same in each run: those of larger shapes, since others have no layout."""
    if op.inputs[0].kind == "variadic" and op.sample is None:
        return
    draws = (Draw(random.Random(f"{op.name} {seed}")).op_sample(op) for seed in range(12))
    ranked = sorted(enumerate(draws), key=lambda found: -sum(np.ndim(a) * (np.size(a) > 1) for a in found[1][0]))
    for _, (arrays, attrs) in ranked[:SAMPLES]:
        arrays = [a.astype(np.float32) if isinstance(a, np.ndarray) and a.dtype == np.float64 else a for a in arrays]
        yield arrays, {k: v for k, v in attrs.items() if not isinstance(v, np.ndarray)}


def definition_layouts(library, namespace, name, op):
    """The layouts of the results: for each sample, for each layout of the inputs; "-" where there is none."""
    function, found = twin(library, namespace, name), []
    for arrays, attrs in definition_samples(op):
        for layout in EVERY + (MIXED if len(arrays) > 1 else []):
            given = laid_out(arrays, layout)
            found.append("-" if given is None else attempt(call, function, tensors(library, given), attrs))
    return found


def call(function, inputs, attrs):
    return function(*inputs, **attrs)


def attempt(function, *args):
    """The layouts of what is returned; "-" for an error: PyTorch has other arguments, or the values make no sense."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return seen(function(*args))
    except Exception:
        return "-"


# ---- expressions, for all that is made of several definitions ------------------------------------------------
rng = np.random.default_rng(0)
VALUES = {name: rng.uniform(0.2, 0.9, shape).astype(np.float32) for name, shape in {
    "x": (2, 3, 4), "y": (2, 3, 4), "m": (3, 4), "n": (3, 4), "s": (4, 4), "v": (4,), "i": (2, 4, 6, 6),
    "j": (2, 4, 6, 6), "k": (8, 4, 3, 3), "b": (4,), "c": (8,), "o": (2, 3, 4, 6, 6), "q": (2, 3, 5, 4),
    "d": (4, 1, 3, 3), "u": (4, 8, 3, 3), "ko": (2, 3, 3, 3, 3), "l": (2, 4, 6), "kl": (8, 4, 3)}.items()}
VALUES["t"] = rng.integers(0, 3, (3, 4))
VALUES["tx"] = rng.integers(0, 2, (2, 3, 4))
VALUES["bx"] = rng.integers(0, 2, (2, 3, 4)).astype(bool)
EXPRESSIONS = """
x.clone() | x.float() | x.double() | x.half() | x.bfloat16() | x.int() | x.bool() | x.to(torch.float64)
x.to(torch.float32, copy=True) | x.contiguous() | x.type(torch.float64) | x.type_as(tx) | x.detach().clone()
i.clone() | i.double() | o.clone() | i.clone(memory_format=torch.contiguous_format)
i.clone(memory_format=torch.channels_last) | o.clone(memory_format=torch.channels_last_3d)
i.clone(memory_format=torch.preserve_format) | i.contiguous(memory_format=torch.channels_last)
o.contiguous(memory_format=torch.channels_last_3d) | i.to(memory_format=torch.channels_last)
i.to(memory_format=torch.contiguous_format) | i.to(torch.float64, memory_format=torch.channels_last)
i.to(torch.float64, memory_format=torch.contiguous_format) | i.to(torch.float64, memory_format=torch.preserve_format)
i.to(memory_format=torch.preserve_format, copy=True) | i.to(memory_format=torch.contiguous_format, copy=True)
i.double(memory_format=torch.channels_last) | i.to(memory_format=torch.channels_last, copy=True)
i.float(memory_format=torch.channels_last) | i.cpu(memory_format=torch.channels_last) | torch.zeros_like(x)
torch.ones_like(x) | torch.empty_like(x) | torch.full_like(x, 2.0) | torch.rand_like(x) | torch.randn_like(x)
torch.randint_like(x, 3) | torch.zeros_like(i) | torch.empty_like(i, memory_format=torch.channels_last)
torch.rand_like(i) | torch.zeros_like(i, memory_format=torch.contiguous_format)
torch.empty_like(x, dtype=torch.float64) | torch.zeros_like(x, dtype=torch.int32)
torch.rand_like(i, memory_format=torch.channels_last) | torch.randn_like(i, memory_format=torch.contiguous_format)
torch.rand_like(x, dtype=torch.float64) | torch.full_like(i, 1, memory_format=torch.channels_last)
x.new_empty((3, 4)) | x.new_zeros((3, 4)) | torch.bernoulli(x) | torch.poisson(x) | torch.normal(x, y)
torch.normal(x, 1.0) | torch.normal(0.0, x) | torch.empty_like(o) | torch.bernoulli(x, 0.5) | torch.cat([x, y])
torch.cat([x, y], 1) | torch.cat([x, y], -1) | torch.cat([x]) | torch.cat([m, n], 1) | torch.cat([x, y.double()], 1)
torch.cat([i, j], 1) | torch.cat([i, j]) | torch.cat([i, j], 3) | torch.cat([o, o], 1) | torch.stack([x, y])
torch.stack([x, y], 1) | torch.stack([x, y], -1) | torch.stack([i, j], 1) | torch.hstack([m, n]) | torch.vstack([m, n])
torch.dstack([m, n]) | torch.column_stack([m, n]) | torch.block_diag(m, n) | torch.stack([x])
torch.cat([x.double(), y]) | F.dropout(x) | F.dropout(x, training=False) | F.dropout(i) | F.dropout2d(i)
F.dropout1d(x) | F.dropout3d(o) | F.alpha_dropout(x) | F.feature_alpha_dropout(i, training=True) | x.flip(0)
x.flip(1, 2) | x.flip(()) | x.fliplr() | i.flip(-1) | x.roll(1) | x.roll(1, 0) | x.roll((1, 1), (0, 2)) | m.rot90()
x.rot90(2) | x.tile(2) | x.repeat(2, 1, 1) | x.repeat_interleave(2, 1) | x.repeat_interleave(2) | x.kthvalue(2, 1)
x.kthvalue(1) | x.sort(1) | x.sort(0, descending=True) | x.argsort(1) | x.topk(2, 1) | x.topk(2) | x.topk(2, 0)
x.median(1) | x.mode(1) | x.max(1) | x.min(0) | x.max(2, keepdim=True) | x.nanmedian(0) | x.aminmax(dim=1)
x.cummax(1) | x.cummin(0) | x.msort() | x == y | x < y | x >= 0.5 | x != 1 | torch.isclose(x, y)
torch.logical_and(x, y) | torch.logical_or(x, y) | torch.logical_not(x) | torch.logical_xor(x, y) | ~bx | bx & bx
bx.__or__(tx > 0) | torch.isnan(x) | torch.isfinite(x) | torch.isinf(x) | torch.signbit(x) | torch.isreal(x)
torch.isposinf(x) | torch.isin(x, v) | x + y | x + 1 | 1 - x | x * y | x / y | x - y | x ** 2 | x ** y | 2 ** x
x // y | x % y | x + tx | tx + x | x * v | v * x | m + x | x + m | i * j | i + b.view(4, 1, 1) | -x | abs(x)
x.double() + y | x.add(y, alpha=2) | torch.rsub(x, y) | x.sub(y, alpha=0.5) | torch.div(x, y, rounding_mode="floor")
x.float_power(2) | x.clamp(0.3, 0.5) | x.clamp(y) | x.clamp_min(0.4) | x.clamp_max(y) | torch.maximum(x, y)
torch.where(bx, x, y) | torch.where(bx, x, 0.0) | torch.where(x > 0.5, x, y) | torch.lerp(x, y, 0.3)
torch.addcmul(x, x, y) | torch.addcdiv(x, x, y) | x.masked_fill(bx, 1.0) | x.square() | x.sigmoid() | x.exp()
x.atan2(y) | x.hypot(y) | torch.fmod(x, y) | torch.xlogy(x, y) | torch.logaddexp(x, y) | torch.nextafter(x, y)
x.round() | x.floor() | x.frac() | x.sign() | x.nan_to_num() | x.erf() | x.lgamma() | x.digamma()
torch.special.i0e(x) | x.rsqrt() | x.reciprocal() | x.log1p() | torch.copysign(x, y) | torch.heaviside(x, y)
torch.gcd(tx, tx) | tx << 1 | tx * 2 | tx / 2 | tx.float() | tx + 1.5 | tx.abs() | torch.bitwise_and(tx, tx)
torch.polygamma(1, x) | torch.ldexp(x, tx) | torch.relu(x) | F.relu(i) | F.gelu(x) | F.gelu(x, approximate="tanh")
F.silu(i) | F.elu(x) | F.selu(x) | F.celu(x) | F.leaky_relu(x) | F.relu6(i) | F.hardtanh(x) | F.hardswish(i)
F.hardsigmoid(x) | F.softplus(x) | F.softsign(x) | F.mish(x) | F.logsigmoid(x) | F.tanhshrink(x)
F.threshold(x, 0.5, 0.0) | F.glu(x) | F.prelu(i, b) | F.softshrink(x) | F.hardshrink(x) | F.rrelu(x, training=True)
F.prelu(x, b[:1]) | F.prelu(x.transpose(1, 2), b) | F.softmin(x, 1) | x.sum(0) | x.sum(1) | x.sum((0, 2))
x.sum(1, keepdim=True) | i.sum(1) | i.mean((2, 3)) | i.mean((2, 3), keepdim=True) | x.mean(2) | o.sum(1)
x.sum(0, dtype=torch.float64) | tx.sum(1) | x.prod(1) | x.amax(1) | x.amin(0) | x.amax((0, 1)) | bx.any(1) | x.all(0)
x.std(1) | x.var(0) | o.mean(0) | o.amax(2) | i.sum(0) | i.sum(2) | i.amax(0) | x.logsumexp(1) | x.norm(dim=1)
x.norm(2, 0) | x.argmax(1) | x.argmin(0) | x.nansum(1) | x.nanmean(0) | x.count_nonzero(1) | x.cumsum(1) | x.cumprod(0)
x.logcumsumexp(2) | tx.cumsum(0) | x.cumsum(1, dtype=torch.float64) | x.diff(dim=1) | x.quantile(0.5, 1)
torch.linalg.vector_norm(x, dim=1) | torch.linalg.matrix_norm(x) | x.dist(y) | x.renorm(2, 0, 1.0) | torch.trapezoid(x)
torch.cumulative_trapezoid(x, dim=1) | torch.gradient(m) | m.cov() | m.corrcoef() | x.nanquantile(0.3, 0) | x.argmax()
torch.histc(x, 3) | torch.softmax(x, 1) | torch.softmax(x, -1) | torch.log_softmax(x, 0) | torch.softmax(i, 1)
F.log_softmax(i, 1) | F.gumbel_softmax(x) | F.normalize(x) | F.normalize(i) | F.cosine_similarity(x, y)
F.pairwise_distance(x, y) | x @ s | m @ s | x @ v | torch.matmul(q, q.mT) | torch.bmm(x, y.mT) | torch.mm(m, s)
m.mv(v) | torch.addmm(n, m, s) | torch.baddbmm(x, x, torch.stack([s, s])) | torch.outer(v, v) | torch.inner(x, m)
torch.einsum("abc,dc->abd", x, m) | torch.einsum("abc,abd->acd", x, y) | torch.einsum("abc->cab", x)
torch.tensordot(x, y, ([2], [2])) | torch.kron(m, n) | torch.dot(v, v) | torch.cdist(x, y) | F.linear(x, s, b)
F.linear(x, s) | F.bilinear(x, y, torch.rand(2, 4, 4)) | torch.chain_matmul(m, s) | torch.linalg.multi_dot([m, s, s])
torch.addr(s, v, v) | torch.addmv(b, s, v) | torch.cross(x.transpose(0, 1), y.transpose(0, 1), dim=0)
x.transpose(1, 2).matmul(x) | torch.linalg.inv(s) | torch.linalg.solve(s, s) | torch.linalg.qr(s)
torch.linalg.svd(m, full_matrices=False) | torch.linalg.eigh(s) | torch.linalg.cholesky(s @ s.mT + 4 * torch.eye(4))
torch.linalg.det(s) | torch.linalg.pinv(m) | torch.linalg.lu_factor(s) | torch.linalg.matrix_power(s, 3)
torch.linalg.solve_triangular(s, s, upper=True) | torch.matrix_exp(s) | torch.linalg.lu(s) | torch.linalg.slogdet(s)
torch.linalg.vander(v) | F.scaled_dot_product_attention(q, q, q)
F.scaled_dot_product_attention(q.transpose(1, 2), q.transpose(1, 2), q.transpose(1, 2))
F.scaled_dot_product_attention(q, q, q, is_causal=True) | F.scaled_dot_product_attention(x, x, x) | F.conv2d(i, k)
F.conv2d(i, k, c, padding=1) | F.conv2d(i, k, stride=2) | F.conv2d(i, d, b, groups=4) | F.conv2d(i, k[:, :, :1, :1])
F.conv_transpose2d(i, u) | F.conv3d(o, ko) | F.conv1d(l, kl) | F.conv_transpose1d(l, u[..., 0]) | F.conv2d(i[0], k)
F.conv2d(i[:, :1], k[:, :1]) | F.conv2d(i, k, dilation=2) | F.batch_norm(i, b, b, training=True)
F.batch_norm(i, b, b) | F.batch_norm(i, b, b, b, b) | F.batch_norm(l, b, b, b, b, training=True) | F.group_norm(i, 2)
F.layer_norm(x, (4,)) | F.layer_norm(x, (4,), v, b) | F.layer_norm(i, (6, 6)) | F.instance_norm(i)
F.rms_norm(x, (4,)) | F.local_response_norm(i, 2) | F.batch_norm(m, v, v, training=True)
F.batch_norm(o, v[:3], v[:3], training=True) | F.max_pool2d(i, 2) | F.max_pool2d(i, 2, return_indices=True)
F.avg_pool2d(i, 2) | F.max_pool1d(l, 2) | F.avg_pool1d(l, 2) | F.max_pool3d(o, 2) | F.avg_pool3d(o, 2)
F.adaptive_avg_pool2d(i, 2) | F.adaptive_avg_pool2d(i, 1) | F.adaptive_max_pool2d(i, 2) | F.lp_pool2d(i, 2, 2)
F.adaptive_avg_pool3d(o, 1) | F.adaptive_avg_pool1d(l, 1) | F.adaptive_avg_pool1d(l, 2)
F.interpolate(i, scale_factor=2) | F.interpolate(i, scale_factor=2, mode="bilinear")
F.interpolate(i, scale_factor=2, mode="bicubic") | F.interpolate(i, size=(3, 3), mode="area")
F.interpolate(o, scale_factor=2) | F.interpolate(l, scale_factor=2, mode="linear")
F.interpolate(i, scale_factor=2, mode="nearest-exact") | F.pad(i, (1, 1)) | F.pad(i, (1, 1, 1, 1), "reflect")
F.pad(i, (1, 1, 1, 1), "replicate") | F.pad(i, (1, 1, 1, 1), "circular") | F.pad(x, (1, 1))
F.pad(x, (1, 1), "reflect") | F.pad(x, (1, 0), value=1.0) | F.pad(x, (0, 0)) | F.pad(x, (-1, 0))
F.pad(o, (1, 1, 1, 1, 1, 1), "replicate") | F.pixel_shuffle(i, 2) | F.pixel_unshuffle(i, 2) | F.channel_shuffle(i, 2)
F.unfold(i, 2) | F.fold(F.unfold(i, 2), (6, 6), 2) | F.grid_sample(i, torch.zeros(2, 3, 3, 2))
F.affine_grid(x[:, :2, :3], (2, 1, 3, 3)) | F.one_hot(t) | F.embedding(t, m) | F.mse_loss(x, y, reduction="none")
F.l1_loss(x, y, reduction="none") | F.smooth_l1_loss(x, y, reduction="none") | F.huber_loss(x, y, reduction="none")
F.binary_cross_entropy(x, y, reduction="none") | F.binary_cross_entropy_with_logits(x, y, reduction="none")
F.kl_div(x, y, reduction="none")
F.cross_entropy(x.transpose(0, 1), torch.zeros(3, 4, dtype=torch.int64), reduction="none")
F.soft_margin_loss(x, y, reduction="none") | F.poisson_nll_loss(x, y, reduction="none")
F.gaussian_nll_loss(x, y, x, reduction="none") | F.hinge_embedding_loss(x, y, reduction="none") | x.gather(1, tx)
x.scatter(1, tx, y) | x.scatter_add(1, tx, y) | x.index_select(1, t[0] * 0) | x.index_add(2, t[0], y)
x.index_fill(1, t[0] * 0, 1.0) | x.take_along_dim(tx, 1) | x[:, [0, 1]] | x[[0, 1]] | x[..., [1, 0]]
x[:, torch.tensor([0, 2])] | x[torch.tensor([0, 1]), :, torch.tensor([0, 1])] | x[bx] | x[x > 0.5]
x.masked_select(bx) | x.take(tx) | x.nonzero() | x.argwhere() | x.masked_scatter(bx, y)
x.index_put((torch.tensor([0]),), torch.tensor(1.0)) | x.index_copy(2, t[0] * 0, y) | x.scatter_reduce(1, tx, y, "sum")
i[:, [0, 1]] | i[:, :, [0, 1]] | torch.searchsorted(v, x) | torch.bucketize(x, v) | x.unique() | x.put(tx, y)
x.tril() | x.triu() | x.diag_embed() | m.diag() | v.diag() | x.diagonal_scatter(torch.zeros(4, 2))
x.select_scatter(torch.zeros(3, 4), 0, 0) | x.slice_scatter(torch.zeros(1, 3, 4), 0, 0, 1) | x.flatten(1)
x.reshape(6, 4) | x.reshape(2, 12) | x.ravel() | x.flatten() | x.transpose(0, 1) | x.permute(2, 0, 1) | x.squeeze()
x.unsqueeze(1) | x.expand(5, 2, 3, 4) | x.mT | x.movedim(0, 1) | x.unfold(2, 2, 1) | x.split(1, 1) | x.unbind(1)
x.diagonal(dim1=1, dim2=2) | x[:, 1] | x[..., None] | x[::2] | x.narrow(1, 0, 2) | x.view(torch.int32)
x.narrow_copy(1, 0, 2) | torch.broadcast_tensors(x, m) | torch.meshgrid(v, b, indexing="ij")
torch.cartesian_prod(v, b) | torch.combinations(v) | torch.atleast_3d(m) | x.unflatten(2, (2, 2)) | x.view(2, 3, 2, 2)
x.swapaxes(0, 2) | torch.fft.fftshift(x) | x.view(2, 3, 4) | x.nan_to_num_() | x.clone().mul_(y)
x.detach().requires_grad_().clone() | torch.empty(2, 3, 4).copy_(x)
torch.zeros(2, 3, 4).transpose(0, 1).copy_(x.transpose(0, 1)) | torch.add(x, y, out=torch.empty(0))
torch.exp(x, out=torch.empty(0)) | torch.sum(x, 0, out=torch.empty(0)) | torch.cat([x, y], out=torch.empty(0))
torch.nn.Parameter(x).data | torch.tensor(x.tolist()) | torch.as_tensor(x) | torch.asarray(x, dtype=torch.float64)
torch.asarray(x, copy=True) | torch.tensor(x) | copy.deepcopy(x) | x.new_tensor(x) | torch.bernoulli(i)
torch.var_mean(x, 1) | torch.std_mean(x, 2) | x.contiguous(memory_format=torch.contiguous_format)
F.conv_transpose3d(o, torch.zeros(3, 2, 2, 2, 2))
"""
EXPRESSIONS = [e for line in EXPRESSIONS.split("\n") for e in line.split(" | ") if e]


def names_in(expression):
    return [name for name in VALUES if name in compile(expression, "", "eval").co_names]


def evaluate(library, expression, layout, grad=False):
    """The results of an expression whose tensors lie in `layout`, and these tensors; None if that says nothing."""
    names = names_in(expression)
    given = laid_out([VALUES[name] for name in names], layout)
    if given is None:
        return None
    library.manual_seed(0)
    operands = [x.requires_grad_() if grad and x.is_floating_point() else x for x in tensors(library, given)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = dict(zip(names, operands), torch=library, F=library.nn.functional, copy=copy)
        return eval(expression, names), operands


def expression_layouts(library, expression):
    """The layouts of the results, for each layout of the inputs; "-" where there is none."""
    return [attempt(results, library, expression, layout) for layout in (*EVERY, *MIXED)]


def results(library, expression, layout):
    return evaluate(library, expression, layout)[0]


def grad_layouts(library, expression):
    """The layouts of the operands' gradients, for each layout of the operands."""
    return [attempt(gradients, library, expression, layout) or "-" for layout in EVERY]


def gradients(library, expression, layout):
    found, operands = evaluate(library, expression, layout, grad=True)
    live = [x for x in (found if isinstance(found, (tuple, list)) else [found]) if getattr(x, "requires_grad", False)]
    sum((x.float() * x.float()).sum() for x in live).backward()
    return [x.grad for x in operands if x.is_floating_point() and x.grad is not None]


# ---- where the layouts differ -------------------------------------------------------------------------------
# There the result is contiguous, or as its inputs lie, in an order that PyTorch does not have: `view` accepts whatever
# it accepts there.
DIFFERENT = """
torch.stack([i, j], 1) | F.dropout2d(i) | F.dropout1d(x) | F.dropout3d(o) | F.feature_alpha_dropout(i, training=True)
x == y | x < y | torch.logical_and(x, y) | torch.logical_or(x, y) | torch.logical_xor(x, y) | bx.__or__(tx > 0) | x + y
x * y | x / y | x - y | x ** y | x + tx | tx + x | m + x | x + m | i * j | x.double() + y | x.add(y, alpha=2)
torch.rsub(x, y) | x.sub(y, alpha=0.5) | x.atan2(y) | x.hypot(y) | torch.nextafter(x, y) | torch.copysign(x, y)
torch.heaviside(x, y) | F.normalize(x) | F.normalize(i) | torch.kron(m, n) | torch.addr(s, v, v) | torch.linalg.inv(s)
torch.linalg.solve(s, s) | torch.linalg.qr(s) | torch.linalg.svd(m, full_matrices=False) | torch.linalg.eigh(s)
torch.linalg.cholesky(s @ s.mT + 4 * torch.eye(4)) | torch.linalg.lu_factor(s)
torch.linalg.solve_triangular(s, s, upper=True)
F.scaled_dot_product_attention(q.transpose(1, 2), q.transpose(1, 2), q.transpose(1, 2)) | F.conv2d(i, d, b, groups=4)
F.conv1d(l, kl) | F.conv_transpose1d(l, u[..., 0]) | F.local_response_norm(i, 2) | F.avg_pool1d(l, 2)
F.adaptive_avg_pool1d(l, 2) | F.pad(x, (0, 0)) | F.pad(x, (-1, 0)) | F.pixel_unshuffle(i, 2) | F.channel_shuffle(i, 2)
F.mse_loss(x, y, reduction="none") | F.l1_loss(x, y, reduction="none") | F.smooth_l1_loss(x, y, reduction="none")
F.huber_loss(x, y, reduction="none") | F.binary_cross_entropy(x, y, reduction="none")
F.binary_cross_entropy_with_logits(x, y, reduction="none") | F.kl_div(x, y, reduction="none")
F.soft_margin_loss(x, y, reduction="none") | F.poisson_nll_loss(x, y, reduction="none")
F.gaussian_nll_loss(x, y, x, reduction="none") | x[:, [0, 1]] | x[[0, 1]] | x[..., [1, 0]] | x[:, torch.tensor([0, 2])]
i[:, [0, 1]] | i[:, :, [0, 1]] | x.diagonal_scatter(torch.zeros(4, 2)) | x.select_scatter(torch.zeros(3, 4), 0, 0)
x.slice_scatter(torch.zeros(1, 3, 4), 0, 0, 1) | torch.add(x, y, out=torch.empty(0)) | torch.exp(x, out=torch.empty(0))
"""
DIFFERENT = {e for line in DIFFERENT.split("\n") for e in line.split(" | ") if e}


def may_differ(key):
    """True if results may lie otherwise: elementwise functions of several operands, and what is
    made of them."""
    op = OPS.get(key)
    return key in DIFFERENT or op is not None and len(op.inputs) > 1 and bool(op.xp_name or op.layout == "inputs")


def differences(key, ours, wanted):
    """Faults in the layouts `ours`; where they may differ, views that PyTorch allows must be possible."""
    assert len(ours) == len(wanted), f"{key}: other samples, record the layouts again (see record_layouts.py)"
    found = []
    for k, (a, b) in enumerate(zip(ours, wanted)):
        if a == b or b == "-":
            continue
        lenient = may_differ(key) and len(a.split("/")) == len(b.split("/")) and not any(
            x != "c" and y == "c" for x, y in zip(a.split("/"), b.split("/")))
        if not lenient:
            found.append(f"{key}, case {k}: {a} instead of {b}")
    return found
