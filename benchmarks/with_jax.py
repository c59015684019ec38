"""Some of the workloads in JAX, compiled by XLA as its users would: ``python -m benchmarks --vs torch,jax``."""

import jax
import jax.numpy as jnp
import numpy as np

from . import elementwise


def draw(*shape, scale=1.0):
    return jnp.asarray(np.random.default_rng(0).standard_normal(shape, dtype=np.float32) * np.float32(scale))


def waiting(f, *args):
    """A step that waits for its result: JAX's calls return before the work is done."""
    return lambda: jax.block_until_ready(f(*args))


def forward_of(params, x, activation):
    for w, b in params[:-1]:
        x = activation(x @ w.T + b)
    w, b = params[-1]
    return x @ w.T + b


def article():
    params = [(draw(10, 1), draw(10)), (draw(1, 10), draw(1))]
    xs = np.linspace(-1, 1, 51, dtype=np.float32).reshape(51, 1, 1)
    pairs = [(jnp.asarray(x), jnp.asarray(np.sin(3 * x))) for x in xs]

    @jax.jit
    def update(params, x, y):
        grads = jax.grad(lambda p: jnp.mean((forward_of(p, x, jax.nn.sigmoid) - y)**2))(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    def epoch():
        nonlocal params
        for x, y in pairs:
            params = update(params, x, y)
        jax.block_until_ready(params)
    return epoch


def multilayer(sizes, batch):
    params = [(draw(m, n, scale=n**-0.5), draw(m)) for n, m in zip(sizes, sizes[1:])]
    x, y = draw(batch, sizes[0]), jnp.asarray(np.random.default_rng(1).integers(0, sizes[-1], batch))
    zeros = jax.tree.map(jnp.zeros_like, params)
    state = params, zeros, zeros, jnp.zeros(())

    def loss(params):
        return -jnp.mean(jax.nn.log_softmax(forward_of(params, x, jax.nn.relu))[jnp.arange(batch), y])

    @jax.jit
    def update(state):
        params, m, v, t = state
        g, t = jax.grad(loss)(params), t + 1
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**t) / (1 - 0.9**t)
        return jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, m, v), m, v, t

    def step():
        nonlocal state
        state = jax.block_until_ready(update(state))
    return step


def layer_norm(x, w, b):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * w + b


OPS = {"gelu": lambda x, y, z, w, b: jax.nn.gelu(x), "softmax": lambda x, y, z, w, b: jax.nn.softmax(x),
       "layer_norm": lambda x, y, z, w, b: layer_norm(x, w, b), "x*y+z": lambda x, y, z, w, b: x * y + z}


def elementwise_step(name, size, backward):
    columns = min(size, 1000)
    inputs = [draw(size // columns, columns) for _ in "xyz"] + [draw(columns), draw(columns)]
    if not backward:
        return waiting(jax.jit(OPS[name]), *inputs)
    g = draw(size // columns, columns)
    which = tuple("xyzwb".index(c) for c in elementwise.OPS[name][1])
    return waiting(jax.jit(jax.value_and_grad(lambda *a: (OPS[name](*a) * g).sum(), which)), *inputs)


def embedding():
    table, g, ids = draw(50_000, 256), draw(8192, 256), np.random.default_rng(0).integers(0, 50_000, 8192)
    return waiting(jax.jit(jax.value_and_grad(lambda t: (t[ids] * g).sum())), table)


def matmul(n):
    return waiting(jax.jit(jnp.matmul), draw(n, n), draw(n, n))


WITH_JAX = {"article": article, "mlp": lambda: multilayer((784, 128, 10), 64),
            "wide_mlp": lambda: multilayer((784, 1024, 1024, 10), 256), "embedding/50000x256": embedding,
            **{f"matmul/{n}/forward": lambda n=n: matmul(n) for n in (64, 128, 256, 512, 1024, 2048)},
            **{f"{name}/{text}/{what}": lambda how=(name, int(float(text)), what == "both"): elementwise_step(*how)
               for name in OPS for text in ("1e2", "1e3", "1e4", "1e5", "1e6", "1e7") for what in ("forward", "both")}}
