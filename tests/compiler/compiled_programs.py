"""Random programs for `compile`: each one runs eagerly and compiled, and everything that can be seen must be the same.

A program is a list of steps ``(statement, i, j, k)``: a statement of `STATEMENTS` is given the values number `i` and
`j` that exist by then and a number `k` to choose by; it returns a new value, or writes in place. A `Case` adds what
stands around the program: kinds of arguments, modes, what is returned, what happens with the results.

The same is run for longer by ``python -m tests.compiler.compiled_programs --programs 5000 --seed 1``.
"""

import sys
import warnings
from collections import Counter
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

import minitorch as torch
import minitorch.nn as nn
import minitorch.nn.functional as F
from minitorch.backends.native import parts, toolchain
from minitorch.compiler import choice
from minitorch.core.tensor import Tensor
from tests.compiler.program_search import command_line, search
from tests.compiler.user_statements import MORE, floating, like
from tests.helpers.own_functions import Square

DTYPES = {"float32": (2e-5, 1e-5), "float64": (1e-9, 1e-10), "bfloat16": (3e-2, 5e-2)}
LAYOUTS = ("plain", "transposed", "strided", "expanded", "offset", "non-leaf", "view of a non-leaf", "reversed")
# Statements that make float32 of any case, or what becomes that; and 16-bit floats.
ROUGH = {"cast", "constant", "full", "as_complex", "arange", "complex_parts", "complex_product", "spectrum", "counted",
         "as_bool", "integers", "where_numbers", "cumulative_maximum"}
HALVES = {"in_16_bits", "as_half", "half_and_bfloat16"}
RESULTS = ("last", "all", "dict", "nested", "with inputs", "one twice")
MODES = ("grad", "grad", "grad", "no_grad", "inference", "autocast")


class Case(NamedTuple):
    """The surroundings of a program."""

    steps: tuple = ()
    dtype: str = "float32"
    layouts: tuple = ("plain", "plain")
    aliased: str = ""                                      # "same" or "view": the second argument is the first again
    needs_grad: tuple = (True, False)
    modes: tuple = ("grad", "grad", "grad")                # around each of the calls
    results: str = "last"
    write_after: bool = False                              # the results are written to before they are used
    own_backward: bool = False                             # the function runs its backward pass itself
    twice: bool = False                                    # two backward passes outside, which add up
    seed: int = 0
    backend: str = "numpy"                                 # of `compile`


STATEMENTS = {}


def statement(function):
    STATEMENTS[function.__name__] = function
    return function


def several(**functions):
    """Statements of one line; those that cannot take a value leave the program as it is."""
    STATEMENTS.update(functions)


several(                                                   # views
    flat=lambda w, x, y, k: x.reshape(-1), view=lambda w, x, y, k: x.view(-1), first=lambda w, x, y, k: x[0],
    last=lambda w, x, y, k: x[-1], tail=lambda w, x, y, k: x[..., 1:], every_other=lambda w, x, y, k: x[::2],
    transpose=lambda w, x, y, k: x.transpose(0, -1), new_axis=lambda w, x, y, k: x[None],
    unsqueeze=lambda w, x, y, k: x.unsqueeze(-1), squeeze=lambda w, x, y, k: x.squeeze(),
    expand=lambda w, x, y, k: x.expand(2, *x.shape) if x.dim() < 4 else None, view_as=lambda w, x, y, k: x.view_as(y),
    diagonal=lambda w, x, y, k: x.diagonal(), narrow=lambda w, x, y, k: x.narrow(0, k % 2, 1),
    unbind=lambda w, x, y, k: x.unbind(0)[k % x.shape[0]], chunk=lambda w, x, y, k: x.chunk(2)[-1],
    split=lambda w, x, y, k: x.split(1, -1)[0], detach=lambda w, x, y, k: x.detach(), alias=lambda w, x, y, k: x,
    one=lambda w, x, y, k: x.view(-1)[k % 2], movedim=lambda w, x, y, k: x.movedim(0, -1),
    same_shape=lambda w, x, y, k: x.view(x.shape),
    strided=lambda w, x, y, k: x.as_strided((2, 2), (1, 1 + k % 2), k % 3),
    unfold=lambda w, x, y, k: x.unfold(-1, 2, 1), everything=lambda w, x, y, k: x[...])

several(                                                   # indices and other copies
    take_rows=lambda w, x, y, k: x[[0, -1]], by_index=lambda w, x, y, k: x[w.index],
    index_select=lambda w, x, y, k: x.index_select(0, w.index), take=lambda w, x, y, k: x.take(w.index),
    gather=lambda w, x, y, k: x.gather(0, (x > 0).long() * (x.shape[0] - 1)), mask=lambda w, x, y, k: x[x > 0],
    masked_fill=lambda w, x, y, k: x.masked_fill(x > 0, 0.5),
    where=lambda w, x, y, k: torch.where(x > 0, x, like(x, y)), repeat=lambda w, x, y, k: x.repeat_interleave(2, -1),
    tile=lambda w, x, y, k: x.repeat(2, *[1] * (x.dim() - 1)), clone=lambda w, x, y, k: x.clone(),
    contiguous=lambda w, x, y, k: x.contiguous(), flip=lambda w, x, y, k: x.flip(0),
    cat=lambda w, x, y, k: torch.cat([x, like(x, y).expand_as(x)]), stack=lambda w, x, y, k: torch.stack([x, x])[k % 2],
    roll=lambda w, x, y, k: x.roll(1, 0), sort=lambda w, x, y, k: x.sort(-1).values,
    topk=lambda w, x, y, k: x.topk(1, -1).values, nonzero=lambda w, x, y, k: x.nonzero().float().mean() * x,
    cast=lambda w, x, y, k: x.to((torch.float32, torch.float64, torch.int64)[k % 3]), tril=lambda w, x, y, k: x.tril())

several(                                                   # arithmetic
    exp=lambda w, x, y, k: floating(x).clamp(-3, 3).exp(), tanh=lambda w, x, y, k: floating(x).tanh(),
    relu=lambda w, x, y, k: x.relu(), twice=lambda w, x, y, k: x * 2.0 + k, add=lambda w, x, y, k: x + y,
    multiply=lambda w, x, y, k: x * y, divide=lambda w, x, y, k: x / (y.abs() + 1),
    power=lambda w, x, y, k: x ** (k % 4), root=lambda w, x, y, k: x.abs() ** 0.5 if not x.requires_grad else None,
    maximum=lambda w, x, y, k: torch.maximum(x, y), greater=lambda w, x, y, k: (x > y).to(x.dtype),
    reciprocal=lambda w, x, y, k: 1 / (x * x + 1), sum=lambda w, x, y, k: x.sum(k % max(1, x.dim())),
    mean=lambda w, x, y, k: floating(x).mean(), total=lambda w, x, y, k: x.sum(), amax=lambda w, x, y, k: x.amax(-1),
    softmax=lambda w, x, y, k: floating(x).softmax(-1), cumsum=lambda w, x, y, k: x.cumsum(0),
    norm=lambda w, x, y, k: floating(x).norm(), variance=lambda w, x, y, k: x.var(0),
    maximum_of=lambda w, x, y, k: x.max(-1).values, argmax=lambda w, x, y, k: x * x.argmax(-1, keepdim=True),
    lerp=lambda w, x, y, k: torch.lerp(x, like(x, y), 0.25),
    baddbmm=lambda w, x, y, k: torch.addcmul(x, x, x, value=0.5), by_size=lambda w, x, y, k: x * x.shape[0] / x.numel())

several(                                                   # products and modules
    matmul=lambda w, x, y, k: floating(x).to(w.dtype) @ w.weight, linear=lambda w, x, y, k: w.linear(x),
    norm_layer=lambda w, x, y, k: w.norm(x), batch_norm=lambda w, x, y, k: w.batch_norm(x),
    dropout=lambda w, x, y, k: F.dropout(floating(x), 0.5),
    inner=lambda w, x, y, k: (floating(x).reshape(-1) @ floating(x).reshape(-1)),
    dropout_of_dead=lambda w, x, y, k: F.dropout(floating(x), 0.5) is None,
    noise=lambda w, x, y, k: x + torch.rand(x.shape), noise_like=lambda w, x, y, k: torch.randn_like(floating(x)),
    layer=lambda w, x, y, k: F.layer_norm(floating(x), x.shape[-1:]))

several(                                                   # layers and losses
    conv1d=lambda w, x, y, k: F.conv1d(floating(x).reshape(1, 1, -1), floating(x).reshape(-1)[:2].reshape(1, 1, 2)),
    conv2d=lambda w, x, y, k: F.conv2d(floating(x)[None, None], w.weight[None, None, :2, :3].to(x.dtype),
                                       padding=1, stride=1 + k % 2) if x.dim() == 2 else None,
    max_pool=lambda w, x, y, k: F.max_pool1d(floating(x).reshape(1, 1, -1), 2, ceil_mode=k % 2 == 0),
    avg_pool=lambda w, x, y, k: F.avg_pool2d(floating(x)[None], (2, 1), padding=(1, 0), count_include_pad=k % 2 == 0),
    adaptive=lambda w, x, y, k: F.adaptive_avg_pool1d(floating(x).reshape(1, 1, -1), 1 + k % 3),
    interpolate=lambda w, x, y, k: F.interpolate(floating(x).reshape(1, 1, -1), scale_factor=2.0,
                                                 mode=("nearest", "linear")[k % 2]),
    pad=lambda w, x, y, k: F.pad(x, (1, k % 3), value=0.5), reflect=lambda w, x, y, k: F.pad(
        floating(x).reshape(1, 1, -1), (1, 1), mode=("reflect", "replicate", "circular")[k % 3]),
    gelu=lambda w, x, y, k: F.gelu(floating(x), approximate=("none", "tanh")[k % 2]),
    silu=lambda w, x, y, k: F.silu(floating(x)), glu=lambda w, x, y, k: F.glu(floating(x), -1),
    log_softmax=lambda w, x, y, k: F.log_softmax(floating(x), 0),
    logsumexp=lambda w, x, y, k: floating(x).logsumexp(-1),
    cross_entropy=lambda w, x, y, k: F.cross_entropy(floating(x), w.index[:1].expand(x.shape[0]) * (k % 2),
                                                     label_smoothing=0.1 * (k % 3)) if x.dim() == 2 else None,
    huber=lambda w, x, y, k: F.smooth_l1_loss(floating(x), like(floating(x), y).expand_as(x)),
    group_norm=lambda w, x, y, k: F.group_norm(floating(x)[None], 1), rms=lambda w, x, y, k: F.rms_norm(
        floating(x), x.shape[-1:]), normalize=lambda w, x, y, k: F.normalize(floating(x), dim=-1),
    attention=lambda w, x, y, k: F.scaled_dot_product_attention(
        *[floating(x).reshape(1, 1, -1, x.shape[-1])] * 3, is_causal=k % 2 == 0),
    embedding=lambda w, x, y, k: F.embedding(w.index, floating(x)) if x.dim() == 2 else None,
    einsum=lambda w, x, y, k: torch.einsum("...i,...j->...ij", floating(x), floating(x)) if x.dim() < 4 else None,
    cdist=lambda w, x, y, k: torch.cdist(floating(x)[None], floating(x)[None] + 1) if x.dim() == 2 else None,
    outer=lambda w, x, y, k: torch.outer(x.reshape(-1)[:3], x.reshape(-1)[:2]),
    bmm=lambda w, x, y, k: torch.bmm(floating(x)[None], floating(x)[None].mT) if x.dim() == 2 else None)

several(                                                   # orders, sums by index, pieces
    sort_both=lambda w, x, y, k: (lambda s: s.values * (s.indices + 1))(x.sort(0, descending=k % 2 == 0, stable=True)),
    argsort=lambda w, x, y, k: x.take_along_dim(x.argsort(-1, stable=True), -1), median=lambda w, x, y, k: x.median(),
    cumprod=lambda w, x, y, k: floating(x).clamp(-2, 2).cumprod(-1), cummax=lambda w, x, y, k: x.cummax(0).values,
    diff=lambda w, x, y, k: x.diff(dim=-1), prod=lambda w, x, y, k: x.clamp(-2, 2).prod(-1),
    any=lambda w, x, y, k: (x > 0).any(0), count=lambda w, x, y, k: (x > 0).sum(-1) + x.amin(),
    std_mean=lambda w, x, y, k: torch.std_mean(floating(x), -1)[k % 2],
    scatter_add=lambda w, x, y, k: torch.zeros_like(x).scatter_add(0, (x > 0).long() * (x.shape[0] - 1), x),
    scatter_reduce=lambda w, x, y, k: x.scatter_reduce(
        0, (x > 0).long() * (x.shape[0] - 1), x, ("sum", "amax", "mean")[k % 3]),
    index_put=lambda w, x, y, k: x.index_put((w.index,), x[:1], accumulate=k % 2 == 0),
    index_copy=lambda w, x, y, k: x.index_copy(0, w.index, x[:2]), rot90=lambda w, x, y, k: x.rot90(),
    masked_scatter=lambda w, x, y, k: x.masked_scatter(x > 0, x),
    kron=lambda w, x, y, k: torch.kron(x[:2], x[:1]),
    meshgrid=lambda w, x, y, k: torch.meshgrid(x.reshape(-1)[:2], x.reshape(-1)[:3], indexing="ij")[k % 2],
    hsplit=lambda w, x, y, k: torch.tensor_split(x, 2, -1)[k % 2],
    swap=lambda w, x, y, k: x.permute(*range(x.dim())[::-1]),
    nan_to_num=lambda w, x, y, k: (x / x).nan_to_num(0.5) if x.is_floating_point() else None,
    round=lambda w, x, y, k: x.round() + x, remainder=lambda w, x, y, k: x % (k + 1),
    sign=lambda w, x, y, k: x.sign() * x,
    clamp=lambda w, x, y, k: x.clamp(min=-0.5 if x.is_floating_point() else -1), atan2=lambda w, x, y, k: torch.atan2(
        floating(x), like(floating(x), y) + 2), log1p=lambda w, x, y, k: floating(x).abs().log1p(),
    as_complex=lambda w, x, y, k: torch.view_as_real(torch.complex(floating(x).float(), floating(x).float()) * 1j),
    bits=lambda w, x, y, k: x.view(torch.int32) & 255 if x.dtype == torch.float32 else None)

several(                                                   # new memory
    zeros=lambda w, x, y, k: torch.zeros(x.shape, dtype=x.dtype),
    constant=lambda w, x, y, k: torch.tensor([1.0, 2.0, 3.0, 4.0]), full=lambda w, x, y, k: torch.full((3, 4), 0.5),
    ones_like=lambda w, x, y, k: torch.ones_like(x), arange=lambda w, x, y, k: torch.arange(4.0),
    new=lambda w, x, y, k: x.new_empty(x.shape).fill_(k))


@statement
def cache(w, x, y, k):
    found = torch.zeros(x.shape[0] + 1, *x.shape[1:], dtype=x.dtype)
    found[:x.shape[0]] = x
    return found


def write(function):
    """A statement that writes in place and returns nothing new."""
    def run(w, x, y, k):
        function(w, x, y, k)
    STATEMENTS[function.__name__] = run
    return run


for _name, _function in dict(
        add_=lambda w, x, y, k: x.add_(1 + k), mul_=lambda w, x, y, k: x.mul_(like(x, y)),
        zero_=lambda w, x, y, k: x.zero_(), copy_=lambda w, x, y, k: x.copy_(like(x, y)),
        first_add_=lambda w, x, y, k: x[0].add_(1), t_mul_=lambda w, x, y, k: x.t().mul_(3),
        clamp_=lambda w, x, y, k: x.clamp_(-0.5, 0.5), relu_=lambda w, x, y, k: x.relu_(),
        tanh_=lambda w, x, y, k: x.tanh_(), alpha_=lambda w, x, y, k: x.add_(like(x, y), alpha=2),
        masked_fill_=lambda w, x, y, k: x.masked_fill_(x > 0, 0.25),
        index_add_=lambda w, x, y, k: x.index_add_(0, w.index, x[w.index]),
        detached=lambda w, x, y, k: x.detach().mul_(0.5), data=lambda w, x, y, k: x.data.add_(0.5),
        view_add_=lambda w, x, y, k: x.view(-1).add_(1), unsqueeze_=lambda w, x, y, k: x.unsqueeze_(0),
        transpose_=lambda w, x, y, k: x.transpose_(0, -1), out=lambda w, x, y, k: torch.add(y, 1, out=x),
        out_mul=lambda w, x, y, k: torch.mul(x, y, out=x), diagonal_=lambda w, x, y, k: x.diagonal().fill_(7),
        strided_=lambda w, x, y, k: x.as_strided((2,), (1,), k % 3).mul_(2), sigmoid_=lambda w, x, y, k: x.sigmoid_(),
        scatter_=lambda w, x, y, k: x.scatter_(0, (x > 0).long() * (x.shape[0] - 1), 0.5),
        uniform_=lambda w, x, y, k: x.uniform_(), dropout_=lambda w, x, y, k: F.dropout(x, 0.5, inplace=True),
        retain=lambda w, x, y, k: x.requires_grad and x.retain_grad(),
        dead_draw=lambda w, x, y, k: torch.rand(2 + k)).items():
    STATEMENTS[_name] = (lambda function: lambda w, x, y, k: (function(w, x, y, k), None)[1])(_function)


@write
def element(w, x, y, k):
    x[(0,) * x.dim()] = 0.5 + k


@write
def flat_element(w, x, y, k):
    x.view(-1)[k % 3] = 9.0


@write
def neighbour(w, x, y, k):
    flat = x.view(-1)
    flat[k % 3] = flat[k % 2 + 1]


@write
def row(w, x, y, k):
    x[k % 2] = like(x[0], y)


@write
def columns(w, x, y, k):
    x[:, 1:] = 0


@write
def all_of_it(w, x, y, k):
    x[...] = like(x, y)


@write
def rows_by_list(w, x, y, k):
    x[[0, -1]] = 0.25


@write
def by_tensor(w, x, y, k):
    x[w.index] = like(x[0], y)


@write
def by_mask(w, x, y, k):
    x[x > 0] = 0.125


@write
def shifted(w, x, y, k):
    x[1:] = x[:-1].clone()


@write
def augmented(w, x, y, k):
    x += like(x, y)


@write
def part_augmented(w, x, y, k):
    x[0] *= 2


@write
def under_no_grad(w, x, y, k):
    with torch.no_grad():
        x.mul_(2)


@write
def buffer_written(w, x, y, k):
    w.buffer[:2] += floating(x).detach().mean()


@write
def buffer_decays(w, x, y, k):
    with torch.no_grad():
        w.buffer.mul_(0.9).add_(like(w.buffer, x.detach()), alpha=0.1)


@write
def weight_stepped(w, x, y, k):
    with torch.no_grad():
        w.weight.sub_(w.weight, alpha=0.01)


@statement
def buffer_read(w, x, y, k):
    return w.buffer * 1.0


@statement
def buffer_itself(w, x, y, k):
    return w.buffer


@statement
def weight_view(w, x, y, k):
    return w.weight[0]


@statement
def gradient_inside(w, x, y, k):
    if x.requires_grad and x.is_floating_point():
        g, = torch.autograd.grad((x * x).sum(), x)
        return g * 0.5


@statement
def without_recording(w, x, y, k):
    with torch.no_grad():
        return x * 3


@statement
def in_16_bits(w, x, y, k):
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        return floating(x).reshape(-1, x.shape[-1]) @ torch.ones(x.shape[-1], 2)


@statement
def checkpointed(w, x, y, k):
    return torch.utils.checkpoint.checkpoint(lambda x: floating(x).tanh() * 2, x, use_reentrant=False)


@statement
def own_function(w, x, y, k):
    return Square.apply(floating(x))


@statement
def depends_on_data(w, x, y, k):
    return x * 2 if floating(x).sum() > 0 else x * 3


@statement
def raises(w, x, y, k):
    if k % 8 == 7:
        raise KeyError("on purpose")


NAMES = list(STATEMENTS)
several(**MORE)


class World:
    """One copy of everything that a program uses: modules, captured tensors, the function itself."""

    device = "cpu"

    def __init__(self, case, compiled):
        torch.manual_seed(case.seed)
        self.case, self.dtype = case, getattr(torch, case.dtype)
        self.weight = nn.Parameter(torch.randn(4, 4, dtype=self.dtype) / 2)
        self.linear, self.norm, self.batch_norm = nn.Linear(4, 4), nn.LayerNorm(4), nn.BatchNorm1d(4)
        self.modules = [m.to(self.dtype) for m in (self.linear, self.norm, self.batch_norm)]
        self.index, self.buffer = torch.tensor([1, 0]), torch.ones(3, 4, dtype=self.dtype)
        self.function = torch.compile(self.run, backend=case.backend) if compiled else self.run

    def run(self, x, y):
        """The program."""
        values = [x, y]
        for name, i, j, k in self.case.steps:
            made = STATEMENTS[name](self, values[i % len(values)], values[j % len(values)], k)
            if isinstance(made, Tensor) and made.numel() <= 4096:
                values.append(made)
        if self.case.own_backward:
            loss = sum((floating(v) * 0.5).sum() for v in values if v.requires_grad)
            if isinstance(loss, Tensor):
                loss.backward()
        new = values[2:] or values
        which = self.case.results
        if which == "last":
            return values[-1]
        if which == "all":
            return tuple(new)
        if which == "dict":
            return {f"v{n}": v for n, v in enumerate(new[-3:])}
        if which == "nested":
            return [new[-1], (new[0], {"more": new[-1] * 1}), None, 3]
        return (x, values[-1], y) if which == "with inputs" else (values[-1], values[-1])

    def arguments(self, call):
        """Arguments of the kinds that the case says; and the leaves behind them."""
        rng = np.random.default_rng(100 * self.case.seed + call)
        made = []
        for layout, needs in zip(self.case.layouts, self.case.needs_grad):
            shape = {"transposed": (4, 3), "strided": (6, 4), "expanded": (1, 4), "offset": (5, 4)}.get(layout, (3, 4))
            leaf = torch.tensor(rng.standard_normal(shape), dtype=self.dtype).requires_grad_(needs)
            base = leaf * 1 if layout in ("non-leaf", "view of a non-leaf") else leaf
            x = {"transposed": lambda b: b.t(), "strided": lambda b: b[::2], "expanded": lambda b: b.expand(3, 4),
                 "offset": lambda b: b[1:4], "view of a non-leaf": lambda b: b[:3],
                 "reversed": lambda b: b.flip(0)}.get(layout, lambda b: b)(base)
            made.append((leaf, base, x))
        leaves, inputs = [m[:2] for m in made], [m[2] for m in made]
        if self.case.aliased == "same":
            inputs[1] = inputs[0]
        elif self.case.aliased == "view":
            inputs[1] = inputs[0][...]
        return inputs, leaves


def mode(name, device):
    return {"no_grad": torch.no_grad, "inference": torch.inference_mode,
            "autocast": lambda: torch.autocast(device, dtype=torch.bfloat16)}.get(name, nullcontext)()


def seen(x):
    """All that a user can see of a tensor."""
    a = x.detach().to(torch.float64).numpy().copy() if x.dtype == torch.bfloat16 else x.detach().numpy().copy()
    return {"value": a, "dtype": str(x.dtype), "strides": x.stride(), "needs": x.requires_grad, "leaf": x.is_leaf,
            "version": x._version if not x.is_inference() else None, "inference": x.is_inference()}


def tensors_in(x):
    if isinstance(x, Tensor):
        return [x]
    if isinstance(x, dict):
        return [t for v in x.values() for t in tensors_in(v)]
    return [t for v in x for t in tensors_in(v)] if isinstance(x, (tuple, list)) else []


def history(world):
    """Everything that can be seen while the calls of a case go on, as a list of (what, value)."""
    case, found = world.case, []
    torch.manual_seed(case.seed + 1)
    for call, around in enumerate(case.modes):
        inputs, leaves = world.arguments(call)
        kept = [x * x for x in inputs]                     # nodes that have saved the arguments
        error = None
        try:
            with mode(around, world.device):
                result = world.function(*inputs)
        except Exception as raised:
            error, result = type(raised).__name__, ()
        found.append((f"call {call}: error", error))
        outs = tensors_in(result)
        found.append((f"call {call}: kind", type(result).__name__))
        found += [(f"call {call}: result {n}", seen(t)) for n, t in enumerate(outs)]
        found.append((f"call {call}: identity", [[o is t for t in (*inputs, world.buffer, *outs)] for o in outs]))
        if case.write_after:
            for t in outs:
                try:
                    t.mul_(2)
                except Exception as raised:
                    found.append((f"call {call}: write after", type(raised).__name__))
            found += [(f"call {call}: result {n} after the writes", seen(t)) for n, t in enumerate(outs)]
        for times in range(1 + case.twice):
            found.append((f"call {call}: backward", "none"))
            try:
                loss = sum((floating(t) * (n + 1)).sum() for n, t in enumerate([*outs, *inputs, *kept])
                           if t.requires_grad and not t.is_inference())
                if isinstance(loss, Tensor):
                    loss.backward(retain_graph=times < case.twice)
            except Exception as raised:
                found[-1] = f"call {call}: backward", type(raised).__name__
        found += [(f"call {call}: argument {n}", seen(t)) for n, t in enumerate(inputs)]
        for n, (leaf, _) in enumerate(leaves):
            found.append((f"call {call}: leaf {n}", seen(leaf)))
            found.append((f"call {call}: gradient {n}", None if leaf.grad is None else seen(leaf.grad)))
        state = [*[p for m in world.modules for p in m.parameters()], world.weight, world.buffer,
                 *[b for m in world.modules for b in m.buffers()]]
        for n, t in enumerate(state):
            found.append((f"call {call}: state {n}", seen(t)))
            found.append((f"call {call}: gradient of state {n}", None if t.grad is None else seen(t.grad)))
        found.append((f"call {call}: next random number", torch.rand(1).item()))
    return found


def differences(a, b, tolerance, ignore=()):
    """The differences between two things that were seen."""
    if isinstance(a, dict) and isinstance(b, dict):
        return [f"{key}: {text}" for key in a if key not in ignore for text in differences(a[key], b[key], tolerance)]
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape != b.shape:
            return [f"shape {a.shape}, compiled {b.shape}"]
        rtol, atol = tolerance
        scale = max(1.0, float(np.abs(a[np.isfinite(a)]).max(initial=0))) if a.dtype.kind == "f" else 1.0
        good = np.allclose(a, b, rtol, atol * scale, equal_nan=True) if a.dtype.kind == "f" else np.array_equal(a, b)
        return [] if good else [f"\n{a}\ncompiled\n{b}"]
    return [] if a == b else [f"{a}, compiled {b}"]


def tolerance_of(case):
    """Relative and absolute, for the coarsest type that takes part."""
    names = {name for name, *_ in case.steps}
    halves = case.dtype == "bfloat16" or "autocast" in case.modes or names & HALVES
    return DTYPES["bfloat16" if halves else "float32" if names & ROUGH else case.dtype]


def check(case):
    """AssertionError with the first difference between the eager and the compiled run; returns the compiled world."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world = World(case, True)
        eager, compiled = history(World(case, False)), history(world)
    tolerance = tolerance_of(case)
    if case.backend != "numpy":                            # sums in another order: of what cancels, noise is left
        tolerance = tuple(5 * t for t in tolerance)
    for (what, a), (same, b) in zip(eager, compiled):
        if what.endswith("backward") and a != "none":
            return world                                   # refused, perhaps for what only the eager graph saves
        assert what == same, f"{what}: {a}\ncompiled: {same}: {b}\n{case}"
        found = differences(a, b, tolerance, {"strides"} if ": gradient" in what else ())
        assert not found, f"{what}: {'; '.join(found)}\n{case}\n{world.function.notes}"
    return world


def any_case(rng):
    """A case made of all statements."""
    return random_case(rng, list(STATEMENTS))


def random_case(rng, names=NAMES):
    """A case made of random choices; `rng` is a `random.Random`."""
    steps = tuple((rng.choice(names), rng.randrange(12), rng.randrange(12), rng.randrange(8))
                  for _ in range(rng.randint(1, rng.choice([3, 6, 12]))))
    plain = rng.random() < 0.5
    return Case(
        steps, rng.choice(["float32", "float32", "float64", "bfloat16"]),
        ("plain", "plain") if plain else (rng.choice(LAYOUTS), rng.choice(LAYOUTS)),
        "" if rng.random() < 0.8 else rng.choice(["same", "view"]),
        (rng.random() < 0.6, rng.random() < 0.3),
        ("grad",) * 3 if rng.random() < 0.6 else tuple(rng.choice(MODES) for _ in range(4)),
        rng.choice(RESULTS), rng.random() < 0.3, rng.random() < 0.15, rng.random() < 0.15, rng.randrange(1000))


def main():
    arguments = command_line(
        __doc__, backend=dict(default="numpy", help="of `compile`: numpy, c, or auto, which here takes C at the second "
                              "run of a program"),
        enough=dict(type=int, default=parts.ENOUGH, help="elements of a part of a loop that two threads share: with 2 "
                    "nearly every loop is shared"),
        flags=dict(default="-O1", help="of the C compiler, after its own"))
    parts.ENOUGH = arguments.enough
    if arguments.enough < 1 << 17:
        torch.set_num_threads(2)
    toolchain.FLAGS += tuple(arguments.flags.split())
    choice.RUNS = 2
    reasons = Counter()

    def tell(world):
        reasons.update(note.split(": ", 1)[1].split(", at ")[0] for note in world.function.notes if "eagerly" in note)
    failures = search(arguments, any_case, lambda case: check(case._replace(backend=arguments.backend)), tell)
    print(f"{reasons.total()} programs ran eagerly: " + ", ".join(f"{v} {k}" for k, v in reasons.most_common()))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
