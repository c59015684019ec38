"""Random numbers beside PyTorch's, bit for bit: values, strides and the generator's state afterwards."""

import platform
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="compares with PyTorch")
pytest.importorskip("ml_dtypes", reason="compares bfloat16 too")

import minitorch  # noqa: E402
from minitorch.random import rejection  # noqa: E402
from minitorch.utils.data import DataLoader, RandomSampler, WeightedRandomSampler, random_split  # noqa: E402

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64") or platform.system() != "Linux"
    or torch.backends.cpu.get_cpu_capability() == "DEFAULT",
    reason="PyTorch's own numbers differ in the last place on other platforms (docs/randomness.md)")

SIZES = (0, 1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 1000, 40_001)
FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8")


def raw(x):
    """The bytes of a tensor of either library, with its dtype, shape, and the strides of more than one element."""
    if isinstance(x, minitorch.Tensor):
        bits = np.ascontiguousarray(x.array)
    else:
        bits = (x.contiguous().view(torch.int16) if x.dtype is torch.bfloat16 else x.contiguous()).numpy()
    strides = [s for s, n in zip(x.stride(), x.shape, strict=True) if n > 1 and x.numel()]
    return str(x.dtype), tuple(x.shape), strides, bits.tobytes()


def states():
    return minitorch.get_rng_state().numpy().tobytes(), torch.get_rng_state().numpy().tobytes()


def check(call, seed=0):
    """``call(library)`` must give the same in both, and leave the generators in the same state."""
    minitorch.manual_seed(seed)
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert_same(call(minitorch), call(torch))
    mine, theirs = states()
    assert mine == theirs, "the generators' states differ"


def assert_same(mine, theirs):
    mine, theirs = raw(mine), raw(theirs)
    assert mine[:3] == theirs[:3]
    assert mine == theirs, "the numbers differ"


FILLS = {
    "uniform_": lambda x: x.uniform_(),
    "uniform_(-0.3, 0.7)": lambda x: x.uniform_(-0.3, 0.7),
    "uniform_(1000, 1001)": lambda x: x.uniform_(1000, 1001),
    "uniform_(2, 2)": lambda x: x.uniform_(2, 2),
    "normal_": lambda x: x.normal_(),
    "normal_(0, 0.3)": lambda x: x.normal_(0, 0.3),
    "normal_(-1.1, 0.7)": lambda x: x.normal_(-1.1, 0.7),
    "normal_(1, 0)": lambda x: x.normal_(1, 0),
    "exponential_": lambda x: x.exponential_(),
    "exponential_(0.3)": lambda x: x.exponential_(0.3),
    "cauchy_(0.1, 0.3)": lambda x: x.cauchy_(0.1, 0.3),
    "log_normal_": lambda x: x.log_normal_(),
}
DISCRETE = {
    "geometric_": lambda x: x.geometric_(0.05),
    "bernoulli_": lambda x: x.bernoulli_(),
    "bernoulli_(0.3)": lambda x: x.bernoulli_(0.3),
    "random_": lambda x: x.random_(),
    "random_(100)": lambda x: x.random_(100),
    "random_(3, 120)": lambda x: x.random_(3, 120),
    "random_(5, None)": lambda x: x.random_(5, None),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("fill", FILLS)
def test_continuous(fill, dtype):
    for seed in (0, 2**40 + 7):
        for n in SIZES:
            check(lambda t, n=n: FILLS[fill](t.zeros(n, dtype=getattr(t, dtype))), seed)


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("fill", DISCRETE)
def test_discrete(fill, dtype):
    for n in SIZES:
        check(lambda t, n=n: DISCRETE[fill](t.zeros(n, dtype=getattr(t, dtype))))


@pytest.mark.parametrize("dtype", FLOATS)
def test_bernoulli_of_a_tensor(dtype):
    p = np.linspace(0, 1, 999).reshape(27, 37)
    for target in ("float32", "float16", "int64", "bool"):
        check(lambda t, target=target: t.zeros(27, 37, dtype=getattr(t, target)).bernoulli_(
            t.tensor(p).to(getattr(t, dtype))))
    check(lambda t: t.bernoulli(t.tensor(p).to(getattr(t, dtype)).transpose(0, 1)))


@pytest.mark.parametrize("low, high, dtype", [
    (0, 2**28 - 1, "int64"), (0, 2**28, "int64"), (0, 2**31 - 1, "int32"), (-(2**31), 2**31 - 1, "int32"),
    (0, 2**63 - 1, "int64"), (-(2**63) + 1, 2**63 - 1, "int64"), (-5, 2**62, "int64"), (0, 2**40, "float64"),
    (0, 2, "bool"), (-100, 100, "int8"), (0, 5000, "float16"), (2000, 3000, "bfloat16"), (2049, 2060, "float16"),
    (2**24, 2**24 + 50, "float32"), (-(2**24) - 5, 2**24 + 5, "float32"), (-(2**63), None, "int64"),
    (-(2**63), None, "float32"), (-(2**63), None, "bfloat16"), (0, 60000, "float16"),
])
def test_ranges_of_integers(low, high, dtype):
    check(lambda t: t.zeros(1000, dtype=getattr(t, dtype)).random_(low, high))


LAYOUTS = {
    "transposed": lambda t, d: t.zeros(5, 7, dtype=d).transpose(0, 1),
    "columns": lambda t, d: t.zeros(6, 8, dtype=d)[:, ::2],
    "rows": lambda t, d: t.zeros(6, 8, dtype=d)[2:5],
    "permuted": lambda t, d: t.zeros(3, 4, 5, dtype=d).permute(1, 2, 0),
    "sliced and transposed": lambda t, d: t.zeros(9, 8, dtype=d)[1::2, ::3].transpose(0, 1),
    "with a size of one": lambda t, d: t.zeros(4, 1, 6, dtype=d)[:, :, :4].transpose(0, 2),
    "number": lambda t, d: t.zeros((), dtype=d),
}


@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16"))
@pytest.mark.parametrize("layout", LAYOUTS)
def test_order_in_memory(layout, dtype):
    for fill in (*FILLS.values(), *DISCRETE.values()):
        check(lambda t, fill=fill: fill(LAYOUTS[layout](t, getattr(t, dtype))), 3)
    for name in ("rand_like", "randn_like"):
        check(lambda t, name=name: getattr(t, name)(LAYOUTS[layout](t, getattr(t, dtype))))


@pytest.mark.parametrize("n", (0, 1, 2, 3, 10, 100, 5000, 60_000))
def test_randperm(n):
    check(lambda t: t.randperm(n))
    if n <= 2049:
        for dtype in ("int32", "int16", "float32", "float16"):
            check(lambda t, dtype=dtype: t.randperm(n, dtype=getattr(t, dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_multinomial(dtype):
    rng = np.random.default_rng(0)
    for shape in ((7,), (3, 7), (1000,)):
        w = rng.random(shape)
        for n, replacement in ((1, False), (1, True), (3, False), (7, False), (5, True), (50, True)):
            # The order of equal scores, frequent in half precision, is PyTorch's sorting algorithm's own affair.
            if replacement or n == 1 or dtype in ("float32", "float64"):
                check(lambda t, w=w, n=n, r=replacement: t.multinomial(t.tensor(w).to(getattr(t, dtype)), n, r), n)
    check(lambda t: t.multinomial(t.tensor(w).reshape(100, 10).transpose(0, 1), 4))


@pytest.mark.parametrize("dtype", FLOATS)
def test_poisson_and_binomial(dtype):
    rng = np.random.default_rng(0)
    rate = rng.exponential(20, 500) * (rng.random(500) < 0.9)
    check(lambda t: t.poisson(t.tensor(rate).to(getattr(t, dtype))))
    if dtype in ("float32", "float64"):
        n, p = rng.integers(0, 200, 500).astype(float), rng.random(500)
        p[:4] = 0, 1, 0.5, 1
        check(lambda t: t.binomial(t.tensor(n).to(getattr(t, dtype)), t.tensor(p).to(getattr(t, dtype))))


@pytest.mark.parametrize("dtype", ("float32", "float64"))
def test_gamma_and_dirichlet(dtype):
    alpha = np.random.default_rng(0).exponential(2, 500).astype(dtype)
    alpha[3] = 0
    g = minitorch.default_generator
    check(lambda t: torch._standard_gamma(torch.tensor(alpha)) if t is torch else
          minitorch.tensor(rejection.standard_gamma(g, alpha)))
    minitorch.manual_seed(1)
    torch.manual_seed(1)
    alpha = alpha.reshape(100, 5)
    mine, theirs = rejection.dirichlet(g, alpha), torch._sample_dirichlet(torch.tensor(alpha))
    np.testing.assert_allclose(mine, theirs.numpy(), rtol=1e-15 if dtype == "float64" else 1e-7)


def test_normal_of_tensors():
    rng = np.random.default_rng(0)
    mean, std = rng.normal(size=(4, 1, 6)), rng.random((5, 1))
    for a in FLOATS:
        for b in FLOATS:
            check(lambda t, a=a, b=b: t.normal(t.tensor(mean).to(getattr(t, a)), t.tensor(std).to(getattr(t, b))))
        check(lambda t, a=a: t.normal(t.tensor(mean).to(getattr(t, a)), 0.3))
        check(lambda t, a=a: t.normal(0.7, t.tensor(std).to(getattr(t, a))))
    check(lambda t: t.normal(t.zeros(3), 2.0, out=t.zeros(4, 3)))


@pytest.mark.parametrize("dtype", ("complex64", "complex128"))
def test_complex(dtype):
    for n in (1, 7, 8, 100):
        check(lambda t, n=n: t.rand(n, dtype=getattr(t, dtype)))
        check(lambda t, n=n: t.randn(n, dtype=getattr(t, dtype)))


# ------------------------------------------------------------------ calls of all kinds in turn
STEPS = {
    "rand": lambda t, n: t.rand(n),
    "rand64": lambda t, n: t.rand(n, dtype=t.float64),
    "randn": lambda t, n: t.randn(n),
    "randn64": lambda t, n: t.randn(n, dtype=t.float64),
    "randn16": lambda t, n: t.randn(n, dtype=t.float16),
    "randn by columns": lambda t, n: t.zeros(n, 3).transpose(0, 1).normal_(1, 2),
    "log_normal": lambda t, n: t.zeros(n).log_normal_(),
    "randint": lambda t, n: t.randint(1000, (n,)),
    "randint64": lambda t, n: t.randint(2**40, (n,)),
    "randperm": lambda t, n: t.randperm(n),
    "bernoulli": lambda t, n: t.zeros(n).bernoulli_(0.4),
    "poisson": lambda t, n: t.poisson(t.full((n,), 2.5)),
    "multinomial": lambda t, n: t.multinomial(t.ones(n + 1), n + 1),
    "seed": lambda t, n: t.zeros(t.manual_seed(n).initial_seed()),
    "base seed": lambda t, n: t.empty((), dtype=t.int64).random_(),
}
steps = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.sampled_from((0, 1, 2, 3, 15, 16, 17, 50))), max_size=8)


@settings(max_examples=150, deadline=None)
@given(steps=steps, seed=st.integers(-(2**63), 2**64 - 1))
def test_calls_of_many_kinds_in_turn(steps, seed):
    minitorch.manual_seed(seed)
    torch.manual_seed(seed)
    for name, n in steps:
        assert_same(STEPS[name](minitorch, n), STEPS[name](torch, n))
        mine, theirs = states()
        assert mine == theirs, name


@settings(max_examples=25, deadline=None)
@given(steps=steps, seed=st.integers(0, 2**64 - 1))
def test_states_can_be_exchanged(steps, seed):
    minitorch.manual_seed(seed)
    for name, n in steps:
        STEPS[name](minitorch, n)
    torch.set_rng_state(torch.from_numpy(minitorch.get_rng_state().numpy().copy()))
    assert_same(minitorch.randn(5), torch.randn(5))
    minitorch.set_rng_state(minitorch.from_numpy(torch.get_rng_state().numpy().copy()))
    assert_same(minitorch.randn(4), torch.randn(4))
    mine, theirs = states()
    assert mine == theirs


# ------------------------------------------------------------------ data in the same order
def orders(t, data):
    """The choices of each library's samplers, splits and loaders, with and without a generator."""
    items = list(range(23))
    g = t.Generator().manual_seed(9)
    yield [list(part) for part in data.random_split(items, [10, 8, 5])]
    yield [list(part) for part in data.random_split(items, [0.5, 0.3, 0.2], generator=g)]
    yield list(data.RandomSampler(items))
    yield list(data.RandomSampler(items, generator=g))
    yield list(data.RandomSampler(items, replacement=True, num_samples=70))
    yield list(data.RandomSampler(items, num_samples=60, generator=g))
    yield list(data.WeightedRandomSampler([0.1, 0.7, 0.2], 9))
    for _ in range(2):
        yield [batch.tolist() for batch in data.DataLoader(items, batch_size=4, shuffle=True)]
    yield [batch.tolist() for batch in data.DataLoader(items, batch_size=4, shuffle=True, generator=g)]


def test_data_in_the_same_order():
    import torch.utils.data as theirs

    class mine:
        pass

    for thing in (DataLoader, RandomSampler, WeightedRandomSampler):
        setattr(mine, thing.__name__, thing)
    mine.random_split = staticmethod(random_split)
    minitorch.manual_seed(4)
    torch.manual_seed(4)
    for a, b in zip(orders(minitorch, mine), orders(torch, theirs), strict=True):
        assert a == b
    assert len(set(states())) == 1


@pytest.mark.parametrize("n", (1, 3, 1000))
def test_dropout_masks(n):
    """Dropout is a Bernoulli mask like its input, drawn even-handedly in float64, over the probability of a one."""
    torch.manual_seed(0)
    theirs = torch.nn.functional.dropout(torch.ones(n, 2).t(), 0.3)
    minitorch.manual_seed(0)
    mask = minitorch.empty_like(minitorch.ones(n, 2).transpose(0, 1)).bernoulli_(1 - 0.3)
    assert ((mask.array > 0) == (theirs.numpy() > 0)).all()


LAYERS = {
    "Linear": lambda nn: nn.Linear(7, 5),
    "Conv2d": lambda nn: nn.Conv2d(3, 4, 3),
    "Embedding": lambda nn: nn.Embedding(10, 6),
    "LSTM": lambda nn: nn.LSTM(4, 3, 2, bidirectional=True),
    "MultiheadAttention": lambda nn: nn.MultiheadAttention(8, 2),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_initial_weights(layer):
    nn = pytest.importorskip("minitorch.nn")
    minitorch.manual_seed(0)
    torch.manual_seed(0)
    mine, theirs = LAYERS[layer](nn).state_dict(), LAYERS[layer](torch.nn).state_dict()
    assert list(mine) == list(theirs)
    for name in theirs:
        assert_same(mine[name].detach(), theirs[name])


@pytest.mark.parametrize("name", ("uniform_", "normal_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
                                  "kaiming_normal_"))
def test_initialisers(name):
    init = pytest.importorskip("minitorch.nn.init")
    check(lambda t: getattr(init if t is minitorch else t.nn.init, name)(t.empty(20, 9)))
