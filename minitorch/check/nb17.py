"""Checks of lesson 17, "Derivatives forwards and in batches": duals, Jacobians, samples, Hessian times vector."""

import tracemalloc

import numpy as np

import minitorch as torch

from .exercise import Exercise, show
from .naming import variants

grad, hessian, jvp, vmap = torch.func.grad, torch.func.hessian, torch.func.jvp, torch.func.vmap

dual = Exercise(
    "nb17.dual", "Dual(value, tangent) of tensors: *, @, tanh() and sum() carry tangents along.",
    ("Write each operand as a + b e with e*e = 0, and multiply out. For matrices too, but keep the order.",
     "Two terms for each kind of product. tanh: its slope at the value, times the tangent that came in.",
     "@: self.value @ ____ + self.tangent @ ____; tanh: (1 - ____) * self.tangent; sum: ____"),
    parts=("value", "tangent"))


@dual.cases
def _():
    a, da = np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([[1.0, 0.0], [3.0, 1.0]])
    b, db = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[0.0, -1.0], [0.5, 2.0]])
    for rule in ("mul", "matmul", "tanh", "sum"):
        yield rule, a, da, b, np.zeros((2, 2))
        yield rule, a, da, b, db


@dual.run
def _(solution, rule, a, da, b, db):
    x, y = solution(a, da), solution(b, db)
    result = {"mul": lambda: x * y, "matmul": lambda: x @ y, "tanh": lambda: x.tanh(), "sum": lambda: x.sum()}[rule]()
    return [result.value, result.tangent]


@dual.describe
def _(rule, a, da, b, db):
    line = {"mul": "x * y", "matmul": "x @ y", "tanh": "x.tanh()", "sum": "x.sum()"}[rule]
    second = f", y = Dual({show(b)}, {show(db)})" if "y" in line else ""
    return f"{line}, x = Dual({show(a)}, {show(da)}){second}; value and tangent of the result"


@dual.truth
class _Dual:
    def __init__(self, value, tangent):
        self.value, self.tangent = value, tangent

    def new(self, value, tangent):
        return type(self)(value, tangent)

    def __mul__(self, other):
        return self.new(self.value * other.value, self.value * other.tangent + self.tangent * other.value)

    def __matmul__(self, other):
        return self.new(self.value @ other.value, self.value @ other.tangent + self.tangent @ other.value)

    def tanh(self):
        return self.new(self.value.tanh(), (1 - self.value.tanh() ** 2) * self.tangent)

    def sum(self):
        return self.new(self.value.sum(), self.tangent.sum())


def with_rules(*given, **rules):
    """A dual number of a class that has other rules."""
    return type("Wrong", (_Dual,), rules)(*given)


def wrong(name, words, **rules):
    """A mistake in some of the rules."""
    dual.mistakes[name] = words, variants(with_rules)(**rules)


wrong("product_of_tangents", "the tangent of a product is not the product of the tangents: that is the e*e term, zero",
      __mul__=lambda a, b: a.new(a.value * b.value, a.tangent * b.tangent),
      __matmul__=lambda a, b: a.new(a.value @ b.value, a.tangent @ b.tangent))
wrong("second_forgotten", "only the first factor moves in your rules: the second may have a tangent too",
      __mul__=lambda a, b: a.new(a.value * b.value, a.tangent * b.value),
      __matmul__=lambda a, b: a.new(a.value @ b.value, a.tangent @ b.value))
wrong("order", "matrices do not commute: the tangent of b stays on the right of a, a.value @ b.tangent",
      __matmul__=lambda a, b: a.new(a.value @ b.value, b.tangent @ a.value + a.tangent @ b.value))
wrong("transposed", "that is the *backward* rule, with a transpose: forwards nothing is transposed",
      __matmul__=lambda a, b: a.new(a.value @ b.value, a.value.T @ b.tangent + a.tangent @ b.value.T))
wrong("elementwise", "the tangent of `@` is made of matrix products: `*` multiplies element by element",
      __matmul__=lambda a, b: a.new(a.value @ b.value, a.value * b.tangent + a.tangent * b.value))
wrong("no_chain", "the tangent that came in is lost: tanh multiplies its slope by `self.tangent` (the chain rule)",
      tanh=lambda a: a.new(a.value.tanh(), 1 - a.value.tanh() ** 2))
wrong("tanh_of_tangent", "tanh is applied to the tangent: its *slope at the value* is multiplied with it",
      tanh=lambda a: a.new(a.value.tanh(), a.tangent.tanh()))
wrong("value_squared", "the slope of tanh is 1 - tanh(x)**2: the square is of the result, not of x",
      tanh=lambda a: a.new(a.value.tanh(), (1 - a.value ** 2) * a.tangent))
wrong("not_summed", "sum is linear: its tangent is summed as its value is, and has the same shape",
      sum=lambda a: a.new(a.value.sum(), a.tangent))
wrong("count", "a tangent of sum that does not look at the tangents: it is their sum, not the number of elements",
      sum=lambda a: a.new(a.value.sum(), torch.ones_like(a.value).sum()))

jacobian = Exercise(
    "nb17.jacobian", "The Jacobian (m, n) from push(v) = J v or pull(u) = J' u, whichever needs fewer passes.",
    ("What does push give for the vector (1, 0, 0 ...)? And pull?",
     "Each push of a unit vector is a column, n of them; each pull is a row, m of them.",
     "if ____: return torch.stack([push(e) for e in torch.eye(____, dtype=torch.float64)], ____); otherwise the same"
     " with pull, along ____"))


@jacobian.cases
def _():
    yield np.array([[1.0, 2.0]]),
    yield np.array([[1.0], [2.0]]),
    yield np.array([[1.0, 2.0], [3.0, 4.0]]),
    yield np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    yield np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),


jacobian.draw(lambda d: (d.integers((d.int(1, 4), d.int(1, 4)), -3, 3).astype(float),))


@jacobian.run
def _(solution, J):
    passes = []

    def counted(matrix):
        def by(vector):
            passes.append(vector)
            return matrix @ torch.as_tensor(vector).to(matrix.dtype)
        return by
    m, n = J.shape
    return {"Jacobian": solution(counted(J), counted(J.T), n, m), "passes": len(passes)}


jacobian.describe(lambda J: f"n = {J.shape[1]}, m = {J.shape[0]}, push and pull by J = {show(J)}")


def unit(n, i):
    return torch.eye(n, dtype=torch.float64)[i]


def columns(push, n):
    return torch.stack([push(unit(n, i)) for i in range(n)], 1)


def rows(pull, m):
    return torch.stack([pull(unit(m, k)) for k in range(m)])


def both(push, pull, n, m):
    one, _ = columns(push, n), rows(pull, m)
    return one


jacobian.truth(lambda push, pull, n, m: columns(push, n) if n <= m else rows(pull, m))
jacobian.slips(
    always_forwards=("right, by n pushes; where there are fewer outputs than inputs, m pulls do",
                     lambda push, pull, n, m: columns(push, n)),
    always_backwards=("right, by m pulls; where there are fewer inputs than outputs, n pushes do",
                      lambda push, pull, n, m: rows(pull, m)),
    dearer=("the choice is turned: pushes cost one pass for each *input*, pulls one for each output",
            lambda push, pull, n, m: columns(push, n) if n >= m else rows(pull, m)),
    both_ways=("both ways were gone: decide before you compute", both),
    each_entry=("right, but a pass for each *entry*: one pass gives a whole column or row",
                lambda push, pull, n, m: torch.stack([torch.stack([push(unit(n, i))[k] for i in range(n)])
                                                      for k in range(m)])),
    columns_as_rows=("a push gives a column: stack along dimension 1",
                     lambda push, pull, n, m: columns(push, n).T if n <= m else rows(pull, m)),
    rows_as_columns=("a pull gives a row: stack along dimension 0",
                     lambda push, pull, n, m: columns(push, n) if n <= m else rows(pull, m).T),
    transposed=("that is the transpose: pushes give columns (m, n), pulls rows",
                lambda push, pull, n, m: columns(push, n).T if n <= m else rows(pull, m).T),
    all_at_once=("one pass with a vector of ones gives the *sum* of all columns or rows, they cannot be told apart "
                 "again",
                 lambda push, pull, n, m: (push(torch.ones(n)).unsqueeze(1).expand(m, n) if n <= m
                                           else pull(torch.ones(m)).expand(m, n))))

per_sample = Exercise(
    "nb17.per_sample", "The gradient of loss(w, x, y) for w, for each sample (x, y) of the batch: (N, D), one call.",
    ("First the gradient for one sample, then that function for all.",
     "grad(loss) is the function of one sample. vmap maps it over x and y; w is the same for all.",
     "return vmap(____(loss), in_dims=(____, ____, ____))(w, x, y)"))


@per_sample.draw
def _(d):
    n, k = d.int(1, 4), d.int(1, 3)
    return (d.integers((k,), -2, 2).astype(float), d.integers((n, k), -2, 3).astype(float),
            d.integers((n,), -2, 2).astype(float))


@per_sample.cases
def _():
    yield np.array([1.0]), np.array([[1.0], [2.0]]), np.array([0.0, 1.0])
    yield np.array([1.0, 2.0]), np.array([[1.0, 0.0], [0.0, 3.0]]), np.array([0.0, 1.0])
    yield np.array([1.0, 2.0]), np.array([[1.0, -1.0], [2.0, 3.0], [0.0, 1.0]]), np.array([0.0, 1.0, 3.0])


@per_sample.run
def _(solution, w, x, y):
    calls = []

    def loss(w, x, y):
        calls.append(1)
        if x.dim() != 1 or y.dim():
            raise ValueError("loss(w, x, y) is for one sample: x has one dimension, y none")
        return ((x * w).sum() - y) ** 2 + (x * w ** 2).sum()
    found = solution(loss, w, x, y)
    return {"gradients": found, "calls of loss": len(calls)}


per_sample.describe(lambda w, x, y: f"loss = ((x * w).sum() - y)**2 + (x * w**2).sum(), w = {show(w)}, x = {show(x)}, "
                                    f"y = {show(y)}")
OVER = (None, 0, 0)


def total(loss, w, x, y):
    return grad(lambda w: vmap(loss, OVER)(w, x, y).sum())(w)


per_sample.truth(lambda loss, w, x, y: vmap(grad(loss), OVER)(w, x, y))
per_sample.slips(
    looped=("the right numbers by a loop, one call of loss for each sample: vmap calls it once for all",
            lambda loss, w, x, y: torch.stack([grad(loss)(w, a, b) for a, b in zip(x, y)])),
    summed=("summed over the samples: that is what backward() gives; each sample should keep its own",
            total),
    averaged=("the mean over the samples: each should keep its own",
              lambda loss, w, x, y: total(loss, w, x, y) / len(x)),
    repeated=("every row is the same sum over all samples: differentiate for one sample first, then map",
              lambda loss, w, x, y: total(loss, w, x, y).expand(x.shape)),
    share=("divided by N: that is the share in the gradient of a *mean* loss, the loss of a sample was asked for",
           lambda loss, w, x, y: vmap(grad(loss), OVER)(w, x, y) / len(x)),
    for_x=("the gradient for x (argnums=1): the one for w was asked for",
           lambda loss, w, x, y: vmap(grad(loss, argnums=1), OVER)(w, x, y)),
    losses=("those are the losses of the samples, not yet differentiated",
            lambda loss, w, x, y: vmap(loss, OVER)(w, x, y)),
    norms=("the norms of the gradients: the gradients themselves were asked for",
           lambda loss, w, x, y: vmap(grad(loss), OVER)(w, x, y).norm(dim=1)),
    turned=("turned: one row for each sample, (N, D)",
            lambda loss, w, x, y: vmap(grad(loss), OVER, out_dims=1)(w, x, y)),
    weights_mapped=("w is mapped over as well, one number for each sample: its entry in in_dims is None",
                    lambda loss, w, x, y: vmap(grad(loss))(w, x, y)),
    whole_batch=("loss was given the whole batch at once: it is the loss of *one* sample, vmap takes the batch apart",
                 lambda loss, w, x, y: grad(loss)(w, x, y)))

hvp = Exercise(
    "nb17.hvp", "The Hessian of f at x times v, by one call of f, without room for the Hessian.",
    ("The Hessian is the Jacobian of the gradient. Which pass gives a Jacobian times a vector?",
     "grad(f) is a function from vectors to vectors. Push v through it.",
     "return jvp(____, (x,), (____,))[____]"), rtol=1e-8, atol=1e-10)
FUNCTIONS = {"(x ** 3).sum()": lambda x: (x ** 3).sum(),
             "(x[1:] * x[:-1] ** 2).sum()": lambda x: (x[1:] * x[:-1] ** 2).sum(),
             "(x * x).sum() ** 2": lambda x: (x * x).sum() ** 2}
LARGE = 1000


@hvp.cases
def _():
    for words in FUNCTIONS:
        yield words, np.array([1.0, 2.0]), np.array([1.0, 0.0])
        yield words, np.array([1.0, -1.0, 2.0]), np.array([1.0, 3.0, -2.0])
        yield words, np.linspace(-1, 1, LARGE), np.cos(np.arange(float(LARGE)))


@hvp.run
def _(solution, words, x, v):
    calls = []

    def f(x):
        calls.append(1)
        return FUNCTIONS[words](x)
    if len(x) < LARGE:
        return {"product": solution(f, x, v), "calls of f": len(calls)}
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before, _ = tracemalloc.get_traced_memory()
        found = solution(f, x, v)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        if not tracing:
            tracemalloc.stop()
    return {"product": found, "calls of f": len(calls), "room for a Hessian": peak - before > 4 * LARGE * LARGE}


hvp.describe(lambda words, x, v: f"f(x) = {words}, x = {show(x)}, v = {show(v)}")


def pushed(f, x, v):
    return jvp(grad(f), (x,), (v,))


hvp.truth(lambda f, x, v: pushed(f, x, v)[1])
hvp.slips(
    whole_hessian=("the whole Hessian was built, and then multiplied: n * n numbers for n",
                   lambda f, x, v: hessian(f)(x) @ v),
    value=("that is the gradient, the first of the two that jvp returns; the derivative is the second",
           lambda f, x, v: pushed(f, x, v)[0]),
    both=("jvp returns a pair, the value and the derivative: the second was asked for", pushed),
    first_order=("that is the slope of f in the direction v: push v through the *gradient* of f",
                 lambda f, x, v: jvp(f, (x,), (v,))[1]),
    gradient_times_v=("the gradient times v, element by element: there is no second derivative in it",
                      lambda f, x, v: grad(f)(x) * v),
    row_sums=("the sums of the Hessian's rows, times v: v must be multiplied in *before* the sum",
              lambda f, x, v: pushed(f, x, torch.ones_like(v))[1] * v),
    ones=("a vector of ones was pushed, v is not used", lambda f, x, v: pushed(f, x, torch.ones_like(v))[1]),
    curvature=("a number: v times Hessian times v, one product too many", lambda f, x, v: pushed(f, x, v)[1] @ v),
    differences=("a difference of two gradients: half of the digits are lost, and f is called twice",
                 lambda f, x, v: (grad(f)(x + 1e-6 * v) - grad(f)(x)) / 1e-6),
    central=("a central difference of two gradients: digits are lost, and f is called twice",
             lambda f, x, v: (grad(f)(x + 1e-5 * v) - grad(f)(x - 1e-5 * v)) / 2e-5),
    swapped=("x and v have changed places: the primal, where to look, comes first",
             lambda f, x, v: pushed(f, v, x)[1]))
