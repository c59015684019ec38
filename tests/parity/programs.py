"""Random programs of several calls, run by PyTorch and by minitorch, compared after every line.

    python tests/parity/programs.py --programs 5000 --seed 1

A program is text: lines about tensors ``t0, t1, ...`` in which ``torch`` is either library. Each line is drawn, run by
PyTorch, and kept if it works (and sometimes if it does not: then both must raise). Databases of single calls cannot
see what calls do to each other: a view that is written to, a value that was kept, a dtype that wandered off.
A program that differs is shortened line by line before it is shown.
"""

import argparse
import random
import sys
import warnings
from pathlib import Path

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

import minitorch

FLOATS = ("float32", "float64", "bfloat16", "float16")
SHORT = {"float16": "half", "bfloat16": "bfloat16"}
TOLERANCE = {"float32": 2e-4, "float64": 1e-9, "bfloat16": 0.06, "float16": 8e-3}


# ---- drawing -----------------------------------------------------------------------------------------------
class Draft:
    """A program in the making, with what PyTorch says of its tensors so far."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines = []
        self.scope = scope_of(torch)
        self.n = 0
        self.block = None                                  # the text of an open ``with`` block

    def names(self, test=lambda t: True):
        return [k for k, t in self.scope.items() if k[0] == "t" and k[1:].isdigit() and torch.is_tensor(t) and test(t)]

    def tensor(self, test=lambda t: True):
        found = self.names(test)
        # The youngest half of the time, so that chains grow.
        return (found[-1] if self.rng.random() < 0.5 else self.rng.choice(found)) if found else None

    def new(self):
        self.n += 1
        return f"t{self.n - 1}"

    def add(self, line, within=True):
        """Keep the line if PyTorch runs it, or, sometimes, if it refuses it."""
        if within and self.block and self.rng.random() < 0.6:
            line = f"with {self.block}: {line}"
        scope = dict(self.scope)
        try:
            run_line(line, scope)
        except Exception as error:
            if self.rng.random() < 0.1 and not isinstance(error, (SyntaxError, NameError, AttributeError)):
                self.lines.append(line)
            return False
        if any(torch.is_tensor(t) and t.numel() > 4000 for k, t in scope.items() if k not in self.scope):
            return False
        self.scope.update(scope)
        self.lines.append(line)
        return True


def scope_of(library):
    return {"torch": library, "F": library.nn.functional, "nn": library.nn, "seen": []}


def run_line(line, scope):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(line, scope)


def draw(seed, length=14):
    """The lines of one program, and whether PyTorch ran each."""
    draft = Draft(seed)
    rng = draft.rng
    draft.add(f"torch.manual_seed({rng.randrange(100)})")
    for _ in range(rng.randint(1, 3)):
        leaf(draft)
    steps = 0
    while steps < length:
        steps += 1
        if rng.random() < 0.06:
            draft.block = rng.choice([None, None, "torch.no_grad()", "torch.enable_grad()",
                                      "torch.autocast('cpu', torch.bfloat16)"])
        rng.choices(STEPS, WEIGHTS)[0](draft)
    draft.block = None
    ending(draft)
    return draft.lines


# ---- lines -------------------------------------------------------------------------------------------------
def shape(rng, least=0, most=3):
    return tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(least, most)))


def leaf(d):
    rng, name = d.rng, d.new()
    dtype = rng.choice(["float32"] * 6 + ["float64", "bfloat16", "bfloat16", "float16"])
    grad = rng.random() < 0.6
    text = f"{name} = torch.randn({shape(rng, 1)}).to(torch.{dtype})"
    if rng.random() < 0.15:
        text = f"{name} = torch.randn({shape(rng, 2)}).to(torch.{dtype}).transpose(0, 1)"
    if rng.random() < 0.1:
        text, grad = f"{name} = torch.randint(-3, 4, {shape(rng, 1)})", False
    if grad:
        text += ".requires_grad_()"
    d.add(text)


def is_float(t):
    return t.dtype.is_floating_point


def scalar(rng):
    return rng.choice(["2", "0.5", "-1.5", "3", "True"])


def index(d, name):
    rng, t = d.rng, d.scope[name]
    parts = []
    for n in t.shape[:rng.randint(1, max(1, t.dim()))]:
        i = rng.randrange(-n, n) if n else 0
        parts.append(rng.choice([str(i), ":", f"{rng.randrange(n + 1)}:", f":{rng.randrange(n + 1)}", "::2", "None",
                                 f"[{i}, {rng.randrange(-n, n) if n else 0}]", f"torch.tensor([{i}])"]))
    if rng.random() < 0.1:
        parts.insert(rng.randint(0, len(parts)), "...")
    if rng.random() < 0.1:
        return f"{name} > 0"
    return ", ".join(parts) or "..."


def dim_of(d, name):
    n = max(1, d.scope[name].dim())
    return d.rng.randrange(-n, n)


def view(d):
    name = d.tensor()
    t, rng = d.scope[name], d.rng
    a, b = dim_of(d, name), dim_of(d, name)
    size = t.shape[a] if t.dim() else 1
    text = rng.choice([
        f"{name}.transpose({a}, {b})", f"{name}.unsqueeze({a})", f"{name}.squeeze()", f"{name}.reshape(-1)",
        f"{name}.view(-1)", f"{name}.flatten()", f"{name}[{index(d, name)}]", f"{name}[{index(d, name)}]",
        f"{name}.select({a}, 0)", f"{name}.narrow({a}, 0, {max(1, size - 1)})", f"{name}.movedim({a}, {b})",
        f"{name}.expand(2, {', '.join(['-1'] * t.dim())})", f"{name}.diagonal()", f"{name}.detach()", f"{name}.mT",
        f"{name}.unfold({a}, {min(2, size)}, 1)", f"{name}.chunk(2, {a})[0]", f"{name}.split(1, {a})[-1]",
        f"{name}.unbind({a})[0]", f"{name}.view_as({name})", f"{name}.permute({list(range(t.dim()))[::-1]})",
        f"{name}.as_strided(({min(2, t.numel())},), (1,))", f"{name}.swapaxes({a}, {b})", f"{name}.data",
        f"{name}.contiguous()", f"{name}.unflatten({a}, (1, -1))", f"{name}.tensor_split(2, {a})[0]"])
    # A view made in no_grad says in PyTorch that it requires gradients, although none reach it.
    d.add(f"{d.new()} = {text}", within=False)


UNARY = ("sin", "exp", "tanh", "sigmoid", "abs", "neg", "relu", "square", "clone", "log1p", "sqrt",
         "reciprocal", "isnan", "float", "double", "half", "bfloat16", "cos", "erf",
         "logical_not", "exp2", "expm1", "rsqrt", "atan", "softmax(-1)", "log_softmax(-1)", "cumsum(0)", "flip(0)",
         "sort()[0]", "tril()", "roll(1)", "repeat(2, 1)", "nan_to_num()", "clamp(-1, 0.5)", "pow(2)", "logsumexp(-1)",
         "repeat_interleave(2)", "cumprod(0)", "cummax(0)[0]", "topk(1)[0]", "deg2rad()", "triu()", "masked_fill(",)


def unary(d):
    name = d.tensor()
    op = d.rng.choice(UNARY)
    if op == "masked_fill(":
        op = f"masked_fill({name} > 0, {scalar(d.rng)})"
    d.add(f"{d.new()} = {name}.{op if '(' in op else op + '()'}")


def operand(d, name):
    """Another tensor, rather one that broadcasts, or a number."""
    if d.rng.random() < 0.3:
        return scalar(d.rng)

    def fits(t):
        try:
            torch.broadcast_shapes(t.shape, d.scope[name].shape)
            return True
        except RuntimeError:
            return d.rng.random() < 0.05
    return d.tensor(fits) or "2"


def binary(d):
    name = d.tensor()
    other = operand(d, name)
    op = d.rng.choice(["+", "-", "*", "/", "*", "+", "<", ">=", "==", "**"])
    text = f"{name} {op} {other}"
    if d.rng.random() < 0.3 and other[0] == "t":
        text = d.rng.choice([f"torch.maximum({name}, {other})", f"torch.where({name} > 0, {name}, {other})",
                             f"torch.atan2({name}, {other})", f"{name}.lerp({other}, 0.3)", f"torch.hypot({name}, {other})",
                             f"torch.addcmul({name}, {other}, {other}, value=0.5)", f"torch.add({name}, {other}, alpha=2)",
                             f"torch.minimum({name}, {other})", f"torch.logaddexp({name}, {other})",
                             f"F.mse_loss({name}, {other})",
                             f"F.smooth_l1_loss({name}, {other})", f"torch.cdist({name}, {other})",
                             f"torch.dist({name}, {other})", f"F.cosine_similarity({name}, {other}, 0)"])
    elif d.rng.random() < 0.2:
        text = f"{other} {op} {name}"
    d.add(f"{d.new()} = {text}")


def reduction(d):
    name = d.tensor()
    a, rng = dim_of(d, name), d.rng
    text = rng.choice(["sum()", f"sum({a})", f"mean({a})", f"mean({a}, keepdim=True)", f"amax({a})", f"max({a})[0]",
                       f"min({a})[0]", f"std({a})", f"var({a}, keepdim=True)", f"norm(dim={a})", f"logsumexp({a})",
                       f"prod({a})", f"argmax({a})", f"any({a})", f"median({a})[0]", "norm()", "max()", "mean()",
                       f"nansum({a})", f"all({a})", f"amin({a}, keepdim=True)", "var()", f"mode({a})[0]", "min()",
                       f"count_nonzero({a})", f"aminmax(dim={a})[1]", f"norm(1, {a})", f"kthvalue(1, {a})[0]",
                       f"quantile(0.5, {a})", f"sum({a}, dtype=torch.float64)"])
    d.add(f"{d.new()} = {name}.{text}")


def write(d):
    """A write in place, into a tensor or through a view."""
    rng = d.rng
    name = d.tensor()
    t = d.scope[name]
    other = operand(d, name)
    target = name if rng.random() < 0.6 else f"{name}[{index(d, name)}]"
    if rng.random() < 0.1 and t.dim() >= 1:
        target = rng.choice([f"{name}.view(-1)", f"{name}.transpose(0, -1)", f"{name}.detach()", f"{name}.data"])
    text = rng.choice([f"{target}.mul_({other})", f"{target}.add_({other})", f"{target}.sub_({scalar(rng)})",
                       f"{target}.zero_()", f"{target}.fill_(0.5)", f"{target}.copy_({other if other[0] == 't' else name})",
                       f"{target}.relu_()", f"{target}.sin_()", f"{target}.clamp_(-1, 1)", f"{target}.exp_()",
                       f"{target}.div_(2)", f"{target}.masked_fill_({target} > 0, 0.5)", f"{target}.tanh_()",
                       f"{target}.neg_()", f"F.relu({target}, inplace=True)", f"{target}.sigmoid_()",
                       f"F.dropout({target}, 0.5, True, True)", f"{target}.index_fill_(0, torch.tensor([0]), 2)",
                       f"{target}.unsqueeze_(0)", f"{target}.t_()", f"{target}.squeeze_()", f"{target}.pow_(2)",
                       f"{target}.index_add_(0, torch.tensor([0]), {target}[:1])", f"{target}.lerp_({name}, 0.5)",
                       f"{target}.normal_()", f"{target}.uniform_()", f"{target}.sqrt_()", f"{target}.cumsum_(0)"])
    if rng.random() < 0.4:
        value = other if rng.random() < 0.5 else scalar(rng)
        text = f"{name}[{index(d, name)}] = {value}"
        if rng.random() < 0.3:
            text = f"{name}[{index(d, name)}] {rng.choice(['+=', '*='])} {value}"
    d.add(text)


def product(d):
    name = d.tensor(lambda t: t.dim() >= 1 and is_float(t))
    if name is None:
        return
    t, rng = d.scope[name], d.rng
    other = d.tensor(lambda u: u.dtype == t.dtype and u.dim() >= 1 and (
        u.shape[-2 if u.dim() > 1 else 0] == t.shape[-1])) or name
    text = rng.choice([f"{name} @ {other}", f"torch.matmul({name}, {name}.mT)", f"F.linear({name}, {name}.detach())",
                       f"torch.einsum('...i,...i->...', {name}, {name})", f"torch.outer({name}, {name})",
                       f"F.linear({name}, {other}.mT)", f"{name}.mv({name}[0])", f"torch.tensordot({name}, {other}, 1)"])
    d.add(f"{d.new()} = {text}")


def joining(d):
    name = d.tensor()
    a, rng, t = dim_of(d, name), d.rng, d.scope[name]
    other = d.tensor(lambda u: u.dim() == t.dim()) or name
    text = rng.choice([f"torch.cat([{name}, {other}], {a})", f"torch.stack([{name}, {other}], {a})",
                       f"torch.cat([{name}.mT, {name}.mT], {a})", f"torch.gather({name}, 0, torch.zeros_like({name}).long())",
                       f"{name}.index_select({a}, torch.tensor([0, 0]))", f"torch.zeros_like({name})", f"F.one_hot({name})",
                       f"F.pad({name}, (1, 2))", f"torch.where({name} > 0, {name}, 0.)", f"torch.full_like({name}, 2)",
                       f"{name}.masked_select({name} > 0)", f"torch.hstack([{name}, {other}])", f"{name}.clone()",
                       f"torch.scatter({name}, 0, torch.zeros_like({name}).long(), {name})", f"torch.empty_like({name}).copy_({name})",
                       f"torch.broadcast_tensors({name}, {other})[0]", f"torch.meshgrid({name}, {name}, indexing='ij')[0]",
                       f"torch.tensor({name}.tolist())", f"{name}.new_zeros(2)", f"{name}.to(torch.float64)", f"{name}.type_as({other})",
                       f"torch.bucketize({name}, torch.tensor([-1., 0., 1.]))", f"torch.rand_like({name})", "torch.randperm(3)"])
    d.add(f"{d.new()} = {text}")


def layer(d):
    name = d.tensor(lambda t: t.dim() >= 1 and is_float(t))
    if name is None:
        return
    t, rng = d.scope[name], d.rng
    n = t.shape[-1]
    text = rng.choice([f"F.layer_norm({name}, ({n},))", f"F.gelu({name})", f"F.softmax({name}, -1)", f"F.dropout({name}, 0.5)",
                       f"nn.Linear({n}, 3)({name})", f"nn.Linear({n}, 2).to({name}.dtype)({name})", f"F.silu({name})",
                       f"F.normalize({name}, dim=-1)", f"F.leaky_relu({name})", f"F.elu({name})", f"F.softplus({name})",
                       f"nn.BatchNorm1d({n}).to({name}.dtype)({name})", f"nn.Sequential(nn.Linear({n}, 2), nn.ReLU(inplace=True))({name})",
                       f"F.cross_entropy({name}, {name}.argmax(-1).detach())", f"nn.GRU({n}, 2)({name})[0]",
                       f"F.max_pool1d({name}, 2)", f"F.avg_pool1d({name}, 2)", f"F.conv1d({name}, {name}.detach())",
                       f"F.rms_norm({name}, ({n},))", f"F.binary_cross_entropy_with_logits({name}, {name}.detach().sigmoid())",
                       f"F.scaled_dot_product_attention({name}, {name}, {name})", f"F.hardtanh({name})", f"F.glu({name}, -1)",
                       f"F.adaptive_avg_pool1d({name}, 2)", f"F.huber_loss({name}, {name} * 0.5)", f"F.interpolate({name}, scale_factor=2)",
                       f"nn.MultiheadAttention({n}, 1).to({name}.dtype)({name}, {name}, {name})[0]", f"F.group_norm({name}, 1)",
                       f"F.nll_loss(F.log_softmax({name}, -1), torch.zeros({name}.shape[0]).long())", f"F.instance_norm({name})",
                       f"nn.Embedding(3, 2)({name}.long().clamp(0, 2))", f"F.kl_div({name}, {name}.detach().exp())", f"F.prelu({name}, {name}.detach().flatten()[:1])"])
    d.add(f"{d.new()} = {text}")


def graph(d):
    """What programs do to the graph itself."""
    name, rng = d.tensor(is_float), d.rng
    if name is None:
        return
    leaf_name = d.tensor(lambda t: t.requires_grad and t.is_leaf) or name
    d.add(rng.choice([
        f"{name}.retain_grad()", f"{name}.register_hook(lambda g: g * 2)",
        f"{name}.detach_()", f"{name}.sum().backward(retain_graph=True)", f"{leaf_name}.grad = None",
        f"{d.new()} = torch.autograd.grad({name}.sum(), {leaf_name}, create_graph=True, retain_graph=True)[0]",
        f"{d.new()} = torch.autograd.grad(({name} * {name}).sum(), {leaf_name}, retain_graph=True, allow_unused=True)[0]",
        f"{name}.requires_grad_(False)", f"{d.new()} = {leaf_name}.grad", f"{leaf_name}.grad.zero_()",
        f"{leaf_name}.data.add_(1)", f"torch.optim.SGD([{leaf_name}], lr=0.1).step()",
        f"torch.optim.Adam([{leaf_name}]).step()", f"nn.utils.clip_grad_norm_([{leaf_name}], 0.1)"]))


STEPS = (view, unary, binary, reduction, write, product, joining, layer, graph, leaf)
WEIGHTS = (5, 3, 5, 2, 6, 1, 2, 2, 2, 1)


def ending(d):
    """A backward pass from everything that has a graph."""
    roots = d.names(lambda t: t.requires_grad and is_float(t) and not t.is_leaf)
    for name in roots[-3:]:
        d.add(f"({name}.double() * torch.arange(1., 1. + {name}.numel()).view({name}.shape)).sum().backward(retain_graph=True)")


# ---- comparing ---------------------------------------------------------------------------------------------
def facts(t):
    """What can be compared of a tensor but its values."""
    return dict(dtype=str(t.dtype).partition(".")[2], shape=tuple(t.shape), requires_grad=t.requires_grad,
                contiguous=t.is_contiguous(), leaf=t.is_leaf)


def values(t):
    t = t.detach()
    return np.asarray((t.double() if t.dtype.is_floating_point else t).tolist(), dtype=float)


def differ(a, b, tolerance):
    """How minitorch's tensor `b` differs from PyTorch's `a`; None if it does not."""
    theirs, ours = facts(a), facts(b)
    for key in theirs:
        if theirs[key] != ours[key]:
            return f"{key} is {theirs[key]}, got {ours[key]}"
    x, y = values(a), values(b)
    if x.size:
        finite = np.isfinite(x)
        scale = max(1.0, np.abs(x[finite]).max(initial=0.0))
        limit = tolerance * scale if is_float(a) else 0
        same = np.where(finite & np.isfinite(y), np.abs(np.where(finite, x, 0) - np.where(np.isfinite(y), y, 0)) <= limit,
                        (np.isnan(x) & np.isnan(y)) | (x == y))
        if not same.all():
            return f"values are {x.ravel()[:6]}, got {y.ravel()[:6]}"
    return None


def compare(lines):
    """(line, how it differs) of the first line after which the libraries disagree; None if they never do."""
    theirs, ours = scope_of(torch), scope_of(minitorch)
    tolerance = max(TOLERANCE[dtype] for dtype in FLOATS if dtype == "float32" or any(
        dtype in line or f".{SHORT.get(dtype)}()" in line for line in lines))     # of the coarsest type that takes part
    for line in lines:
        errors = []
        for scope in (theirs, ours):
            try:
                run_line(line, scope)
                errors.append(None)
            except Exception as error:
                errors.append(error)
        a, b = errors
        if (a is None) != (b is None):
            shown = a if b is None else b
            words = str(shown).partition("\n")[0][:150]
            return line, f"{'PyTorch' if b is None else 'minitorch'} raises {type(shown).__name__}: {words}"
        for name in [k for k in theirs if k[0] == "t" and k[1:].isdigit()]:
            if (theirs[name] is None) != (ours.get(name) is None):
                return line, f"{name} is {theirs[name]}, got {ours.get(name)}"
            if theirs[name] is None:
                continue
            found = differ(theirs[name], ours[name], tolerance)
            if found:
                return line, f"{name}: {found}"
            for library_grad in [(theirs[name].grad, ours[name].grad)] if theirs[name].is_leaf else []:
                g, h = library_grad
                if (g is None) != (h is None):
                    return line, f"{name}.grad is {'None' if g is None else 'there'}, got {'None' if h is None else 'one'}"
                found = g is not None and differ(g, h, tolerance)
                if found:
                    return line, f"{name}.grad: {found}"
    return None


def shortened(lines):
    """The program without the lines that the difference does not need."""
    found = compare(lines)
    i = len(lines) - 1
    while i >= 0:
        shorter = lines[:i] + lines[i + 1:]
        again = compare_quietly(shorter)
        if again and kind(again) == kind(found):
            lines = shorter
        i -= 1
    return lines, compare(lines)


def compare_quietly(lines):
    try:
        return compare(lines)
    except Exception:
        return None


def kind(found):
    words = found[1]
    return words.partition(" raises ")[2][:25] or words.partition(": ")[2].partition(" is ")[0] or words[-20:]


# Differences that are meant: the words of a line, or of the difference, and the reason.
MEANT: list = []


def is_meant(line, words):
    return any(in_line in line and in_words in words for in_line, in_words, _ in MEANT)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    shown, differences, meant = {}, 0, 0
    for i in range(options.programs):
        lines = draw(options.seed * 1_000_000 + i)
        found = compare(lines)
        if found is None:
            continue
        lines, found = shortened(lines)
        if is_meant(*found):
            meant += 1
            continue
        differences += 1
        key = kind(found)
        if shown.setdefault(key, 0) < 3 and sum(shown.values()) < options.show:
            print(f"--- program {i}: {found[1]}\n    " + "\n    ".join(lines), flush=True)
        shown[key] += 1
    print(f"{options.programs} programs, {differences} differ, {meant} differ as they are meant to: {shown}")


if __name__ == "__main__":
    main()
