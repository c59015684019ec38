"""Checks of lesson 1, "Derivatives you can trust": differences, the best step, dual numbers, a test that catches."""

import math

from .exercise import Exercise
from .naming import variants


def polynomial(coefficients):
    return lambda x: sum(c * x ** i for i, c in enumerate(coefficients))


central = Exercise(
    "nb01.central", "The central difference of f at x with step h: look h to the right and h to the left.",
    ("Draw the chord from (x-h, f(x-h)) to (x+h, f(x+h)). What is its slope?",
     "Height over width: how wide is the chord?",
     "return (f(____) - f(____)) / ____"), tensors=False, rtol=1e-6)
central.cases(lambda: [((0.0, 1.0), 0.0, 1.0), ((0.0, 0.0, 1.0), 1.0, 1.0), ((0.0, 0.0, 0.0, 1.0), 1.0, 1.0)])
central.draw(lambda d: (tuple(float(d.int(-3, 3)) for _ in range(4)), float(d.int(-2, 2)), d.choice([0.5, 1.0, 2.0])))
central.run(lambda solution, coefficients, x, h: solution(polynomial(coefficients), x, h))


@central.describe
def _(coefficients, x, h):
    terms = [f"{c:g} x^{i}" if i else f"{c:g}" for i, c in enumerate(coefficients) if c]
    return f"f(x) = {' + '.join(terms) or '0'}, x = {x:g}, h = {h:g}"


central.truth(lambda f, x, h: (f(x + h) - f(x - h)) / (2 * h))
central.slips(
    forward=("that is the forward difference: one point is x itself, and the error is of order h, not h squared",
             lambda f, x, h: (f(x + h) - f(x)) / h),
    backward=("that is the backward difference, from x - h to x", lambda f, x, h: (f(x) - f(x - h)) / h),
    over_h=("divided by h: the chord from x - h to x + h is 2h wide", lambda f, x, h: (f(x + h) - f(x - h)) / h),
    precedence=("`/ 2 * h` divides by 2 and *multiplies* by h: write `/ (2 * h)`",
                lambda f, x, h: (f(x + h) - f(x - h)) / 2 * h),
    not_divided=("a difference is not yet a slope: divide by the width", lambda f, x, h: f(x + h) - f(x - h)),
    sign=("the sign is turned: right minus left", lambda f, x, h: (f(x - h) - f(x + h)) / (2 * h)),
    half_step=("a good formula, with half the step that was asked for: from x - h to x + h",
               lambda f, x, h: (f(x + h / 2) - f(x - h / 2)) / h),
    brackets=("brackets: only the second value is divided by 2h", lambda f, x, h: f(x + h) - f(x - h) / (2 * h)),
    brackets_twice=("brackets: only the second value is halved, and then *multiplied* by h",
                    lambda f, x, h: f(x + h) - f(x - h) / 2 * h),
    average=("that is the average of f at the two points, not a slope", lambda f, x, h: (f(x + h) + f(x - h)) / 2))

best_step = Exercise(
    "nb01.best_step", "The step h for a central difference at x near 1, f and its derivatives near 1, given eps.",
    ("The error has two parts: one grows with h (truncation), one grows when h shrinks (round-off).",
     "Truncation is about h**2, round-off about eps / h. Where is the sum smallest?",
     "The slope of h**2 + eps / h is 2 * h - eps / h**2. Set it to 0, forget the 2, and: h = eps ** ____"),
    tensors=False, rtol=0, atol=0.35)
best_step.cases(lambda: [(2.0 ** -52,), (2.0 ** -23,), (2.0 ** -10,)])
best_step.run(lambda solution, eps: math.log10(solution(eps)))
best_step.describe(lambda eps: f"eps = {eps:.2g}; the power of ten of your h (a factor of 2 is accepted)")
best_step.truth(lambda eps: eps ** (1 / 3))
best_step.slips(
    square_root=("the square root of eps is best for *forward* differences, whose error is of order h",
                 lambda eps: eps ** 0.5),
    eps_itself=("h = eps: x + h and x differ in the last bit only, all the rest is noise", lambda eps: eps),
    fixed=("one step for all precisions: 1e-6 is good in float64 and lost in float32, use eps", lambda eps: 1e-6),
    fixed_forward=("one step for all precisions: 1e-8 is about the best for *forward* differences in float64, use eps",
                   lambda eps: 1e-8),
    fixed_small=("\"as small as possible\" is the intuition of exact mathematics: round-off grows as eps / h",
                 lambda eps: 1e-12),
    large=("far too large: the truncation error is h squared", lambda eps: 0.1),
    fourth_root=("the fourth root is right for *second* differences, whose round-off is eps / h**2",
                 lambda eps: eps ** 0.25),
    two_thirds=("that is the smallest *error*, eps ** (2/3); the step is its square root", lambda eps: eps ** (2 / 3)))

dual = Exercise(
    "nb01.dual", "Dual(value, slope): product, quotient, whole power, sin and exp carry their slopes along.",
    ("Write each number as a + b e with e*e = 0, and multiply out.",
     "The slope of the result is (slope of the rule at the value) times (slope that came in); products have two terms.",
     "mul: self.value * ____ + ____ * other.value; div: (____ - ____) / other.value**2; pow: n * ____ * self.slope; "
     "sin: ____ * self.slope; exp: ____ * self.slope"),
    tensors=False, parts=("value", "slope"))
dual.cases(lambda: [(rule, a, da, b, db) for rule in ("mul", "div", "pow", "sin", "exp")
                    for a, da, b, db in ((1.0, 1.0, 2.0, 0.0), (2.0, 1.0, 2.0, 1.0), (3.0, -1.0, 2.0, 0.5),
                                         (0.5, 2.0, -2.0, 3.0))])


@dual.run
def _(solution, rule, a, da, b, db):
    x, y = solution(a, da), solution(b, db)
    result = {"mul": lambda: x * y, "div": lambda: x / y, "pow": lambda: x ** 3, "sin": lambda: x.sin(),
              "exp": lambda: x.exp()}[rule]()
    return [result.value, result.slope]


@dual.describe
def _(rule, a, da, b, db):
    x, y = f"Dual({a:g}, {da:g})", f"Dual({b:g}, {db:g})"
    words = {"mul": f"{x} * {y}", "div": f"{x} / {y}", "pow": f"{x} ** 3", "sin": f"{x}.sin()", "exp": f"{x}.exp()"}
    return words[rule]


@dual.truth
class _Dual:
    def __init__(self, value, slope=0.0):
        self.value, self.slope = value, slope

    def new(self, value, slope):
        return type(self)(value, slope)

    def __mul__(self, other):
        return self.new(self.value * other.value, self.value * other.slope + self.slope * other.value)

    def __truediv__(self, other):
        return self.new(self.value / other.value,
                        (self.slope * other.value - self.value * other.slope) / other.value ** 2)

    def __pow__(self, n):
        return self.new(self.value ** n, n * self.value ** (n - 1) * self.slope)

    def sin(self):
        return self.new(math.sin(self.value), math.cos(self.value) * self.slope)

    def exp(self):
        return self.new(math.exp(self.value), math.exp(self.value) * self.slope)


def with_rules(*given, **rules):
    """A dual number of a class that has other rules."""
    return type("Wrong", (_Dual,), rules)(*given)


def wrong(name, words, **rules):
    """A mistake in some of the rules."""
    dual.mistakes[name] = words, variants(with_rules)(**rules)


wrong("product_of_slopes", "the slope of a product is not the product of the slopes: that is the e*e term, which is "
      "zero",
      __mul__=lambda a, b: a.new(a.value * b.value, a.slope * b.slope))
wrong("half_a_product", "a product has two terms, one for each factor; the second is missing",
      __mul__=lambda a, b: a.new(a.value * b.value, a.slope * b.value))
wrong("quotient_of_slopes", "the slope of a quotient is not the quotient of the slopes",
      __truediv__=lambda a, b: a.new(a.value / b.value, a.slope / b.slope if b.slope else 0.0))
wrong("quotient_sign", "the quotient rule has a minus: a growing divisor makes the result smaller",
      __truediv__=lambda a, b: a.new(a.value / b.value, (a.slope * b.value + a.value * b.slope) / b.value ** 2))
wrong("quotient_square", "the divisor of the quotient rule is squared",
      __truediv__=lambda a, b: a.new(a.value / b.value, (a.slope * b.value - a.value * b.slope) / b.value))
wrong("no_chain", "the slope that came in is lost: sin, exp and powers multiply by `self.slope` (the chain rule)",
      __pow__=lambda a, n: a.new(a.value ** n, n * a.value ** (n - 1)),
      sin=lambda a: a.new(math.sin(a.value), math.cos(a.value)),
      exp=lambda a: a.new(math.exp(a.value), math.exp(a.value)))
wrong("power_of_slope", "slope ** n is not the slope of a power: n * value**(n-1) * slope",
      __pow__=lambda a, n: a.new(a.value ** n, a.slope ** n))
wrong("exponent_kept", "the exponent must fall by one: n * value**(n-1)",
      __pow__=lambda a, n: a.new(a.value ** n, n * a.value ** n * a.slope))
wrong("cos_sign", "the slope of sin is cos, without a minus", sin=lambda a: a.new(math.sin(a.value),
                                                                             -math.cos(a.value) * a.slope))
wrong("function_of_slope", "sin and exp are applied to the slope: their *derivative at the value* is multiplied "
      "with it",
      sin=lambda a: a.new(math.sin(a.value), math.cos(a.slope)),
      exp=lambda a: a.new(math.exp(a.value), math.exp(a.slope)))

PAIRS = (
    ("x**3 with 3x**2", lambda x: x ** 3, lambda x: 3 * x * x, True),
    ("sin with cos", math.sin, math.cos, True),
    ("exp(4x) with 4exp(4x)", lambda x: math.exp(4 * x), lambda x: 4 * math.exp(4 * x), True),
    ("exp(6x) with 6exp(6x), very large", lambda x: math.exp(6 * x), lambda x: 6 * math.exp(6 * x), True),
    ("1000 sin x with 1000 cos x", lambda x: 1000 * math.sin(x), lambda x: 1000 * math.cos(x), True),
    ("the constant 5 with 0", lambda x: 5.0, lambda x: 0.0, True),
    ("x**2 with 2x", lambda x: x * x, lambda x: 2 * x, True),
    ("exp with 2exp", math.exp, lambda x: 2 * math.exp(x), False),
    ("x**3 with 3x", lambda x: x ** 3, lambda x: 3 * x, False),
    ("|x|**3 with 3x**2, wrong for x < 0 only", lambda x: abs(x) ** 3, lambda x: 3 * x * x, False),
    ("sin with 1.01 cos", math.sin, lambda x: 1.01 * math.cos(x), False),
    ("sin with cos, wrong beyond |x| = 1 only", math.sin, lambda x: math.cos(x) if abs(x) < 1 else 1.0, False),
    ("x**2/1000 with 3x/1000, a small function", lambda x: x * x / 1000, lambda x: 3 * x / 1000, False),
    ("sin with -cos", math.sin, lambda x: -math.cos(x), False))
catch = Exercise(
    "nb01.catch", "A property test: is `df` the derivative of `f` on [-3, 3]? True or False.",
    ("Your test saw one point, or one size of numbers? Where could a wrong rule hide?",
     "Try many x, positive and negative, small and large; compare with a central difference.",
     "for x in ____: d = (f(x + h) - f(x - h)) / (2 * h); if abs(df(x) - d) > ____ * max(abs(d), abs(df(x))) + ____:"
     " return ____"), tensors=False)
catch.cases(lambda: [(name,) for name, *_ in PAIRS])
catch.run(lambda solution, name: bool(next(solution(f, df) for n, f, df, _ in PAIRS if n == name)))
catch.describe(lambda name: f"f with df: {name}. Does your test say it is right?")


MANY = [i / 7 for i in range(-21, 22) if i]


def compare(f, df, points=MANY, rtol=1e-4, atol=1e-6, h=1e-5):
    """A test of derivatives at these points."""
    slopes = [((f(x + h) - f(x - h)) / (2 * h), df(x)) for x in points]
    return all(abs(d - s) <= rtol * max(abs(d), abs(s)) + atol for d, s in slopes)


compare_but = variants(compare)
catch.truth(compare)
catch.slips(
    always=("everything passes: a test that cannot fail is not a test", lambda f, df: True),
    never=("nothing passes, not even right derivatives: exact equality is too much to ask of floats",
           lambda f, df: False),
    one_point=("one point only, x = 1: wrong rules agree with right ones here and there", compare_but(points=[1.0])),
    positive=("only positive x: rules that forget a sign or an absolute value are right there",
              compare_but(points=[x for x in MANY if x > 0])),
    near_zero=("only |x| < 1: a rule may go wrong further out", compare_but(points=[x for x in MANY if abs(x) < 1])),
    absolute=("an absolute tolerance of 1e-2 is too loose for small functions: compare relative to the size",
              compare_but(rtol=1e-4, atol=1e-2)),
    absolute_tight=("an absolute tolerance alone fails large right answers: allow an error relative to the size",
                    compare_but(rtol=0, atol=1e-7)),
    absolute_only=("an absolute tolerance alone: one number cannot be right for exp(6x) and for x**2/1000, allow an "
                   "error relative to the size", compare_but(rtol=0, atol=1e-3)),
    relative_only=("a relative tolerance alone fails where the slope is 0: allow a tiny absolute error, too",
                   compare_but(points=[0.0, *MANY], atol=0)),
    loose=("a tolerance of 5 percent lets a derivative pass that is 1 percent off", compare_but(rtol=0.05)),
    coarse=("the step of the difference is far too large: with h = 1 right derivatives fail", compare_but(h=1.0)),
    too_fine=("the step of the difference is far too small: with h = 1e-13 round-off drowns the slope",
              compare_but(h=1e-13)),
    sign_only=("only the signs are compared",
               lambda f, df: all((f(x + 1e-5) - f(x - 1e-5)) * df(x) >= 0 for x in MANY)))
