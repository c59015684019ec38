"""Random numbers: PyTorch's for the same seed (stored values), and what holds of any.

Live comparison with PyTorch, over more sizes and dtypes, is in tests/parity/test_random.py.
"""

import copy
import hashlib
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import minitorch as t
from minitorch.ops.creation import random as ops_random
from minitorch.random import boxmuller, rejection, sampling
from minitorch.random.generator import Generator, default_generator

few = settings(max_examples=25, deadline=None)

# The numbers of PyTorch 2.13 on the CPU (Linux, x86-64) after manual_seed(2024).
STORED = {
    "rand(5)": [0.5317158699035645, 0.8312679529190063, 0.9718379974365234, 0.11930084228515625, 0.16690224409103394],
    "rand(3, dtype=t.float64)": [0.25372732026738665, 0.7747043317543358, 0.33521823650125215],
    "rand(3, dtype=t.float16)": [0.53173828125, 0.8310546875, 0.9716796875],
    "rand(4, dtype=t.bfloat16)": [0.53125, 0.83203125, 0.97265625, 0.119140625],
    "rand(2, dtype=t.complex64)": [
        (0.5317158699035645+0.8312679529190063j), (0.9718379974365234+0.11930084228515625j),
    ],
    "randn(5)": [
        -0.040429167449474335, 1.7259920835494995, -0.8140387535095215, 1.372166633605957, 0.5059648156166077,
    ],
    "randn(3, dtype=t.float64)": [-0.04042916736941367, 1.72599212022981, -0.8140387642807665],
    "randn(17)[:4]": [-1.2262355089187622, -2.1806845664978027, 0.3699551522731781, 0.4143979847431183],
    "randn(16, dtype=t.float64)[7:10]": [-0.7402375958437089, 0.2994621994006874, 1.0992877282745452],
    "randn(40, dtype=t.float16)[30:34]": [-0.89697265625, 1.263671875, 0.8271484375, 0.45947265625],
    "randn(3, dtype=t.complex64)": [
        (-0.028587738052010536+1.2204607725143433j), (-0.5756123065948486+0.9702683091163635j),
        (0.3577711284160614-0.3410640358924866j),
    ],
    "randint(10, (8,))": [2, 0, 4, 0, 3, 0, 0, 1],
    "randint(-5, 5, (6,), dtype=t.int8)": [-3, -5, -1, -5, -2, -5],
    "randint(0, 2**40, (3,))": [587367501306, 415489755776, 118520116772],
    "randint(0, 2**28, (3,))": [30723578, 220105344, 140080676],
    "randint(0, 2**28 - 1, (3,))": [109584017, 30723590, 49859179],
    "randint(2, (8,), dtype=t.bool)": [False, False, False, False, True, False, False, True],
    "randperm(10)": [2, 3, 0, 8, 7, 5, 1, 9, 4, 6],
    "randperm(6, dtype=t.int32)": [2, 1, 0, 5, 3, 4],
    "zeros(3).uniform_(-0.1, 0.1)": [0.006343174260109663, 0.06625359505414963, 0.0943676009774208],
    "zeros(3).normal_(2, 0.5)": [1.979785442352295, 2.8629961013793945, 1.5929806232452393],
    "zeros(4).exponential_()": [0.29266422986984253, 1.4903416633605957, 0.40829646587371826, 1.2727501392364502],
    "zeros(3).exponential_(2.5)": [0.11706569045782089, 0.5961366891860962, 0.16331858932971954],
    "zeros(6).geometric_(0.3)": [4.0, 1.0, 4.0, 1.0, 1.0, 5.0],
    "zeros(3).cauchy_()": [-0.9768505692481995, 1.168649673461914, -0.569481611251831],
    "zeros(3).log_normal_()": [2.5071375370025635, 85.7970199584961, 0.5336166620254517],
    "zeros(8).bernoulli_(0.3)": [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
    "zeros(8, dtype=t.bool).bernoulli_()": [True, False, True, False, False, True, True, True],
    "zeros(6).bernoulli_(t.tensor([0.1, 0.2, 0.4, 0.6, 0.8, 0.9]))": [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
    "empty((), dtype=t.int64).random_()": [1623581238383398394],
    "zeros(3).random_()": [8920562.0, 13946169.0, 16304558.0],
    "zeros(4, dtype=t.uint8).random_()": [136, 250, 96, 128],
    "zeros(3, dtype=t.int32).random_(100, None)": [1546454222, 259855272, 968554832],
    "zeros(2, dtype=t.int64).random_(-2**63, None)": [-7599790798471377414, -5550464023895569792],
    "zeros(4).half().random_(4000)": [2494.0, 3836.0, 3258.0, 2600.0],
    "zeros(3, 2).transpose(0, 1).uniform_()": [
        0.5317158699035645, 0.9718379974365234, 0.16690224409103394, 0.8312679529190063, 0.11930084228515625,
        0.3494589328765869,
    ],
    "zeros(3, 2).transpose(0, 1).normal_()": [
        -0.040429167449474335, -0.8140387535095215, 0.5059648156166077, 1.7259920835494995, 1.372166633605957,
        -0.4823373854160309,
    ],
    "normal(t.tensor([0.0, 10.0, 100.0]), t.tensor([1.0, 0.1, 0.0]))": [
        -0.040429167449474335, 10.172598838806152, 100.0,
    ],
    "normal(1.0, 3.0, (3,))": [0.8787124752998352, 6.177976131439209, -1.4421162605285645],
    "multinomial(t.tensor([1.0, 2.0, 3.0, 4.0]), 3)": [2, 0, 3],
    "multinomial(t.tensor([1.0, 2.0, 3.0, 4.0]), 8, True)": [1, 3, 2, 3, 3, 1, 2, 2],
    "multinomial(t.tensor([[1.0, 0.0, 3.0], [0.0, 2.0, 1.0]]), 1)": [2, 2],
    "bernoulli(t.tensor([0.1, 0.5, 0.9, 1.0]))": [0.0, 0.0, 0.0, 1.0],
    "poisson(t.tensor([0.0, 0.5, 5.0, 50.0, 500.0]))": [0.0, 0.0, 6.0, 49.0, 471.0],
    "binomial(t.tensor([5.0, 50.0, 500.0]), t.tensor([0.5, 0.9, 0.3]))": [3.0, 45.0, 137.0],
}

# The first 16 digits of the SHA-256 of the result's bytes, after manual_seed(7).
DIGESTS = {
    "rand(40_000)": "8ca376e06307e008",
    "rand(1001, dtype=t.float64)": "781bbfaedf2d9ba8",
    "rand(999, dtype=t.float16)": "22651cf47afa610b",
    "rand(999, dtype=t.bfloat16)": "385aabd942b625ad",
    "randn(40_000)": "db0fc98c1143385a",
    "randn(1003)": "2cf61bb069e0a6d1",
    "randn(1003, dtype=t.bfloat16)": "23f7d45a95b282ef",
    "randn(1000, 7)": "0f9af3978d9c9a2d",
    "zeros(1000).normal_(3, 0.02)": "1602c0435ba9e022",
    "zeros(1000).uniform_(-1 / 3, 1 / 3)": "5291c359ecebaea1",
    "randint(1000, (40_000,))": "7d850ed3ab811227",
    "randperm(5000)": "7f4651b400bf3a11",
    "zeros(40_000, dtype=t.bool).bernoulli_(0.2)": "486847d6ddb44faa",
}


def evaluate(expression, seed):
    t.manual_seed(seed)
    return eval("t." + expression, {"t": t})


def needs_bfloat16(expression):
    if "bfloat16" in expression:
        pytest.importorskip("ml_dtypes", reason="bfloat16 needs ml_dtypes")


# ------------------------------------------------------------------ PyTorch's numbers
@pytest.mark.filterwarnings("ignore:to - 1 is out of bounds")
@pytest.mark.parametrize("expression", STORED)
def test_stored_value(expression):
    needs_bfloat16(expression)
    found = evaluate(expression, 2024)
    # 1e-12 is below one unit in the last place of float32, and some of float64, where the C library has a say.
    np.testing.assert_allclose(np.array(found.reshape(-1).tolist()), np.array(STORED[expression]), rtol=1e-12)


@pytest.mark.parametrize("expression", DIGESTS)
def test_stored_digest(expression):
    needs_bfloat16(expression)
    found = np.ascontiguousarray(evaluate(expression, 7).array)
    assert hashlib.sha256(found.tobytes()).hexdigest()[:16] == DIGESTS[expression]


def test_calls_of_many_kinds_in_turn():
    """The spare normal number and draws of 32 and 64 bits share one stream."""
    t.manual_seed(3)
    found = [t.randn(3), t.rand(2), t.randn(2, dtype=t.float64), t.randn(16)[:2], t.randn(1), t.zeros(3).log_normal_(),
             t.randint(5, (3,)), t.randn(2)]
    wanted = [
        [0.8032760620117188, 0.17483338713645935, 0.08897809684276581], [0.5944212079048157, 0.887856662273407],
        [-0.6137180077293578, -0.517535097752766], [0.3169765770435333, 1.1059221029281616], [-0.41864654421806335],
        [6.32190465927124, 4.544187068939209, 0.022963667288422585], [2, 1, 3],
        [-0.5047470331192017, -0.9016764163970947],
    ]
    for x, values in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x.tolist(), values, rtol=1e-12)


@pytest.mark.parametrize("seed, first", [
    (-1, [0.9937993884086609, 0.5713063478469849]),
    (2**64 - 1, [0.9937993884086609, 0.5713063478469849]),
    (2**40 + 5, [0.8302518725395203, 0.12611091136932373]),
    (5, [0.8302518725395203, 0.12611091136932373]),
])
def test_seeds_of_64_bits(seed, first):
    assert t.manual_seed(seed) is default_generator is t.default_generator
    assert t.initial_seed() == seed % 2**64
    assert t.rand(2).tolist() == first


def digest(state):
    return hashlib.sha256(state.numpy().tobytes()).hexdigest()[:16]


def test_state_is_laid_out_as_pytorchs():
    """Digests of torch.get_rng_state() after the same calls: fresh, and with a spare normal number."""
    t.manual_seed(5)
    assert digest(t.get_rng_state()) == "f4ef6f460154679c"
    t.randn(3)
    t.rand(1000)
    state = t.get_rng_state()
    assert (state.shape, state.dtype) == ((5056,), t.uint8)
    assert digest(state) == "dda80c471f8fc2fb"
    t.manual_seed(0)
    t.set_rng_state(state)
    assert t.randn(2).tolist() == [0.6675242781639099, -1.1015645265579224]
    assert t.rand(1).tolist() == [0.5490946173667908]


# ------------------------------------------------------------------ generators
CALLS = {
    "rand": lambda g, n: t.rand(n, generator=g),
    "randn": lambda g, n: t.randn(n, generator=g),
    "randperm": lambda g, n: t.randperm(n, generator=g),
    "randint": lambda g, n: t.randint(0, 2**40, (n,), generator=g),
    "bernoulli": lambda g, n: t.zeros(n).bernoulli_(0.5, generator=g),
    "poisson": lambda g, n: t.poisson(t.full((n,), 4.0), generator=g),
}
calls = st.lists(st.tuples(st.sampled_from(sorted(CALLS)), st.sampled_from([0, 1, 2, 3, 15, 16, 17, 100])), max_size=5)


def run(generator, made):
    return [CALLS[name](generator, n).tolist() for name, n in made]


@few
@given(before=calls, after=calls, seed=st.integers(-(2**63), 2**64 - 1))
def test_a_copied_or_restored_generator_continues_alike(before, after, seed):
    g = t.Generator().manual_seed(seed)
    run(g, before)
    restored = t.Generator()
    restored.set_state(g.get_state())
    others = [restored, g.clone_state(), pickle.loads(pickle.dumps(g)), copy.deepcopy(g)]
    wanted, state = run(g, after), g.get_state().tolist()
    for other in others:
        assert run(other, after) == wanted
        assert other.get_state().tolist() == state
        assert other.initial_seed() == g.initial_seed() == seed % 2**64
        assert run(other.manual_seed(1), after) == run(t.Generator().manual_seed(1), after)


def test_generators_are_independent():
    t.manual_seed(0)
    wanted = t.rand(4).tolist()
    t.manual_seed(0)
    g = t.Generator().manual_seed(0)
    assert t.rand(4, generator=g).tolist() == wanted
    assert t.rand(4).tolist() == wanted


def test_default_seed_and_unpredictable_seed():
    assert t.Generator().initial_seed() == 67280421310721
    g = t.Generator()
    assert g.seed() == g.initial_seed() != t.Generator().seed()
    assert t.seed() == t.initial_seed()
    assert str(g.device) == "cpu"


def test_fork_rng():
    t.manual_seed(0)
    with t.random.fork_rng():
        inside = t.rand(2).tolist()
        t.manual_seed(9)
    assert t.rand(2).tolist() == inside
    t.manual_seed(0)
    with t.random.fork_rng(enabled=False):
        t.rand(2)
    assert t.rand(2).tolist() != inside


@pytest.mark.parametrize("seed, error", [(1.5, RuntimeError), (True, RuntimeError), ("3", RuntimeError),
                                         (2**64, ValueError), (-(2**63) - 1, ValueError)])
def test_seeds_that_are_none(seed, error):
    with pytest.raises(error, match="manual_seed expected a long|Overflow"):
        t.Generator().manual_seed(seed)


def test_states_that_are_none():
    g = t.Generator()
    with pytest.raises(TypeError, match="expected a minitorch.ByteTensor.* got int"):
        g.set_state(3)
    with pytest.raises(TypeError, match="must be a minitorch.ByteTensor"):
        g.set_state(t.zeros(5056))
    with pytest.raises(RuntimeError, match="size 5056 but found .* 5$"):
        g.set_state(t.zeros(5, dtype=t.uint8))
    with pytest.raises(RuntimeError, match="Invalid mt19937 state"):
        g.set_state(t.zeros(5056, dtype=t.uint8))
    with pytest.raises(RuntimeError, match="does not use offset"):
        g.get_offset()


# ------------------------------------------------------------------ exact arithmetic
floats = st.floats(-1e6, 1e6, width=32)


@settings(max_examples=200, deadline=None)
@given(a=st.floats(-1e6, 1e6), b=st.floats(-1e6, 1e6), c=st.floats(-1e6, 1e6))
@example(a=2.5, b=7.097336554167429e-117, c=1.9688670130988444e-188)     # a tie but for the sum of both errors
@example(a=1 + 2.0**-52, b=1.5, c=2.0**-120)
@example(a=1 + 2.0**-52, b=1.5, c=-2.0**-120)
def test_fused_multiply_add_rounds_once(a, b, c):
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    found = sampling.multiply_add64(np.array([a]), np.float64(b), np.float64(c))[0]
    assert found == float(exact) or abs(exact) < 1e-290


def test_fused_multiply_add_beyond_the_range():
    found = sampling.multiply_add64(np.array([2.0, -2.0, 1e-3]), np.float64(1e308), np.float64(1.0))
    assert found.tolist() == [math.inf, -math.inf, 1e305]


def test_box_muller_is_accurate():
    """Its polynomials are those of single precision: right to a few units in the last place."""
    u = np.random.default_rng(0).random(1600, np.float32)
    z = boxmuller.box_muller(u).reshape(-1, 2, 8)
    u = u.astype(np.float64).reshape(-1, 2, 8)
    radius, angle = np.sqrt(-2 * np.log(1 - u[:, 0])), 2 * np.pi * u[:, 1]
    np.testing.assert_allclose(z[:, 0], radius * np.cos(angle), atol=1e-6)
    np.testing.assert_allclose(z[:, 1], radius * np.sin(angle), atol=1e-6)


# ------------------------------------------------------------------ permutations and order
def shuffle_by_swaps(g, n):
    """The loop of Fisher and Yates that `permutation` stands for."""
    order = list(range(n))
    for i, word in enumerate(g.words(max(n - 1, 0)).tolist()):
        j = i + word % (n - i)
        order[i], order[j] = order[j], order[i]
    return order


@few
@given(n=st.integers(0, 300), seed=st.integers(0, 2**32))
def test_permutation_is_that_of_the_loop(n, seed):
    found = sampling.permutation(Generator().manual_seed(seed), n)
    assert found.tolist() == shuffle_by_swaps(Generator().manual_seed(seed), n)


@pytest.mark.parametrize("n", [40_000, 70_000])
def test_long_permutations_of_several_blocks(n):
    found = t.randperm(n, generator=t.Generator().manual_seed(1)).tolist()
    assert found == shuffle_by_swaps(Generator().manual_seed(1), n)


@few
@given(n=st.integers(1, 200), seed=st.integers(0, 2**32))
def test_permutation_for_very_many(n, seed):
    found = sampling.long_permutation(Generator().manual_seed(seed), n)
    assert sorted(found.tolist()) == list(range(n))


FILLS = {
    "uniform_": lambda x, g: x.uniform_(generator=g),
    "exponential_": lambda x, g: x.exponential_(generator=g),
    "bernoulli_": lambda x, g: x.bernoulli_(0.3, generator=g),
    "random_": lambda x, g: x.random_(100, generator=g),
    "geometric_": lambda x, g: x.geometric_(0.2, generator=g),
}


@pytest.mark.parametrize("fill", FILLS)
@few
@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=4), data=st.data())
def test_elements_are_filled_in_the_order_of_memory(fill, shape, data):
    """Whatever the order of its dimensions, a dense tensor's memory gets the numbers in sequence."""
    dims = data.draw(st.permutations(range(len(shape))))
    x = t.zeros(tuple(shape)).permute(*dims)
    FILLS[fill](x, t.Generator().manual_seed(0))
    flat = FILLS[fill](t.zeros(math.prod(shape)), t.Generator().manual_seed(0))
    back = x.permute(*np.argsort(dims).tolist())
    assert back.reshape(-1).tolist() == flat.tolist()


@pytest.mark.parametrize("n", [100, 50_000])
def test_a_strided_tensor_gets_all_numbers_and_its_neighbours_none(n):
    x = t.zeros(n, 2)
    x[:, 1].uniform_(generator=t.Generator().manual_seed(0))
    assert x[:, 0].abs().sum().item() == 0
    assert x[:, 1].tolist() == t.rand(n, generator=t.Generator().manual_seed(0)).tolist()


@few
@given(m=st.integers(0, 50), n=st.integers(0, 50))
def test_uniform_numbers_do_not_depend_on_how_they_are_asked_for(m, n):
    g, h = t.Generator().manual_seed(3), t.Generator().manual_seed(3)
    parts = t.rand(m, generator=g).tolist() + t.rand(n, generator=g).tolist()
    assert parts == t.rand(m + n, generator=h).tolist()


class Elsewhere:
    """An array that is not NumPy's, as those of other devices."""

    def __init__(self, array):
        self.memory = array

    def __getattr__(self, name):
        return getattr(self.memory, name)

    def __setitem__(self, key, value):
        self.memory[key] = value


@pytest.mark.parametrize("make", [lambda: np.zeros((4, 5)), lambda: np.zeros((3, 4, 5)).transpose(1, 2, 0),
                                  lambda: np.zeros((9, 8))[1::2, ::3].T, lambda: np.zeros(())])
def test_numbers_do_not_depend_on_the_device(make):
    for sampler in (sampling.uniform, sampling.normal):
        here, there = make(), Elsewhere(make())
        ops_random.draw(sampler, t.backends.get("cpu"), here, Generator().manual_seed(0))
        ops_random.draw(sampler, t.backends.get("cpu"), there, Generator().manual_seed(0))
        assert here.tolist() == there.memory.tolist() and here.any()


def test_nothing_is_drawn_for_nothing():
    t.manual_seed(0)
    state = t.get_rng_state().tolist()
    t.rand(0), t.randn(0, 5), t.randint(5, (0,)), t.randperm(0), t.randperm(1), t.zeros(0).random_()
    t.zeros(0).bernoulli_(), t.poisson(t.zeros(7)), t.multinomial(t.zeros(0, 4) + 1, 2)
    assert t.get_rng_state().tolist() == state


# ------------------------------------------------------------------ distributions
def draws(expression, n=100_000):
    x = evaluate(expression.format(n=n), 12345)
    return np.array(x.tolist(), np.float64)


@pytest.mark.parametrize("expression, mean, std", [
    ("rand({n})", 0.5, 12**-0.5),
    ("rand({n}, dtype=t.float64)", 0.5, 12**-0.5),
    ("randn({n})", 0, 1),
    ("randn({n}, dtype=t.float64)", 0, 1),
    ("zeros(2, {n}).transpose(0, 1)[:, 0].normal_()", 0, 1),
    ("zeros({n}).uniform_(-3, 5)", 1, 8 * 12**-0.5),
    ("zeros({n}).normal_(3, 0.5)", 3, 0.5),
    ("zeros({n}).exponential_(4)", 0.25, 0.25),
    ("zeros({n}).geometric_(0.25)", 4, 12**0.5),
    ("zeros({n}).log_normal_(0, 0.5)", math.exp(0.125), math.exp(0.125) * math.sqrt(math.exp(0.25) - 1)),
    ("zeros({n}).bernoulli_(0.2)", 0.2, 0.4),
    ("bernoulli(t.full(({n},), 0.2))", 0.2, 0.4),
    ("randint(-10, 11, ({n},))", 0, math.sqrt((21**2 - 1) / 12)),
    ("zeros({n}, dtype=t.uint8).random_()", 127.5, math.sqrt((256**2 - 1) / 12)),
    ("poisson(t.full(({n},), 3.0))", 3, 3**0.5),
    ("poisson(t.full(({n},), 60.0))", 60, 60**0.5),
    ("binomial(t.full(({n},), 8.0), t.full(({n},), 0.7))", 5.6, (8 * 0.7 * 0.3) ** 0.5),
    ("binomial(t.full(({n},), 90.0), t.full(({n},), 0.3))", 27, (90 * 0.7 * 0.3) ** 0.5),
    ("multinomial(t.tensor([1.0, 0.0, 3.0]), {n}, True)", 1.5, 0.75**0.5),
])
def test_mean_and_standard_deviation(expression, mean, std):
    n = 5_000 if "nomial" in expression or "poisson" in expression else 100_000
    x = draws(expression, n)
    assert abs(x.mean() - mean) < 5 * std / math.sqrt(n)
    assert abs(x.std() / std - 1) < 20 / math.sqrt(n)


def test_cauchy_quartiles():
    x = draws("zeros({n}).cauchy_(2, 3)")
    np.testing.assert_allclose(np.quantile(x, [0.25, 0.5, 0.75]), [-1, 2, 5], atol=0.1)


def test_normal_numbers_are_uncorrelated_and_have_normal_tails():
    x = draws("randn({n})")
    assert abs(np.corrcoef(x[:-8], x[8:])[0, 1]) < 0.02 and abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 0.02
    assert abs((np.abs(x) > 1.959964).mean() - 0.05) < 0.004


def test_complex_normal_numbers_share_the_variance():
    t.manual_seed(0)
    z = t.randn(50_000, dtype=t.complex64).array
    assert abs(z.real.var() - 0.5) < 0.02 and abs(z.imag.var() - 0.5) < 0.02


def test_gamma_and_dirichlet():
    g = Generator().manual_seed(0)
    x = rejection.standard_gamma(g, np.full(4000, 2.5))
    assert abs(x.mean() - 2.5) < 0.15 and abs(x.var() - 2.5) < 0.4
    assert rejection.standard_gamma(g, np.full(2000, 0.3, np.float32)).mean() == pytest.approx(0.3, abs=0.06)
    y = rejection.dirichlet(g, np.tile([1.0, 2.0, 5.0], (2000, 1)))
    np.testing.assert_allclose(y.sum(-1), 1, rtol=1e-12)
    np.testing.assert_allclose(y.mean(0), [1 / 8, 2 / 8, 5 / 8], atol=0.02)


@few
@given(low=st.integers(-(2**62), 2**62 - 1), span=st.integers(1, 2**62), seed=st.integers(0, 100))
def test_integers_lie_in_their_range(low, span, seed):
    g = t.Generator().manual_seed(seed)
    found = t.randint(low, low + span, (50,), generator=g).tolist()
    assert all(low <= x < low + span for x in found)


def test_an_upper_bound_of_integers_has_64_bits():
    """2**63 is one too many, as in PyTorch, though no number drawn would be as large."""
    t.randint(2**62, 2**63 - 1, (5,))
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        t.randint(2**62, 2**63, (5,))


@few
@given(low=st.floats(-100, 100), span=st.floats(0, 100), dtype=st.sampled_from([t.float16, t.float32, t.float64]))
def test_uniform_numbers_lie_in_their_range(low, span, dtype):
    x = np.array(t.zeros(500, dtype=dtype).uniform_(low, low + span).tolist())
    low, high = (float(np.array(v).astype(dtype.np)) for v in (low, low + span))
    assert (x >= low).all() and ((x < high).all() or low == high)


@few
@given(n=st.integers(1, 8), seed=st.integers(0, 1000))
def test_multinomial_without_replacement_takes_each_once_and_none_of_no_weight(n, seed):
    weights = t.tensor([1.0, 0.0, 2.0, 3.0, 0.0, 1.0, 5.0, 1.0, 1.0, 1.0])
    found = t.multinomial(weights, n, generator=t.Generator().manual_seed(seed)).tolist()
    assert len(set(found)) == n and not {1, 4} & set(found)


def test_multinomial_by_rows():
    weights = t.tensor([[0.0, 1.0], [1.0, 0.0]])
    for n, replacement in ((1, False), (1, True), (6, True)):
        assert t.multinomial(weights, n, replacement).tolist() == [[1] * n, [0] * n]


# ------------------------------------------------------------------ as ops in place
def test_writes_are_counted_and_leaves_protected():
    x = t.zeros(3)
    x.uniform_()
    x.normal_()
    assert x._version == 2
    leaf = t.zeros(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        leaf.uniform_()
    with t.no_grad():
        leaf.uniform_()
    assert leaf.requires_grad and leaf.is_leaf and leaf.abs().sum().item() > 0
    with pytest.raises(RuntimeError, match="more than one element .* single memory location"):
        t.zeros(1).expand(3).uniform_()


def test_a_saved_value_that_was_overwritten_is_noticed():
    x = t.ones(3, requires_grad=True)
    y = x * 2
    z = y * y
    y.uniform_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation.*uniform_"):
        z.sum().backward()


@pytest.mark.parametrize("call", [
    lambda x: (x * 1).uniform_(), lambda x: (x * 1).bernoulli_(x.detach()), lambda x: t.bernoulli(x),
    lambda x: t.poisson(x), lambda x: t.normal(x, 1.0), lambda x: t.normal(0.0, x),
])
def test_gradients_through_random_numbers_are_zero(call):
    x = t.full((3,), 0.5, requires_grad=True)
    out = call(x)
    assert out.requires_grad
    out.sum().backward()
    assert x.grad.tolist() == [0, 0, 0]


def test_created_tensors():
    x = t.rand(2, 3, dtype=t.float64, requires_grad=True)
    assert (x.shape, x.dtype, x.requires_grad, x.is_leaf) == ((2, 3), t.float64, True, True)
    assert t.rand(()).shape == t.rand(size=[]).shape == ()
    like = t.zeros(3, 4, dtype=t.float64).transpose(0, 1)
    assert (t.randn_like(like).stride(), t.randn_like(like).dtype) == ((1, 4), t.float64)
    assert t.randn_like(like, memory_format=t.contiguous_format).stride() == (3, 1)
    assert t.randint_like(like, 3).dtype is t.float64
    assert t.randint(3, (2,)).dtype is t.randperm(3).dtype is t.int64
    out = t.empty(0)
    assert t.rand(4, out=out) is out and out.shape == (4,)
    assert t.multinomial(t.ones(3), 2, out=t.zeros(0, dtype=t.int64)).shape == (2,)
    assert t.normal(t.zeros(2, 1), t.ones(3)).shape == (2, 3)


@pytest.mark.parametrize("expression, error, message", [
    ("rand()", TypeError, "needs a size"),
    ("rand(-1)", RuntimeError, "negative dimension -1"),
    ("rand(2, dtype=t.int64)", NotImplementedError, "for 'int64': expected a floating-point or complex"),
    ("rand(2, generator=5)", TypeError, "must be minitorch.Generator, not int"),
    ("rand(2, out=t.zeros(2), dtype=t.float64)", RuntimeError, "does not match dtype of out"),
    ("rand_like([1.0])", TypeError, "must be Tensor, not list"),
    ("randint(5)", TypeError, "randint(10, (2, 3))"),
    ("randint(5, 5, (2,))", RuntimeError, "'from' to be less than 'to', but got from=5 >= to=5"),
    ("randint(2.5, (2,))", TypeError, "must be int, not float"),
    ("randint(300, (2,), dtype=t.uint8)", RuntimeError, "to - 1 is out of bounds for uint8: 299"),
    ("randint(0, 2**64, (2,))", ValueError, "Overflow"),
    ("randperm(-1)", RuntimeError, "negative dimension"),
    ("randperm(300, dtype=t.uint8)", RuntimeError, "cannot be greater than 256 for uint8"),
    ("zeros(2).uniform_(2, 1)", RuntimeError, "found from=2 > to=1"),
    ("zeros(2).uniform_(0, 1e39)", RuntimeError, "to is out of bounds for float32"),
    ("zeros(2).uniform_(0, up_to=1)", TypeError, "takes `from`, `to` and `generator`"),
    ("zeros(2).normal_(0, -1)", RuntimeError, "std >= 0.0, but found std -1"),
    ("normal(0.0, 1.0)", TypeError, "needs a size"),
    ("normal(t.zeros(2), t.ones(3))", RuntimeError, "[2] and [3] do not broadcast"),
    ("normal(0.0, t.tensor([-1.0]))", RuntimeError, "all elements of std >= 0.0"),
    ("zeros(2).bernoulli_(1.5)", RuntimeError, "p to be in [0, 1], but got p=1.5"),
    ("bernoulli(t.tensor([1.5]))", RuntimeError, "outside [0, 1]"),
    ("zeros(2).bernoulli_(t.zeros(3))", RuntimeError, "shape [3], do not broadcast against the tensor, of shape [2]"),
    ("zeros(2).exponential_(0)", RuntimeError, "lambda > 0.0"),
    ("zeros(2).geometric_(1)", RuntimeError, "p to be in (0, 1)"),
    ("zeros(2).cauchy_(0, 0)", RuntimeError, "sigma > 0.0"),
    ("zeros(2).log_normal_(0, 0)", RuntimeError, "std > 0.0"),
    ("poisson(t.tensor([-1.0]))", RuntimeError, "non-negative"),
    ("multinomial(t.ones(3), 4)", RuntimeError, "4 of 3"),
    ("multinomial(t.ones(3), 0)", RuntimeError, "n_sample <= 0"),
    ("multinomial(t.zeros(3), 1)", RuntimeError, "sum of probabilities <= 0"),
    ("multinomial(t.tensor([1.0, -1.0]), 1)", RuntimeError, "element < 0"),
    ("multinomial(t.ones(1, 2, 3), 1)", RuntimeError, "1 or 2 dim"),
])
def test_errors_say_what_was_wrong(expression, error, message):
    with pytest.raises(error) as caught:
        evaluate(expression, 0)
    assert message in str(caught.value)


def test_floats_beyond_their_digits_are_warned_of():
    with pytest.warns(UserWarning, match="out of bounds"):
        t.zeros(2).random_(2**30)
