"""Random tensors, and the methods that overwrite a tensor with random numbers.

The numbers are those of `minitorch.random.sampling`, from the default generator or a given one: with the same seed
those of PyTorch on the CPU (docs/randomness.md says how exactly). CUDA devices and the simulator draw their own, by
Philox (`minitorch/random/philox.py`). Random numbers do not depend on the values they replace: gradients through these
functions are zero. The formulas of the distributions are in `minitorch/random`, not here.
"""

import math
import operator
from functools import cache

from ...core import dtypes, ranges
from ...core.grad_mode import grad_mode, open_batches
from ...core.graph import bump_version
from ...core.inplace import adopt, check_is_no_leaf, write_tangents
from ...core.memory import require_no_overlap
from ...core.out import resize_to
from ...core.recording import recorded
from ...core.tensor import Tensor, wrap
from ...explain.callers import warn
from ...random import rejection, sampling
from ...random.generator import Generator, default_of
from ..define import composite, method
from ..shapes.shape import ints
from ..shapes.view import broadcast_shapes
from .create import empty, empty_like, sizes

FLOATS, REALS = "fV", "fViu"                              # NumPy's kinds; V is bfloat16
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


# ---- common to all -----------------------------------------------------------------------------------------
def choose(generator, backend, name):
    """The generator to draw from: the given one, which must be for the tensor's device, or the default one."""
    if generator is None:
        return default_of(backend.device)
    if not isinstance(generator, Generator):
        raise TypeError(f"{name}(): argument 'generator' must be minitorch.Generator, not {type(generator).__name__}")
    if generator.device.type != backend.device.type:
        raise RuntimeError(f"Expected a '{backend.device.type}' device type for generator but found "
                           f"'{generator.device.type}': make it with Generator(device='{backend.device.type}')")
    return generator


def draw(sampler, backend, array, generator, *args):
    """Fill an array of `backend` with a sampler's numbers; returns it."""
    if open_batches and grad_mode.batches and not backend.depth:
        grad_mode.batches[-1].drawable(backend)
    backend.fill_random(array, sampler, generator, args)
    return array


def fill(tensor, name, sampler, args, generator):
    """Overwrite `tensor` with random numbers, as an in-place op."""
    check_is_no_leaf(tensor, name)
    if open_batches and grad_mode.batches:
        grad_mode.batches[-1].writable(tensor)
    array = tensor.array
    require_no_overlap(array)
    unrelated = recorded.zero(tensor) if tensor.needs_grad and grad_mode.enabled else None
    draw(sampler, tensor.backend, array, choose(generator, tensor.backend, name), *args)
    bump_version(tensor, name)
    if tensor.backend.level is not None:
        write_tangents(tensor, None)
    if unrelated is not None:
        adopt(tensor, unrelated)
    return tensor


def check_kind(array, kinds, name, error=NotImplementedError):
    """The array's dtype must be of one of NumPy's `kinds`."""
    if array.dtype.kind not in kinds:
        names = {"f": "floating-point", "c": "complex", "i": "integer", "b": "bool"}
        wanted = " or ".join(word for kind, word in names.items() if kind in kinds)
        raise error(f"{name} is not implemented for '{dtypes.from_np(array.dtype).name}': expected a {wanted} dtype")


def create(name, sampler, arguments, size, generator, out, dtype, device, requires_grad):
    """A new tensor of `size` (or `out`, resized) of random numbers.

    ``arguments(array)`` gives the arguments of the sampler, and raises if the array is of no dtype for it.
    """
    if out is not None:
        if dtype is not None and out.dtype is not dtype:
            raise RuntimeError(f"dtype {dtype} does not match dtype of out parameter ({out.dtype})")
        resize_to(out, ints(size))
        return fill(out, name, sampler, arguments(out.array), generator)
    made = empty(*size, dtype=dtype, device=device)
    return filled(made, name, sampler, arguments, generator, requires_grad)


def create_like(name, sampler, arguments, input, generator, dtype, device, requires_grad, memory_format):
    """A new tensor of the shape, and where it has one the order, of `input`."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    made = empty_like(input, dtype=dtype, device=device, memory_format=memory_format)
    return filled(made, name, sampler, arguments, generator, requires_grad)


def filled(made, name, sampler, arguments, generator, requires_grad):
    if open_batches and grad_mode.batches:
        made = grad_mode.batches[-1].room(made)
    draw(sampler, made.backend, made.array, choose(generator, made.backend, name), *arguments(made.array))
    return made.requires_grad_() if requires_grad else made


def unrelated_to(inputs, array, backend):
    """A tensor of drawn numbers; if some of `inputs` record, so does it, with gradients of zero for each."""
    recording = [x for x in inputs if isinstance(x, Tensor) and x.needs_grad] if grad_mode.enabled else ()
    if not recording:
        return wrap(array, backend)
    zeros = [recorded.zero(x.expand(array.shape) if x.array.shape != array.shape else x) for x in recording]
    out = zeros[0] if len(zeros) == 1 else recorded.add(*zeros)
    out.array = array
    return out


# ---- uniform and normal ------------------------------------------------------------------------------------
@composite(method=False)
def rand(*shape, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
         pin_memory=False):
    """Uniform numbers in [0, 1) of the default or a floating-point dtype, of 24 random bits (float64: of 53).

    >>> import minitorch
    >>> _ = minitorch.manual_seed(0)
    >>> minitorch.rand(3)
    tensor([0.4963, 0.7682, 0.0885])
    """
    return create("rand", sampling.uniform, uniform_arguments, sizes(shape, size, "rand"), generator, out, dtype,
                  device, requires_grad)


@composite(method=False)
def randn(*shape, size=None, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
          pin_memory=False):
    """Normal numbers of mean 0 and variance 1 (of a complex dtype: 1/2 for each part)."""
    return create("randn", sampling.normal, normal_arguments, sizes(shape, size, "randn"), generator, out, dtype,
                  device, requires_grad)


@composite(method=False)
def rand_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
              memory_format=None):
    """Uniform numbers in [0, 1), in the shape, dtype and device of `input`."""
    return create_like("rand_like", sampling.uniform, uniform_arguments, input, generator, dtype, device,
                       requires_grad, memory_format)


@composite(method=False)
def randn_like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False,
               memory_format=None):
    """Normal numbers of mean 0 and variance 1, in the shape, dtype and device of `input`."""
    return create_like("randn_like", sampling.normal, normal_arguments, input, generator, dtype, device,
                       requires_grad, memory_format)


@method
def uniform_(self, *bounds, generator=None, **named):
    """Fill with uniform numbers in [from, to): ``x.uniform_(from=0, to=1, *, generator=None)``."""
    low, high = from_to("uniform_", bounds, named, (0.0, 1.0))
    return fill(self, "uniform_", sampling.uniform, uniform_arguments(self.array, low, high), generator)


def uniform_arguments(array, low=0.0, high=1.0):
    check_kind(array, "fVc", "uniform_()")
    low, high, limit = float(low), float(high), largest_number(array.dtype)
    for word, x in (("from", low), ("to", high)):
        if not -limit <= x <= limit:
            raise RuntimeError(f"{word} is out of bounds for {dtypes.from_np(array.dtype).name}: {x} is beyond {limit}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > limit:
        raise RuntimeError(f"uniform_ expects to-from <= {limit:g}, the largest number of the dtype, but found "
                           f"to={high:g} and from={low:g} which result in to-from to exceed the limit")
    return low, high


@cache
def largest_number(dtype):
    return float(ranges.limits(dtypes.from_np(dtype)).max)


def from_to(name, values, named, defaults):
    """The two arguments called `from`, which Python's grammar does not allow as a parameter, and `to`."""
    if len(values) == 2 and not named:
        return values
    found = dict(zip(("from", "to"), defaults, strict=True))
    unknown = set(named) - set(found)
    if unknown or len(values) > 2:
        raise TypeError(f"{name}() takes `from`, `to` and `generator`, got {len(values)} values by position and "
                        f"{sorted(named)} by name")
    found.update(zip(found, values, strict=False))
    found.update(named)
    return found.values()


@method
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fill with normal numbers; `std` must not be negative."""
    return fill(self, "normal_", sampling.normal, normal_arguments(self.array, mean, std), generator)


def normal_arguments(array, mean=0.0, std=1.0):
    check_kind(array, "fVc", "normal_()")
    check_std(std)
    return float(mean), float(std)


def check_std(std):
    if isinstance(std, Tensor):
        if std.array.dtype.kind == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if not bool((std.array >= 0).all()):
            raise RuntimeError("normal expects all elements of std >= 0.0")
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


@composite(method=False)
def normal(mean, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           pin_memory=False, requires_grad=False):
    """Normal numbers whose means and standard deviations are given: by tensors that broadcast, or by numbers.

    With two numbers `size` says how many. The dtype of the result is that of `mean`, or of `std` if `mean` is a
    number; with two numbers, it is `dtype` or the default one.
    """
    given = [x for x in (mean, std) if isinstance(x, Tensor)]
    if not given:
        if size is None:
            raise TypeError("normal() of two numbers needs a size, as in normal(0.0, 1.0, (2, 3))")
        return create("normal", sampling.normal, lambda array: normal_arguments(array, mean, std), (size,), generator,
                      out, dtype, device, requires_grad)
    if size is not None:
        raise TypeError("normal() takes a size only if mean and std are numbers; tensors have one of their own")
    return normal_of_tensors(mean, std, generator, out)


def normal_of_tensors(mean, std, generator, out):
    """`normal` where one of `mean` and `std` is a tensor, or both are."""
    given = [x for x in (mean, std) if isinstance(x, Tensor)]
    check_std(std)
    if out is not None and grad_mode.enabled and any(x.needs_grad for x in (*given, out)):
        raise RuntimeError("normal(): functions with out=... arguments don't support automatic differentiation, but "
                           "one of the arguments requires grad.")
    if open_batches and grad_mode.batches:
        mean, std = [grad_mode.batches[-1].roomy(x) if isinstance(x, Tensor) else x for x in (mean, std)]
        given = [x for x in (mean, std) if isinstance(x, Tensor)]
    backend, like = given[0].backend, given[0].array if out is None else out.array
    check_kind(like, "fVc", "normal()")
    with_out = out is not None and len(given) == 1 and given[0] is mean
    shape = common_shape([x.array.shape for x in (*given, *([out] if with_out else []))])
    if out is None:
        array = scaled_normal(backend, backend.xp.empty(shape, like.dtype), mean, std, generator)
        return unrelated_to(given, array, backend)
    resize_to(out, shape)
    scaled_normal(backend, out.array, mean, std, generator)
    bump_version(out, "normal")
    return out


def common_shape(shapes):
    """The shape that means, standard deviations and ``out=`` broadcast to."""
    try:
        return broadcast_shapes(*shapes)
    except RuntimeError:
        words = " and ".join(str(list(s)) for s in shapes)
        raise RuntimeError(f"normal(): the shapes {words} do not broadcast") from None


def scaled_normal(backend, array, mean, std, generator):
    """Fill an array with ``standard normal * std + mean``, rounded after each step."""
    scale = 1.0 if isinstance(std, Tensor) else float(std)
    draw(sampling.normal, backend, array, choose(generator, backend, "normal"), 0.0, scale)
    xp = backend.xp
    if isinstance(std, Tensor):
        xp.multiply(array, std.array, out=array, casting="unsafe")
    shift = mean.array if isinstance(mean, Tensor) else array.dtype.type(mean)
    return xp.add(array, shift, out=array, casting="unsafe")


# ---- integers ----------------------------------------------------------------------------------------------
@composite(method=False)
def randint(low=None, high=None, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
            requires_grad=False, pin_memory=False):
    """Integers in [low, high), of int64 unless `dtype` says otherwise: ``randint(high, size)`` or with `low` first.

    >>> import minitorch
    >>> _ = minitorch.manual_seed(0)
    >>> minitorch.randint(10, (4,))
    tensor([4, 9, 3, 0])
    """
    if isinstance(high, (tuple, list)) and size is None:
        high, size = None, high
    if high is None:
        low, high = 0, low
    if size is None or high is None:
        raise TypeError("randint() expects (high, size) or (low, high, size), where size is a tuple of ints: "
                        "randint(10, (2, 3)); for a single number randint(10, ())")
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"randint(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    bounds = whole("randint", low=0 if low is None else low, high=high)
    dtype = dtypes.int64 if dtype is None and out is None else dtype
    return create("randint", sampling.integers, lambda array: integer_arguments(array, *bounds), (size,), generator,
                  out, dtype, device, requires_grad)


@composite(method=False)
def randint_like(input, low=None, high=None, *, generator=None, dtype=None, layout=None, device=None,
                 requires_grad=False, pin_memory=False, memory_format=None):
    """Integers in [low, high), or [0, low) if only one number is given, in the shape, dtype and device of `input`."""
    low, high = (0, low) if high is None else (0 if low is None else low, high)
    bounds = whole("randint_like", low=low, high=high)
    return create_like("randint_like", sampling.integers, lambda array: integer_arguments(array, *bounds), input,
                       generator, dtype, device, requires_grad, memory_format)


def whole(name, **values):
    """The values as ints; TypeError for anything that is not an integer."""
    if all([x.__class__ is int and LOWEST <= x <= HIGHEST for x in values.values()]):
        return list(values.values())
    for word, x in values.items():
        if not hasattr(x, "__index__"):
            raise TypeError(f"{name}(): argument '{word}' must be int, not {type(x).__name__}")
    found = [operator.index(x) for x in values.values()]
    if not all(LOWEST <= x <= HIGHEST for x in found):
        raise ValueError(f"Overflow when unpacking long long: {name}() takes integers of 64 bits, got {found}")
    return found


@method
def random_(self, *bounds, generator=None, **named):
    """Fill with integers: ``x.random_(from, to)`` in [from, to), ``x.random_(to)`` in [0, to).

    ``x.random_()``: from 0 to the largest of an integer dtype; to 2**24 in float32, up to which all integers are
    exact (2**53 in float64, 2**11 in float16, 2**8 in bfloat16). With ``to=None`` and `from` given: from there.
    """
    if not bounds and not named:
        check_kind(self.array, REALS + "b", "random_()")
        return fill(self, "random_", sampling.random_bits, (), generator)
    if len(bounds) == 1 and not named:
        bounds = (0, *whole("random_", to=bounds[0]))
    args = integer_arguments(self.array, *from_to("random_", bounds, named, (0, None)))
    return fill(self, "random_", sampling.integers, args, generator)


def integer_arguments(array, low, high):
    """The range [low, high) checked against what the dtype can hold; `high` None is the dtype's own end."""
    check_kind(array, REALS + "b", "random_()", RuntimeError)
    (low,) = whole("random_", **{"from": low})
    if high is None and low == LOWEST:
        if array.dtype.name not in ("int64", "float64", "float32", "bfloat16"):
            raise RuntimeError("random_(-2**63, None) handles only int64, float64, float32 and bfloat16")
        return 0, 1 << 64
    high = largest_integer(dtypes.from_np(array.dtype)) + 1 if high is None else whole("random_", to=high)[0]
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    return within(array.dtype, low, high)


def digits_of(dtype):
    """Up to 2 to this power a floating-point type represents all integers."""
    return {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[dtype.name]


def limits(dtype):
    """The least and the largest number of an integer dtype."""
    found = ranges.limits(dtype)
    return found.min, found.max


def largest_integer(dtype):
    if dtype.is_floating_point:
        return 1 << digits_of(dtype)
    return 1 if dtype is dtypes.bool else ranges.limits(dtype).max


def within(dtype, low, high):
    """The range [low, high) if the dtype has it; for a floating-point one moved to numbers that it represents."""
    name = dtypes.from_np(dtype).name
    if dtype.kind in FLOATS:
        smallest, largest = -largest_number(dtype), largest_number(dtype)
    else:
        smallest, largest = (0, 1) if dtype.kind == "b" else limits(dtypes.from_np(dtype))
    for word, x in (("from", low), ("to - 1", high - 1)):
        if not smallest <= x <= largest:
            raise RuntimeError(f"{word} is out of bounds for {name}: {x} is not from {smallest} to {largest}")
    if dtype.kind not in FLOATS:
        return low, high
    digits = digits_of(dtypes.from_np(dtype))
    low, high = next_above(dtype, low, digits), next_below(dtype, high, digits)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got "
                           f"from={low} >= to={high}")
    for word, x in (("from", low), ("to - 1", high - 1)):
        if abs(x) > 1 << digits:
            warn(f"{word} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {name} "
                 f"can support discrete uniform distribution only within this range.")
    return low, high


def next_above(dtype, low, digits):
    """A lower bound that the dtype would round down, as PyTorch moves it: the next number that it represents."""
    rounded = sampling.as_represented(dtype, low + 1)
    return rounded + (1 << (abs(low + 1).bit_length() - digits)) if rounded < low else low


def next_below(dtype, high, digits):
    rounded = sampling.as_represented(dtype, high - 1)
    return rounded - (1 << (abs(high - 1).bit_length() - digits)) if rounded >= high else high


@composite(method=False)
def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
             pin_memory=False):
    """The integers from 0 to `n` - 1 in random order; of int64 unless `dtype` says otherwise.

    >>> import minitorch
    >>> _ = minitorch.manual_seed(0)
    >>> minitorch.randperm(5)
    tensor([4, 0, 1, 3, 2])
    """
    (n,) = whole("randperm", n=n)
    found = out.dtype if out is not None and dtype is None else dtypes.int64 if dtype is None else dtype
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if found.category not in (dtypes.INTEGER, dtypes.FLOATING):
        raise NotImplementedError(f"randperm() is not implemented for '{found.name}'")
    if n - 1 > largest_integer(found):
        raise RuntimeError(f"n cannot be greater than {largest_integer(found) + 1} for {found.name} type, got {n}: a "
                           f"larger number cannot be represented")

    def permute(gen, array):
        for row in array.reshape((-1, n)) if n else ():
            row[...] = sampling.permutation(gen, n)
        return array
    return create("randperm", permute, lambda array: (), (n,), generator, out, found, device, requires_grad)


# ---- other distributions, in place -------------------------------------------------------------------------
@method
def bernoulli_(self, p=0.5, *, generator=None):
    """Fill with ones, each with probability `p` (a number, or a tensor that broadcasts), and zeros."""
    check_kind(self.array, REALS + "b", "bernoulli_()")
    if isinstance(p, Tensor):
        check_kind(p.array, FLOATS, "the probability tensor of bernoulli_()")
        if p.array.ndim > self.array.ndim or any(
                m not in (1, n) for m, n in zip(p.array.shape[::-1], self.array.shape[::-1], strict=False)):
            raise RuntimeError(f"bernoulli_(): the probabilities, of shape {list(p.shape)}, do not broadcast against "
                               f"the tensor, of shape {list(self.shape)}")
        return fill(self, "bernoulli_", sampling.bernoulli_each, (p.array if p.backend.depth else p.backend.to_host(
            p.array),), generator)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return fill(self, "bernoulli_", sampling.bernoulli, (float(p),), generator)


@method
def exponential_(self, lambd=1.0, *, generator=None):
    """Fill with exponential numbers of rate `lambd`."""
    check_kind(self.array, FLOATS, "exponential_()", RuntimeError)
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return fill(self, "exponential_", sampling.exponential, (float(lambd),), generator)


@method
def geometric_(self, p, *, generator=None):
    """Fill with geometric numbers: the trials up to the first success, each of probability `p`."""
    check_kind(self.array, REALS, "geometric_()")
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    return fill(self, "geometric_", sampling.geometric, (float(p),), generator)


@method
def cauchy_(self, median=0.0, sigma=1.0, *, generator=None):
    """Fill with Cauchy numbers."""
    check_kind(self.array, FLOATS, "cauchy_()", RuntimeError)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    return fill(self, "cauchy_", sampling.cauchy, (float(median), float(sigma)), generator)


@method
def log_normal_(self, mean=1.0, std=2.0, *, generator=None):
    """Fill with log-normal numbers; `mean` and `std` are those of their logarithms."""
    check_kind(self.array, FLOATS, "log_normal_()")
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std}")
    return fill(self, "log_normal_", sampling.log_normal, (float(mean), float(std)), generator)


# ---- drawn by the elements of a tensor ---------------------------------------------------------------------
@composite
def bernoulli(input, p=None, *, generator=None, out=None):
    """Ones, each with the probability that `input` has there (or the number `p`), and zeros."""
    if open_batches and grad_mode.batches:
        input = grad_mode.batches[-1].roomy(input)
    if out is None:
        made = wrap(input.backend.xp.empty(input.array.shape, input.array.dtype), input.backend)
        bernoulli_(made, input.detach() if p is None else p, generator=generator)
        return unrelated_to([input], made.array, input.backend)
    resize_to(out, input.array.shape)
    return bernoulli_(out, input.detach() if p is None else p, generator=generator)


@composite(method=False)
def poisson(input, generator=None):
    """Poisson numbers of the rates in `input`, in its dtype."""
    check_kind(input.array, FLOATS, "poisson()")
    gen = choose(generator, input.backend, "poisson")
    if open_batches and grad_mode.batches:
        return grad_mode.batches[-1].of_values(lambda rates: rejection.poisson(gen, rates), input)
    found = rejection.poisson(gen, input.backend.to_host(input.array))
    return unrelated_to([input], input.backend.from_host(found), input.backend)


@composite(method=False)
def binomial(count, prob, generator=None):
    """How many of `count` trials of probability `prob` succeed, for tensors of one float32 or float64 dtype."""
    for x in (count, prob):
        if x.dtype not in (dtypes.float32, dtypes.float64):
            raise ValueError(f"binomial only supports float32 and float64, got: {x.dtype.name}")
    if count.dtype is not prob.dtype:
        raise RuntimeError(f"Found dtype {prob.dtype.name} but expected {count.dtype.name}: binomial() takes a count "
                           f"and a prob of one dtype")
    backend = count.backend
    if open_batches and grad_mode.batches:
        gen = choose(generator, backend, "binomial")
        return grad_mode.batches[-1].of_values(lambda n, p: rejection.binomial(gen, n, p), count, prob)
    found = rejection.binomial(choose(generator, backend, "binomial"), backend.to_host(count.array),
                               backend.to_host(prob.array))
    return wrap(backend.from_host(found), backend)


@composite
def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """Indices drawn with probabilities proportional to the weights in `input`, a vector or one for each row.

    Without `replacement` an index comes up once at most. The result is int64, of shape (num_samples,) or
    (rows, num_samples).
    """
    (n,) = whole("multinomial", num_samples=num_samples)
    gen, backend = choose(generator, input.backend, "multinomial"), input.backend

    def drawn(weights):
        check_weights(weights, n, replacement)
        return sampling.multinomial(gen, weights, n, replacement)
    if open_batches and grad_mode.batches:
        return grad_mode.batches[-1].of_values(drawn, input, rows=True)
    if out is not None and out.dtype is not dtypes.int64:
        raise RuntimeError(f"multinomial expects an int64 tensor out, got: {out.dtype.name}")
    found = drawn(backend.to_host(input.array))
    if out is None:
        return wrap(backend.from_host(found), backend)
    resize_to(out, found.shape)
    out.array[...] = backend.from_host(found)
    bump_version(out, "multinomial")
    return out


def check_weights(weights, n, replacement):
    """Errors for arguments that `multinomial` does not take."""
    if weights.ndim not in (1, 2):
        raise RuntimeError(f"prob_dist must be 1 or 2 dim, got a shape of {list(weights.shape)}")
    if weights.dtype.kind not in FLOATS:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: "
                           f"{dtypes.from_np(weights.dtype).name}")
    if n <= 0:
        raise RuntimeError(f"cannot sample n_sample <= 0 samples, got num_samples={n}")
    if not replacement and n > weights.shape[-1]:
        raise RuntimeError(f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {n} of "
                           f"{weights.shape[-1]}")
    if weights.shape[-1] > 1 << 24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    lowest, highest = sampling.extremes(weights)
    if not (lowest >= 0 and (highest < math.inf).all()):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not (highest > 0).all():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
