"""Checks of lesson 11, "Numbers are not real": stable formulas, summation, the bits of bfloat16, loss scaling."""

import math

import numpy as np

from .. import where
from .exercise import Exercise
from .naming import variants

softplus = Exercise(
    "nb11.softplus", "log(1 + exp(x)) for any x, without overflow and without losing small results.",
    ("What happens to exp(800)? And what is 1 + exp(-40) in float64?",
     "For large x the result is nearly x: take x out of the logarithm. For very negative x use log1p.",
     "return x.clamp(min=0) + (____).exp().____: the exponential never exceeds 1"), rtol=1e-12, atol=0)
softplus.cases(lambda: [(np.array([x]),) for x in (0.0, 1.0, -1.0, 30.0, -40.0, 800.0, -700.0)])
softplus.draw(lambda d: (d.array((d.int(1, 3),), -50, 50),))
softplus.truth(lambda x: x.clamp(min=0) + (-x.abs()).exp().log1p())
softplus.slips(
    naive=("exp overflows for large x: the result is inf, or nan", lambda x: (1 + x.exp()).log()),
    no_log1p=("1 + exp(-|x|) is exactly 1 for small exponentials, so small results become 0: log1p is made for this",
              lambda x: x.clamp(min=0) + (1 + (-x.abs()).exp()).log()),
    log1p_alone=("log1p saves the small results, but exp still overflows for large x", lambda x: x.exp().log1p()),
    only_relu=("that is relu: near 0 the two differ by up to log 2", lambda x: x.clamp(min=0)),
    no_abs=("for negative x the exponential is now the large one: it needs -|x|",
            lambda x: x.clamp(min=0) + (-x).exp().log1p()),
    sign=("exp(+|x|) overflows on both sides: the sign is wrong", lambda x: x.clamp(min=0) + x.abs().exp().log1p()),
    clipped=("clipping x changes the result: softplus(800) is 800", lambda x: x.clamp(-30, 30).exp().log1p()))

log1mexp = Exercise(
    "nb11.log1mexp", "log(1 - exp(-x)) for x > 0, to full precision for tiny x and for large x.",
    ("For x = 1e-20, what is exp(-x) in float64? And 1 minus that?",
     "Two functions are made for this: expm1(y) = exp(y) - 1 and log1p(y) = log(1 + y). Each is good on one side.",
     "return torch.where(x < ____, (-(-x).____()).log(), (-(-x).exp()).____())"), rtol=1e-12, atol=0)
log1mexp.cases(lambda: [(np.array([x]),) for x in (1.0, 0.5, 1e-3, 1e-20, 40.0, 100.0)])
log1mexp.draw(lambda d: (10.0 ** d.array((d.int(1, 3),), -12, 2),))


log1mexp.truth(lambda x: where(x < math.log(2), (-(-x).expm1()).log(), (-(-x).exp()).log1p()))
log1mexp.slips(
    naive=("1 - exp(-x) loses everything on both sides: 0 for tiny x, 1 for large x", lambda x: (1 - (-x).exp()).log()),
    expm1_only=("good for small x; for large x expm1 is -1 and the logarithm 0: log1p is the better one there",
                lambda x: (-(-x).expm1()).log()),
    log1p_only=("good for large x; for tiny x exp(-x) is exactly 1: expm1 is the better one there",
                lambda x: (-(-x).exp()).log1p()),
    wrong_sign=("exp(+x): 1 - exp(x) is negative, its logarithm nan", lambda x: (1 - x.exp()).log()),
    added=("a small constant under the logarithm hides the nan and ruins the result",
           lambda x: (1 - (-x).exp() + 1e-8).log()),
    log_of_x=("log x is the limit for tiny x only", lambda x: x.log()),
    threshold=("the border lies far too low: between it and log 2, expm1 is needed",
               lambda x: where(x < 1e-9, (-(-x).expm1()).log(), (-(-x).exp()).log1p())))

variance = Exercise(
    "nb11.variance", "The variance (divided by N) of a float64 vector, also where the mean is huge.",
    ("Compute mean(x**2) - mean(x)**2 for numbers around 1e9. How many digits are left?",
     "Subtract numbers that are nearly equal *before* they are squared.",
     "return ((____) ** 2).____"),
    rtol=1e-6, atol=0)
variance.cases(lambda: [(np.array([0.0, 2.0]),), (np.array([1.0, 2.0, 4.0]),), (1e9 + np.array([0.0, 1.0, 2.0, 5.0]),)])
variance.draw(lambda d: (d.choice([0.0, 1e6, -1e9]) + np.cumsum(d.integers((d.int(2, 4),), 1, 5)).astype(float),))


def spread(x, centre=lambda x: x - x.mean(), power=lambda d: d ** 2, end=lambda s: s.mean(), last=lambda v: v):
    """A variance, with every decision as an option."""
    return last(end(power(centre(x))))


spread_but = variants(spread)
variance.truth(spread)
variance.slips(
    textbook=("mean(x**2) - mean(x)**2: two huge, nearly equal numbers are subtracted, and their digits with them",
              lambda x: (x ** 2).mean() - x.mean() ** 2),
    unbiased=("divided by N - 1: here it is N", spread_but(end=lambda s: s.sum() / (len(s) - 1))),
    deviation=("the standard deviation: its square is wanted", spread_but(last=lambda v: v.sqrt())),
    not_squared=("deviations add up to zero: square them first", spread_but(power=lambda d: d)),
    summed=("missing 1/N: the sum of squares", spread_but(end=lambda s: s.sum())),
    absolute=("the mean absolute deviation: squares, not absolute values", spread_but(power=lambda d: d.abs())),
    single=("float32 has 7 digits: numbers around 1e9 are rounded to multiples of 64",
            lambda x: ((x.float() - x.float().mean()) ** 2).mean().double()),
    no_mean=("the mean is not subtracted: that is the mean square", spread_but(centre=lambda x: x)))

kahan = Exercise(
    "nb11.kahan", "The sum of a list of floats, with Kahan's compensation: carry along what each addition lost.",
    ("Add 1e-16 to 1.0: the result is 1.0. Where did the rest go, and how could you find out how much it was?",
     "After t = s + y the lost part is y - (t - s). Keep it, and add it to the next number.",
     "s = c = 0.0; for x in xs: y = x + ____; t = s + y; c = ____; s = ____"), tensors=False, rtol=1e-15, atol=0)
kahan.cases(lambda: [([1.0, 2.0],), ([1.0] + [1e-16] * 10,), ([1.0] + [1e-16] * 1000,), ([0.1] * 100,),
                     ([1e16] + [1.0] * 100,), ([-1.0] + [-1e-16] * 500,)])
kahan.describe(lambda xs: f"{len(xs)} numbers, the first of them {xs[0]!r}, the last {xs[-1]!r}")


def compensated(xs, lost=lambda s, y, t: y - (t - s), use=lambda x, c: x + c, final=lambda s, c: s):
    s = c = 0.0
    for x in xs:
        y = use(x, c)
        t = s + y
        c, s = lost(s, y, t), t
    return final(s, c)


compensated_but = variants(compensated)
kahan.truth(compensated)
kahan.slips(
    plain=("a plain sum, or a compensation that is always 0: by algebra y - (t - s) is 0, in floating point it is what "
           "was lost, and the brackets matter", lambda xs: sum_of(xs)),
    sign=("what was lost has to be *added* to the next number, here it is subtracted",
          compensated_but(use=lambda x, c: x - c)),
    doubled=("what was lost is added twice", compensated_but(use=lambda x, c: x + 2 * c)),
    rounded=("rounding the result does not bring back what was lost on the way", lambda xs: round(sum_of(xs), 6)),
    first_left_out=("the first number is missing from the sum", lambda xs: compensated(xs[1:])),
    of_x=("the lost part is that of y, which was added, not of x: the old compensation gets lost again",
          lambda xs: kahan_of_x(xs)),
    accumulated=("c is added up for ever and used again each time: after it was used it has to be replaced",
                 lambda xs: accumulating(xs)),
    sorted=("sorting helps a little, and does not carry anything along", lambda xs: sum_of(sorted(xs, reverse=True))))


def sum_of(xs):
    s = 0.0
    for x in xs:
        s += x
    return s


def kahan_of_x(xs):
    s = c = 0.0
    for x in xs:
        t = s + (x + c)
        c, s = x - (t - s), t
    return s


def accumulating(xs):
    s = c = 0.0
    for x in xs:
        y = x + c
        t = s + y
        c += y - (t - s)
        s = t
    return s


bfloat16 = Exercise(
    "nb11.bfloat16", "Round float32 numbers, given as their 32 bits, to bfloat16: the upper 16 bits, ties to even.",
    ("Dropping the lower half of the bits rounds toward zero. What must be added first?",
     "A little less than half of the last place that stays, 0x7FFF; for an odd upper half one more, so that ties go "
     "to the even neighbour.",
     "return (bits + ____ + (____ & 1)) >> 16"), tensors=False, rtol=0, atol=0)
ONE = 0x3F800000
bfloat16.cases(lambda: [(b,) for b in (ONE, ONE + 0x7FFF, ONE + 0x8000, ONE + 0x8001, ONE + 0x18000, ONE + 0x17FFF,
                                       ONE + 0x1FFFF, 0xBF808000, 0x00000000, 0x3F7FFFFF)])
bfloat16.describe(lambda bits: f"bits = {bits:#010x}, which is {np.uint32(bits).view(np.float32):.9g}; the result is "
                               "the upper half")
bfloat16.truth(lambda bits: (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)
bfloat16.slips(
    truncated=("the lower half is dropped: that rounds toward zero, always", lambda bits: bits >> 16),
    half_up=("ties go up always: they should go to the even neighbour, or sums drift",
             lambda bits: (bits + 0x8000) >> 16),
    half_down=("ties go down always: for an odd upper half add one more", lambda bits: (bits + 0x7FFF) >> 16),
    not_shifted=("the result is the upper half alone: shift it down",
                 lambda bits: (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000),
    ties_to_odd=("ties go to the odd neighbour", lambda bits: (bits + 0x8000 - ((bits >> 16) & 1)) >> 16),
    lower=("that is the lower half: sign and exponent are in the upper one", lambda bits: bits & 0xFFFF),
    up=("everything is rounded up", lambda bits: (bits + 0xFFFF) >> 16))

loss_scale = Exercise(
    "nb11.loss_scale", "The largest power of two s for which largest * s does not exceed 65504, float16's maximum.",
    ("Why a power of two? Because multiplying by it changes the exponent only: nothing is rounded.",
     "s = 2**k: take the logarithm to base 2 of 65504 / largest, and round it down.",
     "return 2.0 ** math.____(math.log2(____))"), tensors=False, rtol=1e-12)
loss_scale.cases(lambda: [(1.0,), (65504.0,), (3.0,), (1e-3,), (2.5e-7,), (1e5,), (0.25,), (100.0,)])
loss_scale.truth(lambda largest: 2.0 ** math.floor(math.log2(65504 / largest)))
loss_scale.slips(
    any_number=("65504 / largest is not a power of two: each gradient is then rounded once more",
                lambda largest: 65504 / largest),
    rounded=("the exponent is rounded to the nearest, so that the largest may overflow: round *down*",
             lambda largest: 2.0 ** round(math.log2(65504 / largest))),
    up=("rounded up: the largest gradient becomes inf", lambda largest: 2.0 ** math.ceil(math.log2(65504 / largest))),
    exponent=("the exponent alone: 2 to this power is the scale",
              lambda largest: float(math.floor(math.log2(65504 / largest)))),
    natural=("the natural logarithm: powers of two need the one to base 2",
             lambda largest: 2.0 ** math.floor(math.log(65504 / largest))),
    inverted=("largest / 65504: scaled down instead of up",
              lambda largest: 2.0 ** math.floor(math.log2(largest / 65504))),
    fixed=("a fixed scale fits some step of some model only", lambda largest: 65536.0),
    one_less=("one power too careful: half of the range is not used",
              lambda largest: 2.0 ** (math.floor(math.log2(65504 / largest)) - 1)))
