"""Unusual right answers to the exercises of lessons 1 to 7, and how all of them are kept (test_solutions.py)."""

import math

import numpy as np

import minitorch as torch
from minitorch import nn
from minitorch.nn import functional as F

SOLUTIONS: dict = {}


def solves(*names):
    """Keep a function or a class as an answer to these exercises."""
    def keep(function):
        for name in names:
            SOLUTIONS.setdefault(name, []).append(function)
        return function
    return keep


def also(**functions):
    """One-liners: nb01_central=function."""
    for name, function in functions.items():
        lesson, exercise = name.split("_", 1)
        SOLUTIONS.setdefault(f"{lesson}.{exercise}", []).append(function)


# 1
also(nb01_central=lambda f, x, h: ((f(x + h) - f(x)) / h + (f(x) - f(x - h)) / h) / 2,
     nb01_best_step=lambda eps: (3 * eps) ** (1 / 3))
also(nb01_central=lambda f, x, h: np.gradient([f(x - h), f(x), f(x + h)], h)[1],
     nb01_best_step=lambda eps: 2 ** round(math.log2(eps) / 3))


@solves("nb01.dual")
class AsMatrix:
    """A dual number is the matrix [[v, s], [0, v]]."""

    def __init__(self, value, slope=0.0):
        self.m = np.array([[value, slope], [0, value]])

    value = property(lambda self: self.m[0, 0])
    slope = property(lambda self: self.m[0, 1])

    def of(self, m):
        return AsMatrix(m[0, 0], m[0, 1])

    def __mul__(self, other):
        return self.of(self.m @ other.m)

    def __truediv__(self, other):
        return self.of(self.m @ np.linalg.inv(other.m))

    def __pow__(self, n):
        return self.of(np.linalg.matrix_power(self.m, n))

    def exp(self):
        return self.of(sum(np.linalg.matrix_power(self.m, k) / math.factorial(k) for k in range(40)))

    def sin(self):
        return self.of(sum((-1) ** k * np.linalg.matrix_power(self.m, 2 * k + 1) / math.factorial(2 * k + 1)
                           for k in range(20)))


@solves("nb01.dual")
class ByComplexStep:
    """A slope as the imaginary part of a very small step."""

    def __init__(self, value, slope=0.0):
        self.z = complex(value, slope * 1e-30)

    value = property(lambda self: self.z.real)
    slope = property(lambda self: self.z.imag / 1e-30)

    def of(self, z):
        made = ByComplexStep(0)
        made.z = complex(z)
        return made

    def __mul__(self, other):
        return self.of(self.z * other.z)

    def __truediv__(self, other):
        return self.of(self.z / other.z)

    def __pow__(self, n):
        return self.of(self.z ** n)

    def exp(self):
        return self.of(np.exp(self.z))

    def sin(self):
        return self.of(np.sin(self.z))


@solves("nb01.catch")
def richardson(f, df):
    h = 1e-3
    for x in np.linspace(-3, 3, 101):
        slope = (8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h)
        if not math.isclose(slope, df(x), rel_tol=1e-3, abs_tol=1e-5):
            return 0
    return 1


@solves("nb01.catch")
def by_integral(f, df):
    """df is right if its integral over every small piece is the difference of f."""
    edges = np.linspace(-3, 3, 241)
    for a, b in zip(edges, edges[1:]):
        simpson = (df(a) + 4 * df((a + b) / 2) + df(b)) * (b - a) / 6
        if abs(simpson - (f(b) - f(a))) > 1e-4 * max(abs(simpson), abs(f(b) - f(a))) + 1e-7:
            return False
    return True


# 2
@solves("nb02.send")
def send_by_index(node):
    for i in range(len(node.parents) - 1, -1, -1):
        node.parents[i].grad = node.parents[i].grad + node.pulls[i](node.grad)


@solves("nb02.send")
def send_collected(node):
    total = {}
    for parent, pull in zip(node.parents, node.pulls):
        total[id(parent)] = total.get(id(parent), 0) + pull(node.grad)
    for parent in {id(p): p for p in node.parents}.values():
        parent.grad += total[id(parent)]


@solves("nb02.order")
def by_counting(root):
    """Kahn's algorithm, without recursion."""
    users, stack, seen = {}, [root], {root}
    while stack:
        for parent in stack.pop().parents:
            users[parent] = users.get(parent, 0) + 1
            if parent not in seen:
                seen.add(parent)
                stack.append(parent)
    found, ready = [], [root]
    while ready:
        node = ready.pop()
        found.append(node)
        for parent in node.parents:
            users[parent] -= 1
            if not users[parent]:
                ready.append(parent)
    return found


@solves("nb02.order")
def by_depth(root):
    """By the longest way from the root."""
    depth = {root: 0}

    def go(node):
        for parent in node.parents:
            if depth.get(parent, -1) < depth[node] + 1:
                depth[parent] = depth[node] + 1
                go(parent)
    go(root)
    return tuple(sorted(depth, key=depth.get))


also(nb02_tanh=lambda g, x, y: g / math.cosh(x) ** 2, nb02_div=lambda g, a, b: [g / b, -(g / b) * (a / b)],
     nb02_power=lambda g, x, n: g * n * x ** n / x)
also(nb02_tanh=lambda g, x, y: g * (1 - y) * (1 + y), nb02_div=lambda g, a, b: (g * b ** -1, g * a * -b ** -2),
     nb02_power=lambda g, x, n: g * n * math.exp((n - 1) * math.log(x)))

# 3
also(nb03_strides=lambda shape: tuple(s // 8 for s in np.empty(shape).strides),
     nb03_diagonal=lambda x: x.diagonal(),
     nb03_windows=lambda x, k: x.unfold(0, k, 1),
     nb03_views=lambda key: key not in ("x[[0, 2]]", "x[x > 5]", "x.T.reshape(12)", "x.flip(0)", "x.T.contiguous()",
                                        "x + 0"),
     nb03_unbroadcast=lambda grad, shape: grad.sum_to_size(shape),
     nb03_repair=lambda x: (x.exp() ** 2 + x.exp()).sum())
also(nb03_strides=lambda shape: torch.empty(shape).stride(),
     nb03_diagonal=lambda x: torch.diagonal(x),
     nb03_windows=lambda x, k: x.as_strided((k, len(x) - k + 1), (x.stride(0),) * 2).T,
     nb03_views={"x.T": 1, "x[1:]": 1, "x[::2]": 1, "x[[0, 2]]": 0, "x[x > 5]": 0, "x.reshape(4, 3)": 1,
                 "x.T.reshape(12)": 0, "x.flip(0)": 0, "x[0].expand(5, 4)": 1, "x.contiguous()": 1,
                 "x.T.contiguous()": 0, "x + 0": 0})


@solves("nb03.unbroadcast")
def in_numpy(grad, shape):
    padded = (1,) * (grad.ndim - len(shape)) + tuple(shape)
    axes = tuple(i for i, n in enumerate(padded) if n == 1)
    return grad.numpy().sum(axis=axes, keepdims=True).reshape(shape)


@solves("nb03.repair")
def clone_first(x):
    y = x.exp()
    z = y.clone()
    z += 1
    return torch.dot(y, z)


# 4
also(nb04_logsumexp=lambda g, x, y: torch.diag(g) @ torch.softmax(x, 1),
     nb04_variance=lambda g, x, y: (g * 2 / (x.shape[1] - 1)).unsqueeze(1) * x @ (
         torch.eye(x.shape[1]).double() - 1 / x.shape[1]),
     nb04_gather=lambda g, index, n: F.one_hot(index, n).double().T @ g,
     nb04_strategy=lambda rng, n: rng.choices(range(n), k=rng.randint(0, 3 * n)))
also(nb04_logsumexp=lambda g, x, y: np.exp(x.numpy() - y.numpy()[:, None]) * g.numpy()[:, None],
     nb04_variance=lambda g, x, y: torch.func.vjp(lambda x: x.var(1), x)[1](g)[0],
     nb04_gather=lambda g, index, n: np.bincount(index.numpy(), g.numpy(), n),
     nb04_strategy=lambda rng, n: iter([rng.randint(0, n - 1) for _ in range(rng.choice([0, 1, 2, n + 3]))]))


@solves("nb04.cumprod")
def by_jacobian(g, x, y):
    jacobian = torch.autograd.functional.jacobian(lambda x: torch.cumprod(x, 0), x)
    return g @ jacobian


@solves("nb04.cumprod")
def by_recursion(g, x, y):
    """From the back: what follows x[i] is linear in it."""
    found, rest = [0.0] * len(x), 0.0
    before = [1.0, *y.tolist()[:-1]]
    for i in reversed(range(len(x))):
        rest = g[i].item() + (rest * x[i + 1].item() if i + 1 < len(x) else 0.0)
        found[i] = before[i] * rest
    return np.array(found)


also(nb04_suspects={"F": "= for +=", "E": "wrong axis", "D": "missing 1/N", "C": "right", "B": "upstream ignored",
                    "A": "wrong sign"})
also(nb04_suspects=lambda letter: {"A": "wrong sign", "B": "upstream ignored", "C": "right", "D": "missing 1/N",
                                   "E": "wrong axis", "F": "= for +="}[letter])


# 5
@solves("nb05.linear")
class ByFunction(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.register_parameter("weight", nn.Parameter(torch.zeros(outputs, inputs)))
        self.register_parameter("bias", nn.Parameter(torch.zeros(outputs)))

    def forward(self, x):
        return torch.einsum("...i,oi->...o", x, self.weight) + self.bias


@solves("nb05.linear")
class Inherited(nn.Linear):
    pass


@solves("nb05.parameters")
def from_modules(module):
    seen, found = [], []
    for prefix, m in module.named_modules():
        for name, p in m._parameters.items():
            if p is not None and not any(p is q for q in seen):
                seen.append(p)
                found.append(f"{prefix}.{name}".lstrip("."))
    return found


also(nb05_parameters=lambda module: (name for name, _ in module.named_parameters()),
     nb05_cross_entropy=lambda z, t: -(F.one_hot(t, z.shape[1]) * torch.log_softmax(z, 1)).sum() / len(t))


@solves("nb05.cross_entropy")
def differences(z, t):
    """log(sum(exp(z - z[t]))), shifted."""
    d = z - z.gather(1, t.unsqueeze(1))
    return torch.logsumexp(d, 1).mean()


@solves("nb05.train")
def columns(model, optimizer, x, y, steps):
    for _ in range(steps):
        F.mse_loss(model(x), y.unsqueeze(1)).backward()
        optimizer.step()
        optimizer.zero_grad()


@solves("nb05.train")
def with_closure(model, optimizer, x, y, steps):
    def closure():
        optimizer.zero_grad(set_to_none=False)
        loss = (model(x)[:, 0] - y).pow(2).sum() / len(y)
        loss.backward()
        return loss
    for _ in range(steps):
        optimizer.step(closure)


@solves("nb05.evaluate")
@torch.no_grad()
def decorated(model, x, y):
    mode = model.training
    try:
        return sum(int(row.argmax()) == int(t) for row, t in zip(model.eval()(x), y)) / len(y)
    finally:
        model.train(mode)


@solves("nb05.evaluate")
def inference(model, x, y):
    mode = model.training
    model.train(False)
    with torch.inference_mode():
        best = model(x).max(1).indices
    model.train(mode)
    return torch.eq(best, y).double().mean()


# 6
also(nb06_momentum=lambda p, g, v, lr, mu: (torch.add(p, v * mu + g, alpha=-lr), torch.add(g, v, alpha=mu)),
     nb06_rmsprop=lambda p, g, v, lr, alpha, eps: (
         torch.addcdiv(p, g, torch.lerp(g * g, v, alpha).sqrt() + eps, value=-lr), torch.lerp(g * g, v, alpha)),
     nb06_bias=lambda beta, t: sum((1 - beta) * beta ** k for k in range(t)),
     nb06_clip=lambda grads, limit: [g / max(1, torch.cat([h.flatten() for h in grads]).norm().item() / limit)
                                     for g in grads])


@solves("nb06.adam", "nb06.adamw")
def number_by_number(p, g, m, v, t, lr, b1, b2, eps, wd=0.0):
    """In Python floats, with the step size corrected instead of the means."""
    new = [[], [], []]
    for x, dx, m1, v1 in zip(p.tolist(), g.tolist(), m.tolist(), v.tolist()):
        m1, v1 = b1 * m1 + (1 - b1) * dx, b2 * v1 + (1 - b2) * dx ** 2
        size = lr * math.sqrt(1 - b2 ** t) / (1 - b1 ** t)
        x = x - lr * wd * x - size * m1 / (math.sqrt(v1) + eps * math.sqrt(1 - b2 ** t))
        for kept, value in zip(new, (x, m1, v1)):
            kept.append(value)
    return [torch.tensor(kept, dtype=torch.float64) for kept in new]


@solves("nb06.adam", "nb06.adamw")
def in_numpy_adam(p, g, m, v, t, lr, b1, b2, eps, wd=0.0):
    p, g, m, v = (a.numpy() for a in (p, g, m, v))
    m, v = m + (1 - b1) * (g - m), v + (1 - b2) * (g * g - v)
    step = lr * m / (1 - b1 ** t) / (np.sqrt(v) / np.sqrt(1 - b2 ** t) + eps)
    return tuple(torch.from_numpy(a) for a in (p - lr * wd * p - step, m, v))


@solves("nb06.momentum")
def in_numpy_momentum(p, g, v, lr, mu):
    v = torch.from_numpy(mu * v.numpy() + g.numpy())
    return [p - lr * v, v]


@solves("nb06.rmsprop")
def rms_moved(p, g, v, lr, alpha, eps):
    v = v - (1 - alpha) * (v - g.square())
    return p - lr * g.div(v.pow(0.5).add(eps)), v


@solves("nb06.bias")
def by_running(beta, t):
    m = 0.0
    for _ in range(t):
        m = beta * m + (1 - beta)
    return np.float64(m)


@solves("nb06.clip")
def with_library(grads, limit):
    made = [nn.Parameter(torch.zeros_like(g)) for g in grads]
    for p, g in zip(made, grads):
        p.grad = g.clone()
    nn.utils.clip_grad_norm_(made, limit)
    return tuple(p.grad for p in made)


@solves("nb06.cosine")
def half_angle(step, warmup, total, lr):
    return lr * min((step + 1) / warmup,
                    math.cos(math.pi / 2 * (step - warmup) / (total - warmup)) ** 2 if step >= warmup else 1)


@solves("nb06.cosine")
def in_numpy_cosine(step, warmup, total, lr):
    rise = np.arange(1, warmup + 1) / warmup
    fall = (1 + np.cos(np.linspace(0, np.pi, total - warmup + 1))) / 2
    return lr * np.concatenate([rise, fall])[step]


# 7
also(nb07_scale=lambda fan_in, slope: nn.init.calculate_gain("leaky_relu", slope) / math.sqrt(fan_in),
     nb07_dead=lambda h: 1 - (h.sum(0) > 0).double().mean(),
     nb07_batch_norm_pull=lambda g, xhat, std: ((g - xhat * (g * xhat).mean(0)) - (
         g - xhat * (g * xhat).mean(0)).mean(0)) / std,
     nb07_rms_norm=lambda x, weight, eps: F.rms_norm(x, x.shape[-1:], weight, eps))
also(nb07_scale=lambda fan_in, slope: math.sqrt(2) / math.hypot(1, slope) * fan_in ** -0.5,
     nb07_dead=lambda h: sum(1 for unit in h.T.tolist() if not any(unit)) / h.shape[1],
     nb07_rms_norm=lambda x, weight, eps: torch.einsum("nc,c,n->nc", x, weight, (x.square().mean(1) + eps).rsqrt()))


@solves("nb07.batch_norm")
def library_norm(x, mean, var, momentum, eps):
    mean, var = mean.clone(), var.clone()
    return F.batch_norm(x, mean, var, training=True, momentum=momentum, eps=eps), mean, var


@solves("nb07.batch_norm")
def in_numpy_norm(x, mean, var, momentum, eps):
    x, mean, var = x.numpy(), mean.numpy(), var.numpy()
    n = len(x)
    y = (x - x.mean(0)) / np.sqrt(x.var(0) + eps)
    return [y, mean + momentum * (x.mean(0) - mean), var + momentum * (x.var(0) * n / (n - 1) - var)]


@solves("nb07.batch_norm_pull")
def by_projection(g, xhat, std):
    n = len(g)
    columns = []
    for c in range(g.shape[1]):
        basis = torch.stack([torch.ones(n).double(), xhat[:, c]], 1) / math.sqrt(n)
        columns.append((g[:, c] - basis @ (basis.T @ g[:, c])) / std[c])
    return torch.stack(columns, 1)


# The answers to lesson 23, which need the names above.
from tests.check import solutions_debugging  # noqa: E402, F401
