"""Hand-written NumPy for some of the workloads: what they cost with no framework at all.

Forward, backward and update derived by hand, with arrays made once and written to by ``out=``, so what a library takes
beyond these is its own cost. Each returns a step like those of the other modules.
"""

import numpy as np

from .models import BATCH, CONTEXT, HEADS, LAYERS, VOCABULARY, WIDTH

add, sub, mul, div, dot, matmul = np.add, np.subtract, np.multiply, np.divide, np.dot, np.matmul
F32 = np.float32


def empty(*shape):
    return np.empty(shape, F32)


def number(x):
    """A number as a 0-d array: 190 ns a call, where a Python float takes 490."""
    return np.array(x, F32)


def flat(shapes, seed=0):
    """Parameters drawn at random, and zeros for their gradients: two flat buffers, and views of the given shapes."""
    rng, sizes = np.random.default_rng(seed), [int(np.prod(s)) for s in shapes]
    p, g = rng.standard_normal(sum(sizes), dtype=F32), np.zeros(sum(sizes), F32)
    p *= F32(0.02)
    cuts = np.cumsum(sizes)[:-1]

    def views(x):
        return [part.reshape(s) for part, s in zip(np.split(x, cuts), shapes)]
    return p, g, views(p), views(g)


def adam(p, g, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.0, block=32768):
    """A step of Adam on flat buffers, in blocks; the factors of both means are folded into two numbers."""
    m, v, t = np.zeros_like(p), np.zeros_like(p), 0
    room, b1, b2, keep = empty(min(block, p.size)), number(beta1), number(beta2), number(1 - lr * decay)
    rate, small = number(0), number(0)
    pieces = [[x[i:i + block] for x in (p, g, m, v)] for i in range(0, p.size, block)]

    def step():
        nonlocal t
        t += 1
        k = ((1 - beta2) / (1 - beta2**t))**0.5
        rate[...], small[...] = lr * (1 - beta1) / (1 - beta1**t) / k, eps / k
        for p, g, m, v in pieces:
            s = room[:p.size]
            mul(m, b1, m), add(m, g, m)
            mul(v, b2, v), mul(g, g, s), add(v, s, v)
            np.sqrt(v, s), add(s, small, s), div(m, s, s), mul(s, rate, s)
            if decay:
                mul(p, keep, p)
            sub(p, s, p)
    return step


def cross_entropy(n, classes, targets):
    """The loss of logits (n, classes), which are overwritten by its gradient."""
    at = np.arange(n) * classes + targets
    top, totals, ones, share = empty(n, 1), empty(n), np.ones(classes, F32), F32(1 / n)

    def loss(x):
        np.maximum.reduce(x, 1, None, top, True)
        sub(x, top, x)
        line = x.reshape(-1)
        chosen = line[at]
        np.exp(x, x)
        dot(x, ones, totals)
        value = (np.log(totals).sum() - chosen.sum()) * share
        mul(x, (share / totals)[:, None], x)
        line[at] -= share
        return value
    return loss


# ------------------------------------------------------------------ models
def article():
    p, g, (w1, b1, w2, b2), (dw1, db1, dw2, db2) = flat([10, 10, 10, 1])
    rate, two, one = number(0.1), number(2), number(1)
    s, h, out, d, step, total = empty(10), empty(10), empty(1), empty(1), empty(p.size), empty(1)
    xs = np.linspace(-1, 1, 51, dtype=F32).reshape(51, 1)
    pairs = list(zip(xs, np.sin(3 * xs)))

    def epoch():
        total.fill(0)
        for x, y in pairs:
            mul(w1, x, s), add(s, b1, s), np.negative(s, s), np.exp(s, s), add(s, one, s), np.reciprocal(s, s)
            add(dot(w2, s), b2, out), sub(out, y, d), mul(d, two, db2), mul(d, d, out)
            add(total, out, total)
            mul(s, db2, dw2), mul(w2, db2, db1), mul(db1, s, db1), sub(one, s, h), mul(db1, h, db1), mul(db1, x, dw1)
            mul(g, rate, step), sub(p, step, p)
        return total
    return epoch


def multilayer(sizes, batch):
    p, g, params, grads = flat([s for n, m in zip(sizes, sizes[1:]) for s in ((m, n), (m,))])
    ws, bs, dws, dbs = params[::2], params[1::2], grads[::2], grads[1::2]
    rng, ones, layers, update = np.random.default_rng(1), np.ones(batch, F32), len(sizes) - 1, adam(p, g)
    hs = [rng.standard_normal((batch, sizes[0]), dtype=F32)] + [empty(batch, n) for n in sizes[1:]]
    ds, zeros = [empty(batch, n) for n in sizes], [np.zeros((batch, n), F32) for n in sizes]
    loss = cross_entropy(batch, sizes[-1], rng.integers(0, sizes[-1], batch))

    def step():
        for i in range(layers):
            matmul(hs[i], ws[i].T, out=hs[i + 1])
            add(hs[i + 1], bs[i], hs[i + 1])
            if i < layers - 1:
                np.maximum(hs[i + 1], zeros[i + 1], out=hs[i + 1])
        d = hs[-1]
        value = loss(d)
        for i in reversed(range(layers)):
            matmul(d.T, hs[i], out=dws[i]), dot(ones, d, dbs[i])
            if i:
                matmul(d, ws[i], out=ds[i])
                d = mul(ds[i], hs[i] > 0, ds[i])
        update()
        return value
    return step


# ------------------------------------------------------------------ a transformer
GELU, CUBE = np.sqrt(2 / np.pi), 0.044715


class LayerNorm:
    """Rows standardised, times a weight plus a bias; `backward` adds to, or sets, the gradient of the input."""

    def __init__(self, n, d, weight, bias, dweight, dbias):
        self.weight, self.bias, self.dweight, self.dbias = weight, bias, dweight, dbias
        self.mean, self.ones, self.y, self.t = np.full(d, 1 / d, F32), np.ones(n, F32), empty(n, d), empty(n, d)
        self.out, self.r = empty(n, d), empty(n)

    def forward(self, x):
        y, r = self.y, self.r
        sub(x, dot(x, self.mean)[:, None], y)
        np.vecdot(y, y, r)
        mul(r, self.mean[0], r), add(r, F32(1e-5), r), np.sqrt(r, r), np.reciprocal(r, r)
        mul(y, r[:, None], y)
        return add(mul(y, self.weight, self.out), self.bias, self.out)

    def backward(self, g, out=None):
        y, t = self.y, self.t
        dot(self.ones, g, self.dbias), dot(self.ones, mul(g, y, t), self.dweight)
        mul(g, self.weight, g)
        mul(y, (np.vecdot(g, y) * self.mean[0])[:, None], t), sub(g, t, t)
        sub(t, dot(g, self.mean)[:, None], t), mul(t, self.r[:, None], t)
        return t if out is None else add(out, t, out)


class Block:
    """One layer of the transformer on rows (N T, D), with room for all that it computes."""

    def __init__(self, params, grads):
        n, d = BATCH * CONTEXT, WIDTH
        (*norms, self.qkv, self.bqkv, self.proj, self.bproj, self.up, self.bup, self.down, self.bdown) = params
        *dnorms, self.dqkv, self.dbqkv, self.dproj, self.dbproj, self.dup, self.dbup, self.ddown, self.dbdown = grads
        self.norm1 = LayerNorm(n, d, *norms[:2], *dnorms[:2])
        self.norm2 = LayerNorm(n, d, *norms[2:], *dnorms[2:])
        self.ones, self.scale = np.ones(n, F32), F32((d // HEADS)**-0.5)
        self.z, self.dz, self.seen, self.rows = empty(n, 3 * d), empty(n, 3 * d), empty(n, d), empty(n, d)
        self.a, self.da = (empty(BATCH, HEADS, CONTEXT, CONTEXT) for _ in range(2))
        self.future = np.triu(np.full((CONTEXT, CONTEXT), -np.inf, F32), 1)
        self.u, self.t, self.v, self.w = (empty(n, 4 * d) for _ in range(4))

    @staticmethod
    def heads(x, parts):
        """(N T, parts D) as `parts` views (N, H, T, E)."""
        return x.reshape(BATCH, CONTEXT, parts, HEADS, -1).transpose(2, 0, 3, 1, 4)

    def forward(self, x):
        h = self.norm1.forward(x)
        q, k, v = self.heads(add(dot(h, self.qkv.T, self.z), self.bqkv, self.z), 3)
        a = matmul(q, k.swapaxes(2, 3), out=self.a)
        mul(a, self.scale, a), add(a, self.future, a), sub(a, a.max(-1, keepdims=True), a), np.exp(a, a)
        div(a, dot(a, np.ones(CONTEXT, F32))[..., None], a)
        matmul(a, v, out=self.heads(self.seen, 1)[0])
        dot(self.seen, self.proj.T, self.rows), add(self.rows, self.bproj, self.rows), add(x, self.rows, x)
        h = self.norm2.forward(x)
        u, t, w = add(dot(h, self.up.T, self.u), self.bup, self.u), self.t, self.w
        mul(u, u, t), mul(t, F32(GELU * CUBE), t), add(t, F32(GELU), t), mul(t, u, t), np.tanh(t, t)
        add(t, F32(1), w), mul(w, u, w), mul(w, F32(0.5), w)
        dot(w, self.down.T, self.rows), add(self.rows, self.bdown, self.rows)
        return add(x, self.rows, x)

    def backward(self, g):
        ones, u, t, v, rows = self.ones, self.u, self.t, self.v, self.rows
        dot(g.T, self.w, self.ddown), dot(ones, g, self.dbdown), dot(g, self.down, self.w)
        mul(u, u, v), mul(v, F32(3 * GELU * CUBE), v), add(v, F32(GELU), v), mul(v, u, v)
        sub(F32(1), t, u), mul(v, u, v), add(v, F32(1), v), add(t, F32(1), t), mul(v, t, v), mul(v, F32(0.5), v)
        mul(v, self.w, v)
        dot(v.T, self.norm2.out, self.dup), dot(ones, v, self.dbup), dot(v, self.up, rows)
        self.norm2.backward(rows, g)
        dot(g.T, self.seen, self.dproj), dot(ones, g, self.dbproj), dot(g, self.proj, self.seen)
        (q, k, v), (dq, dk, dv), dseen = self.heads(self.z, 3), self.heads(self.dz, 3), self.heads(self.seen, 1)[0]
        matmul(self.a.swapaxes(2, 3), dseen, out=dv)
        da = matmul(dseen, v.swapaxes(2, 3), out=self.da)
        sub(da, np.vecdot(da, self.a)[..., None], da), mul(da, self.a, da), mul(da, self.scale, da)
        matmul(da, k, out=dq), matmul(da.swapaxes(2, 3), q, out=dk)
        dot(self.dz.T, self.norm1.out, self.dqkv), dot(ones, self.dz, self.dbqkv), dot(self.dz, self.qkv, rows)
        self.norm1.backward(rows, g)


def gpt():
    d, n, shapes = WIDTH, BATCH * CONTEXT, [(VOCABULARY, WIDTH), (CONTEXT, WIDTH)]
    for _ in range(LAYERS):
        shapes += [d, d, d, d, (3 * d, d), 3 * d, (d, d), d, (4 * d, d), 4 * d, (d, 4 * d), d]
    p, g, params, grads = flat([*shapes, d, d, (VOCABULARY, d)])
    update, rng = adam(p, g, decay=0.01), np.random.default_rng(1)
    for i in (*range(2, 2 + 12 * LAYERS, 12), *range(4, 4 + 12 * LAYERS, 12), -3):
        params[i].fill(1)                                  # the weights of the norms
    blocks = [Block(params[i:i + 12], grads[i:i + 12]) for i in range(2, 2 + 12 * LAYERS, 12)]
    norm, head, dhead = LayerNorm(n, d, *params[-3:-1], *grads[-3:-1]), params[-1], grads[-1]
    ids, targets = rng.integers(0, VOCABULARY, n), rng.integers(0, VOCABULARY, n)
    onehot = np.ascontiguousarray((np.arange(VOCABULARY)[:, None] == ids).astype(F32))
    x, logits, rows, loss = empty(BATCH, CONTEXT, d), empty(n, VOCABULARY), empty(n, d), cross_entropy(
        n, VOCABULARY, targets)

    def step():
        add(params[0][ids].reshape(x.shape), params[1], x)
        h = x.reshape(n, d)
        for block in blocks:
            h = block.forward(h)
        value = loss(dot(norm.forward(h), head.T, logits))
        dot(logits.T, norm.out, dhead), dot(logits, head, rows)
        g = norm.backward(rows)
        for block in reversed(blocks):
            block.backward(g)
        dot(onehot, g, grads[0]), add.reduce(g.reshape(x.shape), 0, None, grads[1])
        update()
        return value
    return step


# ------------------------------------------------------------------ single ops
def chain():
    a, one, c = np.linspace(0.5, 1.5, 4, dtype=F32), np.ones(4, F32), number(1.0001)
    b = a.copy()

    def step():
        x = a
        for _ in range(500):
            x = add(mul(x, c), b)
        g, db = one, np.zeros(4, F32)
        for _ in range(500):
            add(db, g, db)
            g = mul(g, c)
        return g, db
    return step


def embedding(rows=50_000, width=256, count=8192):
    rng = np.random.default_rng(0)
    table, g = (rng.standard_normal((n, width), dtype=F32) for n in (rows, count))
    ids, out, grad = rng.integers(0, rows, count), empty(count, width), np.zeros((rows, width), F32)
    used = ids[:0]

    def step():
        nonlocal used
        np.take(table, ids, 0, out, "clip")
        grad[used] = 0
        order = np.argsort(ids)
        index, left = ids[order], np.arange(count)
        used = index
        while left.size:                                   # one of each index in every round, so that none is lost
            here = index[left]
            first = np.ones(left.size, bool)
            np.not_equal(here[1:], here[:-1], first[1:])
            grad[here[first]] += g[order[left[first]]]
            left = left[~first]
        return out, grad
    return step


FLOORS = {"article": article, "mlp": lambda: multilayer((784, 128, 10), 64),
          "wide_mlp": lambda: multilayer((784, 1024, 1024, 10), 256), "gpt": gpt, "chain": chain,
          "embedding/50000x256": embedding}
