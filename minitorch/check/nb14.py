"""The check of lesson 14, for teachers: a test that notices every planted bug of the library."""

import minitorch

from .exercise import Exercise
from .mutation import MUTANTS, mutant, notices

NONE = "no bug at all"
tests = Exercise(
    "nb14.tests", "test(torch): passes for the library as it is, fails for each of its mutants.",
    ("Run survivors(test) and read the names: each is a bug that you have not asked about.",
     "Values and gradients; negative numbers; a matrix that is not square, or not symmetric; large numbers; the same "
     "index twice; write to a clone.",
     "x = torch.tensor([[0.0, 0.0]], requires_grad=True); torch.softmax(x, 1)[0, 0].backward(); assert "
     "x.grad.tolist() == [[____, ____]], worked out by hand; and so on for each name"))
tests.cases(lambda: [(NONE,), *((name,) for name in MUTANTS)])


@tests.run
def _(solution, name):
    return "fails" if notices(solution, minitorch if name == NONE else mutant(name)) else "passes"


tests.describe(lambda name: f"your test, with this bug planted in the library: {name}")


def gradient(torch, f, x):
    x = torch.tensor(x, requires_grad=True)
    y = f(x)
    torch.autograd.backward(y, torch.arange(1.0, y.numel() + 1).reshape(y.shape))
    return x.grad.tolist()


def near(a, b):
    return minitorch.allclose(minitorch.tensor(a), minitorch.tensor(b), atol=1e-5)


def values(torch):
    assert torch.relu(torch.tensor([-1.0, 2.0])).tolist() == [0, 2]
    assert torch.mean(torch.tensor([[1.0, 2.0], [3.0, 5.0]]), 1).tolist() == [1.5, 4]


def extremes(torch):
    assert near(torch.softmax(torch.tensor([[1000.0, 1000.0]]), 1).tolist(), [[0.5, 0.5]])


def pointwise_gradients(torch):
    assert gradient(torch, torch.relu, [-1.0, 2.0]) == [0, 2]
    assert near(gradient(torch, lambda x: torch.mean(x, 1), [[1.0, 2.0], [3.0, 4.0]]), [[0.5, 0.5], [1, 1]])


def softmax_gradient(torch):
    assert near(gradient(torch, lambda x: torch.softmax(x, 1), [[0.0, 0.0]]), [[-0.25, 0.25]])


def repeats(torch):
    found = gradient(torch, lambda x: torch.index_select(x, 0, torch.tensor([1, 1])), [1.0, 2.0])
    assert found == [0, 3]


def memory(torch):
    x = torch.zeros(2)
    torch.clone(x).add_(1)
    assert x.tolist() == [0, 0]


def together(*parts):
    def test(torch):
        for part in parts:
            part(torch)
    return test


EVERYTHING = (values, extremes, pointwise_gradients, softmax_gradient, repeats, memory)


def without(part):
    return together(*(p for p in EVERYTHING if p is not part))


def always_fails(torch):
    raise AssertionError


tests.truth(together(*EVERYTHING))
tests.slips(
    asserts_nothing=("nothing is asserted: the test runs everything and looks at nothing", lambda torch: None),
    always_fails=("it fails for the right library too: a test that always fails tells as little as one that never does",
                  always_fails),
    values_only=("values are compared, gradients are not: a wrong backward trains, only badly",
                 together(values, extremes, memory)),
    no_repeats=("no index comes twice: that is where gradients must be added", without(repeats)),
    small_numbers=("only small numbers: overflow hides until the logits grow", without(extremes)),
    no_memory=("nothing is written to the clone: sharing memory shows only in what happens later", without(memory)),
    no_cross_terms=("the gradient of softmax is not asked for, or only its diagonal", without(softmax_gradient)),
    softmax_only=("the gradients of relu and mean are not asked for", without(pointwise_gradients)))
