# %% [markdown]
# # 1. Derivatives you can trust
#
# Training a network means asking, a million times over: *if I turn this knob a little, does it get better?* The answer
# is a derivative. There are three ways to get one from a computer. One is easy and never exact, one is exact and slow,
# one is exact and fast but easy to get wrong. This notebook does the first two, so that you can check the third.
#
# **You will be able to**
# * compute a derivative from two values of a function, and choose the step;
# * explain why the most accurate step is *not* the smallest;
# * differentiate programs exactly with dual numbers;
# * write a test that wrong derivatives do not survive.
#
# You need: what a derivative is. Time: 45 minutes.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np

from minitorch import check
from minitorch.viz.pictures import show_figure
from minitorch.viz.slides import slides

# %% [markdown]
# ## Two points and a slope
#
# The slope of $\sin$ at 1 is $\cos 1 = 0.5403\ldots$ Take a second point a little to the right and measure:

# %%
for h in (1.0, 0.1, 0.01):
    print(f"h = {h:<5}  {(math.sin(1 + h) - math.sin(1)) / h:.6f}")
print(f"exactly    {math.cos(1):.6f}")

# %% [markdown]
# The error shrinks with $h$, but slowly: a tenth of the step, a tenth of the error. Looking to *both* sides does
# far better, because the curvature, which spoils one side upwards, spoils the other downwards. For one input it costs
# the same two evaluations (for $n$ inputs $2n$ against $n + 1$, since one side can share the middle). Move the slider,
# and compare the two chords with the tangent.

# %%
def chords(h):
    """The curve, its tangent at 1, and two chords with step h."""
    figure, axis = plt.subplots(figsize=(7, 3.4))
    x = np.linspace(-0.6, 2.6, 200)
    axis.plot(x, np.sin(x), color="#999999")
    for left, right, colour, name in ((1, 1 + h, "#b34700", "one side"), (1 - h, 1 + h, "#0072b2", "both sides")):
        slope = (math.sin(right) - math.sin(left)) / (right - left)
        axis.plot(x, math.sin(right) + slope * (x - right), color=colour, linewidth=1)
        axis.plot([left, right], [math.sin(left), math.sin(right)], "o", color=colour,
                  label=f"{name}: slope {slope:.4f}")
    axis.plot(x, math.sin(1) + math.cos(1) * (x - 1), "--", color="black", linewidth=1,
              label=f"tangent: {math.cos(1):.4f}")
    axis.set(ylim=(-0.8, 1.6))
    axis.legend(loc="lower right")
    return figure


slides(((f"h = {h}", chords(h)) for h in (1.5, 1.2, 1.0, 0.8, 0.6, 0.4, 0.2, 0.1)),
       "The sine with its tangent at 1 and two chords; the chord over both sides is nearly parallel to the tangent.")

# %% [markdown]
# ## Exercise: the central difference
#
# The check tries your function on polynomials with rather large steps, so that near misses show.


# %%
def central(f, x, h):
    """The slope of the chord of f from x - h to x + h."""
    # <solution>
    return (f(x + h) - f(x - h)) / (2 * h)
    # </solution>


check.nb01.central(central)

# %% [markdown]
# ## Smaller is better, until it is not
#
# Mathematics says: let $h$ go to zero. Guess what the error looks like when a computer does.

# %%
steps = np.logspace(-15, 0, 200)
exact = math.cos(1)
forward = [abs((math.sin(1 + h) - math.sin(1)) / h - exact) for h in steps]
both = [abs((math.sin(1 + h) - math.sin(1 - h)) / (2 * h) - exact) for h in steps]
eps = 2.0 ** -52
figure, axis = plt.subplots(figsize=(8, 4.4))
axis.loglog(steps, forward, ".", markersize=3, color="#b34700", label="forward difference")
axis.loglog(steps, both, ".", markersize=3, color="#0072b2", label="central difference")
axis.loglog(steps, steps / 2, "--", color="#b34700", linewidth=1, label="truncation, ~ h")
axis.loglog(steps, steps ** 2 / 6, "--", color="#0072b2", linewidth=1, label="truncation, ~ h²")
axis.loglog(steps, eps / steps, ":", color="#555555", label="round-off, ~ eps / h")
axis.set(xlabel="step h", ylabel="error", ylim=(1e-13, 10), title="the derivative of sin at 1")
axis.legend()
show_figure(figure, """Error of the derivative of sin at 1 against the step h, both axes logarithmic. Two V-shaped
            clouds: from the right the forward difference falls as h to about 1e-8 at h = 1e-8, the central one as h
            squared to about 1e-11 at h = 1e-5; to the left both rise again as eps / h.""")
assert both[np.argmin(abs(steps - 1e-5))] < 1e-9 and forward[np.argmin(abs(steps - 1e-8))] < 1e-7

# %% [markdown]
# Two forces. On the right the formula is too coarse (*truncation*): the error falls with $h$, and with $h^2$ for
# the central one. On the left `sin(1 + h)` and `sin(1 - h)` agree in nearly all their 16 digits, the difference keeps
# only the last few, and dividing by a tiny $h$ blows up what was rounded off. At $h = 10^{-15}$ the answer is
# worthless.
#
# The best step is where the two meet. In float32, with its 7 digits, that is a different place.
#
# ## Exercise: the best step
#
# `eps` is the distance from 1 to the next float: `2**-52` in float64, `2**-23` in float32. Which $h$ is best for the
# central difference? (A factor of two either way is fine.)


# %%
def best_step(eps):
    """The step for a central difference, if x, f and its derivatives are all about 1."""
    # <solution>
    return eps ** (1 / 3)
    # </solution>


check.nb01.best_step(best_step)

# %% [markdown]
# So a numerical derivative in float64 has at best about ten good digits, in float32 about five. That is why gradient
# checks, here and in PyTorch, insist on float64.
#
# And it has a second price: a function of a million parameters needs two million evaluations. For one gradient.
#
# ## Dual numbers: exact, with one extra number
#
# Let every number carry its slope with it: $a + a'\,\varepsilon$, with the rule $\varepsilon^2 = 0$. Multiply out:
#
# $$(a + a'\varepsilon)(b + b'\varepsilon) = ab + (a\,b' + a'\,b)\,\varepsilon$$
#
# That *is* the product rule; nobody had to remember it. No step, no limit, no round-off beyond that of the numbers.
#
# ## Exercise: five rules


# %%
class Dual:
    """A number and its slope."""

    def __init__(self, value, slope=0.0):
        self.value, self.slope = value, slope

    def __repr__(self):
        return f"Dual({self.value:g}, {self.slope:g})"

    def __add__(self, other):
        return Dual(self.value + other.value, self.slope + other.slope)

    def __mul__(self, other):
        # <solution>
        return Dual(self.value * other.value, self.value * other.slope + self.slope * other.value)
        # </solution>

    def __truediv__(self, other):
        # <solution>
        slope = (self.slope * other.value - self.value * other.slope) / other.value ** 2
        return Dual(self.value / other.value, slope)
        # </solution>

    def __pow__(self, n):
        """n is a whole number, not a Dual."""
        # <solution>
        return Dual(self.value ** n, n * self.value ** (n - 1) * self.slope)
        # </solution>

    def sin(self):
        # <solution>
        return Dual(math.sin(self.value), math.cos(self.value) * self.slope)
        # </solution>

    def exp(self):
        # <solution>
        return Dual(math.exp(self.value), math.exp(self.value) * self.slope)
        # </solution>


check.nb01.dual(Dual)


# %% [markdown]
# Now differentiate a *program*, with a loop in it. Nobody would want to do this one by hand: Newton's method for the
# square root, and its derivative, which mathematics says is $1 / (2\sqrt{x})$.

# %%
def square_root(x):
    guess = x
    for _ in range(8):
        guess = (guess + x / guess) * Dual(0.5)
    return guess


if check.passed("nb01.dual"):
    root = square_root(Dual(2.0, 1.0))
    print(root, "and should be", math.sqrt(2), 1 / (2 * math.sqrt(2)))
    assert abs(root.value - math.sqrt(2)) < 1e-12 and abs(root.slope - 1 / (2 * math.sqrt(2))) < 1e-12

# %% [markdown]
# This is called *forward mode*: slopes travel with the values. One run gives the slope for **one** input. A network
# has millions of inputs (its weights) and one output (the loss), so one wants to go the other way round: that is the
# next notebook, and what `backward()` does. The rules stay the same.
#
# ## Exercise: a test that catches
#
# You will write many derivative rules in this course, and some will be wrong. Wrong in mean ways: for negative numbers
# only, by one percent, for large inputs only. Write the test that finds them: is `df` the derivative of `f` on
# $[-3, 3]$? A dozen rules will be shown to your test, most of them wrong. (Tolerance is the hard part: float
# answers are never equal, and functions may be large or small.)


# %%
def looks_right(f, df):
    """True if df(x) is the slope of f at every x that you try."""
    # <solution>
    for i in range(-30, 31):
        x = i / 10 + 0.01
        slope = (f(x + 1e-5) - f(x - 1e-5)) / 2e-5
        if abs(slope - df(x)) > 1e-4 * max(abs(slope), abs(df(x))) + 1e-6:
            return False
    return True
    # </solution>


check.nb01.catch(looks_right)

# %% [markdown]
# Your function is a small *property-based test*: it does not compare with a table of answers but states what must
# hold, for many inputs. minitorch tests each of its operations in this way, and so does PyTorch; the next cell runs
# the real one, `gradcheck`, on a function whose gradient is wrong. Read what it says.

# %%
import minitorch


class Cube(minitorch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return -3 * x ** 2 * g


try:
    minitorch.testing.gradcheck(Cube.apply, minitorch.tensor([1.0, 2.0], dtype=minitorch.float64, requires_grad=True))
except minitorch.testing.GradcheckError as error:
    print(error)

# %% [markdown]
# ## In real PyTorch
#
# The same error curve, the same exact slope, in float32 and float64.


# %%
def slopes(torch):
    found = []
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor(1.0, dtype=dtype, requires_grad=True)
        torch.sin(x).backward()
        h = 2.0 ** (-8 if dtype == torch.float32 else -17)
        with torch.no_grad():
            numeric = (torch.sin(x + h) - torch.sin(x - h)) / (2 * h)
        found += [x.grad.item(), abs(numeric - x.grad).item() < 1e-4]
    return found


check.in_pytorch(slopes)

# %%
check.report()

# %% [markdown]
# **Remember**
# * Central difference, $h \approx \sqrt[3]{\text{eps}}$, float64: good enough to *check*, too slow to train.
# * A dual number carries its slope: exact, one input at a time.
# * Compare floats with a tolerance that is relative *and* absolute.
#
# **Go further.** What is the derivative of `square_root` after *two* iterations instead of eight, and is that right or
# wrong? What happens to the central difference of $|x|$ at 0?
#
# Next: [2. Backward in 60 lines](02_backward.ipynb)
