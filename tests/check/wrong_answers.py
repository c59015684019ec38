"""A hundred wrong answers to the exercises of the lessons, as students write them: none is copied from a check.

Pairs of an exercise's name and a function. In `TWO`, two things are wrong at once.
"""

import math

import numpy as np

import minitorch as torch
from minitorch import check, nn
from minitorch.nn import functional as F

ONE: list = []
TWO: list = []


def wrong(name, two=False):
    """Keep a function or class as a wrong answer."""
    def keep(function):
        (TWO if two else ONE).append((name, function))
        return function
    return keep


def answers(kept, **functions):
    """Wrong answers of one line: ``nb01_central=f``."""
    kept.extend((name.replace("_", ".", 1), function) for name, function in functions.items())


# ---- 1 to 4
answers(ONE,
        nb01_central=lambda f, x, h: f(x + h) - f(x - h) / 2 * h,
        nb01_best_step=lambda eps: 1e-8,
        nb02_tanh=lambda g, x, y: g * 1 / math.cosh(x),
        nb02_power=lambda g, x, n: g * (n - 1) * x ** n,
        nb02_div=lambda g, a, b: (g / b, -g / b ** 2),
        nb03_strides=lambda shape: tuple(math.prod(shape[:i]) for i in range(len(shape), 0, -1)),
        nb03_diagonal=lambda x: x[torch.arange(min(x.shape)), torch.arange(min(x.shape))],
        nb03_windows=lambda x, k: x.unfold(0, k, k),
        nb03_repair=lambda x: (x.exp() * x.exp()).sum() + 1,
        nb04_logsumexp=lambda g, x, y: g * x.softmax(1),
        nb04_variance=lambda g, x, y: g.unsqueeze(1) * 2 * (x - x.mean(1, keepdim=True)) / len(x),
        nb04_gather=lambda g, index, n: F.one_hot(index, n).double().sum(0),
        nb04_cumprod=lambda g, x, y: (g * y).sum() / x,
        nb04_strategy=lambda rng, n: [rng.randrange(n) for _ in range(n)])
answers(ONE, nb01_central=lambda f, x, h: (f(x + h) - f(x)) / (2 * h),
        nb02_tanh=lambda g, x, y: g * (1 - math.tanh(x)),
        nb03_views=lambda key: check.nb03.SHARES[key] or "flip" in key,
        nb04_suspects=lambda letter: {**check.nb04.BUGS, "B": "right"}[letter])
answers(TWO, nb02_tanh=lambda g, x, y: y * y - 1, nb02_power=lambda g, x, n: x ** n,
        nb02_div=lambda g, a, b: (g * b, g * a / b ** 2),
        nb04_logsumexp=lambda g, x, y: x.exp(),
        nb04_variance=lambda g, x, y: 2 * (x - x.mean()) / (x.shape[1] - 1),
        nb03_views=lambda key: {**check.nb03.SHARES, "x.flip(0)": True, "x.contiguous()": False}[key])


@wrong("nb01.catch")
def random_points(f, df):
    rng = np.random.default_rng(0)
    return all(math.isclose(df(x), (f(x + 1e-6) - f(x - 1e-6)) / 2e-6, rel_tol=1e-3)
               for x in [0.0, *rng.uniform(0, 3, 20)])


@wrong("nb01.catch", two=True)
def few_and_absolute(f, df):
    return all(abs(df(x) - (f(x + 1e-4) - f(x - 1e-4)) / 2e-4) < 1e-2 for x in (0.25, 0.5, 0.75))


class Dual(check.nb01.dual._truth):
    pass


@wrong("nb01.dual")
class LosesSecond(Dual):
    def __mul__(self, other):
        return self.new(self.value * other.value, self.slope * other.value)


@wrong("nb01.dual", two=True)
class ProductAndQuotient(Dual):
    def __mul__(self, other):
        return self.new(self.value * other.value, self.slope * other.slope)

    def __truediv__(self, other):
        return self.new(self.value / other.value, (self.slope * other.value - self.value * other.slope) / other.value)


@wrong("nb02.send")
def replaces(node):
    for i, parent in enumerate(node.parents):
        parent.grad = node.pulls[i](node.grad)


@wrong("nb02.send", two=True)
def first_and_replaced(node):
    node.parents[0].grad = node.pulls[0](node.grad)


@wrong("nb02.order")
def children_only(root):
    found, todo = [], [root]
    while todo:
        node = todo.pop(0)
        if node not in found:
            found.append(node)
            todo += list(node.parents)
    return found


@wrong("nb02.order")
def forgets_to_reverse(root):
    done = []

    def go(node):
        for parent in node.parents:
            if parent not in done:
                go(parent)
        done.append(node)
    go(root)
    return done


@wrong("nb03.unbroadcast")
def aligned_left(grad, shape):
    for axis in range(len(shape)):
        if grad.shape[axis] != shape[axis]:
            grad = grad.sum(axis, keepdim=True)
    return grad


@wrong("nb03.unbroadcast", two=True)
def means_and_no_ones(grad, shape):
    for _ in range(grad.ndim - len(shape)):
        grad = grad.mean(0)
    return grad


# ---- 5
@wrong("nb05.linear")
class Plain(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = torch.randn(outputs, inputs)
        self.bias = torch.zeros(outputs)

    def forward(self, x):
        return x @ self.weight.T + self.bias


@wrong("nb05.linear")
class WeightFirst(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, x):
        return self.weight @ x + self.bias


@wrong("nb05.linear")
class NoBias(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs) / inputs ** 0.5)

    def forward(self, x):
        return F.linear(x, self.weight)


@wrong("nb05.linear", two=True)
class PlainBiasSubtracted(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outputs, inputs))
        self.bias = torch.zeros(outputs)

    def forward(self, x):
        return x @ self.weight.T - self.bias


@wrong("nb05.parameters")
def no_memory(module, prefix=""):
    names = [prefix + name for name, p in module._parameters.items() if p is not None]
    for child_name, child in module._modules.items():
        names.extend(no_memory(child, prefix + child_name + "."))
    return names


@wrong("nb05.parameters")
def of_the_state(module):
    return list(module.state_dict())


answers(ONE, nb05_cross_entropy=lambda z, t: (z.logsumexp(1) - z[:, t]).mean(),
        nb05_evaluate=lambda model, x, y: (model(x).argmax(1) == y).float().mean().item())
answers(ONE, nb05_cross_entropy=lambda z, t: -torch.log(F.softmax(z, dim=1)[range(len(t)), t]).mean())
answers(TWO, nb05_cross_entropy=lambda z, t: -z.log_softmax(0)[torch.arange(len(t)), t].sum())


@wrong("nb05.train")
def loss_outside(model, optimizer, x, y, steps):
    loss = F.mse_loss(model(x).squeeze(1), y)
    for _ in range(steps):
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@wrong("nb05.train")
def cleared_too_late(model, optimizer, x, y, steps):
    for _ in range(steps):
        F.mse_loss(model(x).squeeze(1), y).backward()
        optimizer.zero_grad()
        optimizer.step()


@wrong("nb05.train", two=True)
def the_loop_of_the_text(model, optimizer, x, y, steps):
    for _ in range(steps):
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()


@wrong("nb05.evaluate")
def over_samples(model, x, y):
    before = model.training
    model.eval()
    with torch.no_grad():
        right = (model(x).argmax(0) == y).float().mean().item()
    model.train(before)
    return right


@wrong("nb05.evaluate", two=True)
def counts_and_stays(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).sum().item()


# ---- 6
answers(ONE, nb06_momentum=lambda p, g, v, lr, mu: (p - (mu * v + lr * g), mu * v + lr * g),
        nb06_bias=lambda beta, t: (1 - beta) * t,
        nb06_adamw=lambda p, g, m, v, t, lr, b1, b2, eps, wd: check.nb06.adam_step(p, g + wd * p, m, v, t, lr, b1, b2,
                                                                                   eps),
        nb06_clip=lambda grads, limit: [g * limit / sum((h * h).sum() for h in grads).sqrt() for g in grads],
        nb06_cosine=lambda step, warmup, total, lr: lr * step / warmup if step < warmup else lr * 0.5 * (
            1 + math.cos(math.pi * (step - warmup) / (total - warmup))))
answers(ONE, nb06_momentum=lambda p, g, v, lr, mu: (p - lr * (mu * v + (1 - mu) * g), mu * v + (1 - mu) * g),
        nb06_clip=lambda grads, limit: [torch.clamp(g, -limit, limit) for g in grads])
answers(TWO, nb06_momentum=lambda p, g, v, lr, mu: (p + lr * (mu * v + (1 - mu) * g), mu * v + (1 - mu) * g),
        nb06_cosine=lambda step, warmup, total, lr: lr * step / warmup if step < warmup else lr * math.cos(
            math.pi / 2 * (step - warmup) / (total - warmup)))


@wrong("nb06.rmsprop")
def root_inside(p, g, v, lr, alpha, eps):
    v = alpha * v + (1 - alpha) * g ** 2
    return p - lr * g / torch.sqrt(v + eps), v


@wrong("nb06.rmsprop", two=True)
def no_root_and_sum(p, g, v, lr, alpha, eps):
    v = v + g ** 2
    return p - lr * g / (v + eps), v


@wrong("nb06.adam")
def forgets_corrections(p, g, m, v, t, lr, b1, b2, eps):
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g ** 2
    return p - lr * m / (torch.sqrt(v) + eps), m, v


@wrong("nb06.adam", two=True)
def uncorrected_and_absolute(p, g, m, v, t, lr, b1, b2, eps):
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g.abs()
    return p - lr * m / (torch.sqrt(v) + eps), m, v


# ---- 7
answers(ONE, nb07_scale=lambda fan_in, slope: (2 / fan_in) ** 0.5, nb07_dead=lambda h: (h.sum(0) == 0).sum().item(),
        nb07_batch_norm_pull=lambda g, xhat, std: (g - g.mean(0)) / std,
        nb07_rms_norm=lambda x, weight, eps: F.layer_norm(x, x.shape[-1:], weight, None, eps))
answers(TWO, nb07_scale=lambda fan_in, slope: 2 / fan_in,
        nb07_rms_norm=lambda x, weight, eps: x / (x * x).mean(-1).sqrt(),
        nb07_dead=lambda h: (h == 0).all(1).double().sum())


@wrong("nb07.batch_norm")
def one_variance(x, mean, var, momentum, eps):
    m, v = x.mean(0), x.var(0)
    return (x - m) / torch.sqrt(v + eps), (1 - momentum) * mean + momentum * m, (1 - momentum) * var + momentum * v


@wrong("nb07.batch_norm", two=True)
def one_variance_the_other_momentum(x, mean, var, momentum, eps):
    m, v = x.mean(0), x.var(0)
    return (x - m) / torch.sqrt(v + eps), momentum * mean + (1 - momentum) * m, momentum * var + (1 - momentum) * v


# ---- 8
answers(ONE, nb08_out_size=lambda n, k, s, p, d: (n + p - d * (k - 1) - 1) // s + 1,
        nb08_im2col=lambda x, k: F.unfold(x[None], k)[0].T,
        nb08_conv_loops=lambda x, w: F.conv2d(x[None, None], w.flip(0, 1)[None, None])[0, 0],
        nb08_conv_fft=lambda x, w: torch.fft.irfft2(torch.fft.rfft2(x) * torch.fft.rfft2(w, s=x.shape), s=x.shape)[
            w.shape[0] - 1:, w.shape[1] - 1:],
        nb08_is_adjoint=lambda A, B, n, m: bool(torch.allclose(B(A(torch.ones(n).double())), torch.ones(n).double())),
        nb08_conv_transpose=lambda y, w, stride: F.conv_transpose2d(y[None, None], w.flip(0, 1)[None, None],
                                                                    stride=stride)[0, 0],
        nb08_receptive=lambda layers: 1 + sum(k - 1 for k, _ in layers))
answers(TWO, nb08_conv_fft=lambda x, w: torch.fft.irfft2(torch.fft.rfft2(x) * torch.fft.rfft2(w, s=x.shape), s=x.shape),
        nb08_receptive=lambda layers: sum(k - 1 for k, _ in layers))

# ---- 9
answers(ONE, nb09_bigram=lambda counts: counts / counts.sum(1, keepdim=True),
        nb09_perplexity=lambda losses: 2 ** losses.mean(), nb09_causal=lambda n: torch.triu(torch.ones(n, n)) == 1,
        nb09_attention=lambda q, k, v, mask: (q @ k.T / q.shape[-1] ** 0.5).masked_fill(~mask, -math.inf).softmax(
            -1) @ v,
        nb09_heads=lambda x, n: x.view(n, x.shape[0], -1),
        nb09_top_k=lambda logits, k, temperature: torch.where(logits >= logits.topk(k).values[-1],
                                                              F.softmax(logits / temperature, -1), 0.0),
        nb09_cached=lambda q, k, v, keys, values: (F.softmax(keys @ q / q.numel() ** 0.5, 0) @ values,
                                                   torch.cat([keys, k[None]]), torch.cat([values, v[None]])))
answers(ONE, nb09_attention=lambda q, k, v, mask: F.softmax(q @ k.mT / q.shape[-1] ** 0.5, -1) * mask @ v)
answers(TWO, nb09_attention=lambda q, k, v, mask: (q @ k.mT).softmax(-1) @ v, nb09_bigram=lambda n: n / n.sum(0),
        nb09_causal=lambda n: torch.ones(n, n).triu(),
        nb09_cached=lambda q, k, v, keys, values: (F.softmax(keys @ q, 0) @ values, keys, values))

# ---- 10
answers(ONE, nb10_reparameterise=lambda mean, logvar, noise: mean + logvar.exp() * noise,
        nb10_kl=lambda mean, logvar: -0.5 * (1 + logvar - mean ** 2 - logvar.exp()).mean(1),
        nb10_adds_up=lambda beta, kept: bool((kept + (1 - kept) == 1).all()),
        nb10_noisy=lambda x0, t, kept, noise: kept[t, None] * x0 + (1 - kept[t, None]) * noise,
        nb10_ddpm_step=lambda x, eps, t, beta, kept, noise: (x - beta[t] / (1 - kept[t]).sqrt() * eps) / (
            1 - beta[t]).sqrt() + beta[t].sqrt() * noise,
        nb10_ddim_step=lambda x, eps, now, then: (x - math.sqrt(1 - now) * eps) / math.sqrt(now))
answers(TWO, nb10_kl=lambda mean, logvar: (mean ** 2 + logvar.exp() - 1 - logvar).mean(1),
        nb10_ddpm_step=lambda x, eps, t, beta, kept, noise: (x - beta[t] / (1 - kept[t]) * eps) / (
            1 - beta[t]).sqrt() + beta[t].sqrt() * noise)

# ---- 11
answers(ONE, nb11_softplus=lambda x: torch.log1p(torch.exp(x)), nb11_log1mexp=lambda x: torch.log1p(-torch.exp(-x)),
        nb11_variance=lambda x: x.var(), nb11_bfloat16=lambda bits: (bits + 0x8000) >> 16,
        nb11_loss_scale=lambda largest: 65504.0 / largest, nb11_kahan=sum)
answers(TWO, nb11_variance=lambda x: ((x - x.mean()) ** 2).sum().sqrt())

# ---- 12: the text of kernels
answers(ONE, nb12_axpy="""extern "C" __global__ void axpy(float* y, const float* x, float a, int n) {
    int i = threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}""", nb12_scatter_add="""extern "C" __global__ void scatter_add(float* out, const float* x, const int* index, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i < n) out[index[i]] = out[index[i]] + x[i];
}""")

# ---- 13 to 18
answers(ONE, nb13_peak_bytes=lambda events: sum(e for e in events if e > 0), nb13_stored=lambda n, k: n // k + k,
        nb13_accumulate=lambda grads, sizes: sum(grads) / len(sizes), nb13_ring=lambda rank, step, world: rank,
        nb13_step_time=lambda compute, exchange: sum(compute) / len(compute) + exchange,
        nb13_finishes=lambda programs: sum(op == "send" for p in programs for op, _ in p) == sum(
            op == "receive" for p in programs for op, _ in p),
        nb15_sum_pull=lambda g, shape, axis: torch.ones(shape).double() * g,
        nb23_first_loss=lambda counts: -math.log(1 / len(counts)),
        nb23_update_ratio=lambda a, b: ((a - b).norm() / b.norm()).item(),
        nb23_dead=lambda h: 1 - (h != 0).double().mean().item(),
        nb23_first_bad=lambda values: next((n for n, x in values if x.isnan().sum() > 0), None),
        nb16_without_prefix=lambda state, prefix: {k.lstrip(prefix): v for k, v in state.items()},
        nb16_differing=lambda a, b: sorted(k for k in a if k not in b or not torch.equal(a[k], b[k])),
        nb17_per_sample=lambda loss, w, x, y: torch.func.grad(
            lambda w: torch.vmap(loss, (None, 0, 0))(w, x, y).sum())(w),
        nb17_hvp=lambda f, x, v: torch.func.hessian(f)(x) @ v,
        nb17_jacobian=lambda push, pull, n, m: torch.stack([pull(e) for e in torch.eye(m, dtype=torch.float64)]),
        nb18_passes=lambda statements: {name: i for i, (name, _, _) in enumerate(statements)})
answers(TWO, nb13_stored=lambda n, k: n // k, nb13_step_time=lambda compute, exchange: sum(compute),
        nb13_accumulate=lambda grads, sizes: sum(g / n for g, n in zip(grads, sizes)) / len(grads))

# ---- 19 to 25
answers(ONE, nb19_bits=lambda losses, characters: losses.mean().item() / math.log(2),
        nb19_windows=lambda codes, k: (codes.unfold(0, k, 1), codes[k:]),
        nb19_forward=lambda x, e, w1, b1, w2, b2: torch.softmax(torch.tanh(e[x].flatten(1) @ w1 + b1) @ w2 + b2, dim=1),
        nb19_nearest=lambda e, i: int((e @ e[i]).index_fill(0, torch.tensor([i]), -1e9).argmax()),
        nb20_loss_pull=lambda z, y: torch.softmax(z, 1) - F.one_hot(y, z.shape[1]),
        nb20_linear_pull=lambda g, x, w: (g @ w.T, x.T @ g, g.mean(0)),
        nb20_lookup_pull=lambda g, x, n: torch.zeros(n, g.shape[-1]).double().index_put_((x,), g),
        nb21_best_pair=lambda words: max(sorted({p for t, _ in words for p in zip(t, t[1:])}), key=lambda p: sum(
            list(zip(t, t[1:])).count(p) for t, _ in words)),
        nb21_residual=lambda x, f, norm: norm(x + f(x)),
        nb21_choose=lambda logits, t, k, u: int(logits.argmax()),
        nb22_split=lambda writers, held_out: (writers != held_out[0], writers == held_out[0]),
        nb22_interval=lambda right, n, z=1.96: (right / n - z * math.sqrt(right / n * (1 - right / n) / n),
                                                right / n + z * math.sqrt(right / n * (1 - right / n) / n)),
        nb22_prepare=lambda p: (p - p.mean(0)) / (p.max(0).values - p.min(0).values) * 20 + 13.5,
        nb24_batches=lambda order, size, drop_last=False: [order[i:i + size] for i in range(0, len(order), size)],
        nb24_standardise=lambda a, b: ((a - a.mean(0)) / a.std(0), (b - a.mean(0)) / a.std(0)),
        nb24_shift=lambda x, down, right: x.roll((down, right), (2, 3)),
        nb24_weights=lambda labels, classes: 1 / torch.bincount(labels)[labels].double(),
        nb25_quantise=lambda w: ((w / (w.abs().max(1, keepdim=True).values / 127)).to(torch.int8),
                                 w.abs().max(1, keepdim=True).values / 127),
        nb25_groups=lambda body, head, lr: [{"params": body.parameters(), "lr": lr},
                                            {"params": head.parameters(), "lr": lr}],
        nb25_load_fitting=lambda model, state: model.load_state_dict(state) and [],
        nb23_first_loss=lambda counts: math.log(len(counts)), nb23_dead=lambda h: (h == 0).float().mean().item())
answers(TWO, nb20_loss_pull=lambda z, y: F.one_hot(y, z.shape[1]) - torch.softmax(z, 1),
        nb20_linear_pull=lambda g, x, w: (g @ w.T, g.T @ x, g.mean(0)),
        nb24_standardise=lambda a, b: ((a - a.mean(0)) / a.std(0), (b - b.mean(0)) / b.std(0)))


@wrong("nb14.tests")
def looks_at_values(torch):
    assert torch.relu(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]
    assert abs(torch.softmax(torch.tensor([[1000.0, 0.0]]), 1)[0, 0].item() - 1) < 1e-6
    assert torch.mean(torch.tensor([[1.0, 3.0]]), 1).tolist() == [2]


@wrong("nb15.sgd_step")
def names_only(parameters, lr):
    for p in parameters:
        if p.grad is not None:
            p = p - lr * p.grad


@wrong("nb15.sgd_step", two=True)
def uphill_without_rate(parameters, lr):
    with torch.no_grad():
        for p in parameters:
            if p.grad is not None:
                p += p.grad


@wrong("nb18.spell")
def bare(node):
    if not isinstance(node, tuple):
        return f"{node}f" if isinstance(node, float) else node
    op, a, b = node
    return f"{bare(a)} {check.nb18.SIGNS[op]} {bare(b)}"


@wrong("nb18.spell", two=True)
def bare_doubles(node):
    if not isinstance(node, tuple):
        return str(node)
    op, a, b = node
    return f"{bare_doubles(a)} {check.nb18.SIGNS[op]} {bare_doubles(b)}"
