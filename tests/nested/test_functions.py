"""Public functions with a `dim` on a batch of ragged elements: those of each element, or refused.

These functions are made of ops, and compute with the sizes of their inputs; a ragged size is not a
number that they could compute with.
"""

import functools
import inspect

import pytest

import minitorch as torch
from minitorch.core.registry import FUNCTIONS
from minitorch.core.tensor import Tensor

SHAPES = ("j", 4), (4, "j"), ("j",)
FURTHER = (), (0.5,), (2,), ("itself",)                    # arguments behind the input
# Functions with random results, or of all dimensions but `dim`, so of the batch, too.
OTHERS = {"gumbel_softmax", "norm_except_dim"}


def has_dim(call):
    try:
        return "dim" in inspect.signature(call).parameters
    except (TypeError, ValueError):
        return False


CALLS = {f"{namespace}.{name}": public.call for (namespace, name), public in FUNCTIONS.items()
         if not name.startswith("_") and not name.endswith("_") and name not in OTHERS
         and has_dim(public.call)}


def first_tensor(found):
    """A result, or the first of several."""
    if isinstance(found, Tensor):
        return found
    return next((x for x in found if isinstance(x, Tensor)), None) if isinstance(
        found, (tuple, list)) else None


def elements_of(shape):
    torch.manual_seed(0)
    return [torch.rand([n if size == "j" else size for size in shape]).sort(0)[0] + 0.1
            for n in (3, 4, 6)]


REFUSED = NotImplementedError, RuntimeError, TypeError, ValueError, IndexError, AttributeError


def calls_of(name, elements, batch):
    """(result of the batch, result of each element) for each way to call a function of both."""
    for dim in range(elements[0].dim()):
        for further in FURTHER:
            def called(x, d, further=further):
                return CALLS[name](x, *[x if y == "itself" else y for y in further], dim=d)
            try:
                each = [first_tensor(called(x, dim)) for x in elements]
                whole = first_tensor(called(batch, dim + 1))
            except REFUSED:                                # or it has other arguments
                continue
            if each[0] is not None:
                yield whole, each


@functools.cache
def compared(name, layout):
    """The number of comparisons."""
    found = 0
    for shape in SHAPES:
        elements = elements_of(shape)
        batch = torch.nested.as_nested_tensor(elements, layout=layout)
        for whole, each in calls_of(name, elements, batch):
            for x, y in zip(whole.unbind(), each, strict=True):
                torch.testing.assert_close(x, y, rtol=1e-3, atol=1e-4, equal_nan=True)
            found += 1
    return found


LAYOUTS = pytest.mark.parametrize("layout", [torch.jagged, torch.strided], ids=str)


@LAYOUTS
@pytest.mark.parametrize("name", CALLS)
def test_along_any_dimension(name, layout):
    assert compared(name, layout) >= 0


@LAYOUTS
def test_most_functions_are_compared(layout):
    found = {name: compared(name, layout) for name in CALLS}
    assert len([name for name, n in found.items() if n]) >= 80     # others take other arguments
    assert sum(found.values()) >= 400


# ---- writes --------------------------------------------------------------------------------------
WRITES = {
    "add": lambda x: x.add_(x), "mul": lambda x: x.mul_(2), "clamp": lambda x: x.clamp_(0, 1),
    "cumsum": lambda x: x.cumsum_(-1), "cumprod": lambda x: x.cumprod_(-1),
    "masked_fill": lambda x: x.masked_fill_(x > 0.5, 0), "copy": lambda x: x.copy_(x * 2),
    "square": lambda x: x.square_(), "relu": torch.relu_, "div": lambda x: x.div_(x + 1),
    "index_fill": lambda x: x.index_fill_(-1, torch.tensor([1]), 0.5), "zero": lambda x: x.zero_(),
    "fill": lambda x: x.fill_(2)}


@LAYOUTS
@pytest.mark.parametrize("name", WRITES)
def test_writes_in_place(name, layout):
    write, elements = WRITES[name], [x.requires_grad_() for x in elements_of(("j", 4))]
    batch = torch.nested.as_nested_tensor(elements, layout=layout) * 1
    written = write(batch)
    assert written is batch
    results = [list(batch.unbind()), [write(x * 1) for x in elements]]
    grads = [torch.autograd.grad(sum([y.square().sum() for y in found]), elements,
                                 allow_unused=True, materialize_grads=True) for found in results]
    for a, b in [*zip(*results, strict=True), *zip(*grads, strict=True)]:
        torch.testing.assert_close(a, b)


@LAYOUTS
def test_random_numbers_are_those_of_the_values(layout):
    batch = torch.nested.nested_tensor(elements_of(("j", 4)), layout=layout)
    for draw in (lambda x: x.clone().normal_(), lambda x: x.clone().uniform_(2, 3),
                 lambda x: torch.bernoulli(x.clamp(0, 1)), torch.rand_like, torch.randn_like,
                 lambda x: torch.nn.functional.dropout(x, 0.5),
                 lambda x: torch.nn.functional.alpha_dropout(x, 0.5, True)):
        torch.manual_seed(1)
        found = draw(batch)
        torch.manual_seed(1)
        assert torch.equal(found.values(), draw(batch.values())) and found.is_like(batch)


def test_a_write_to_a_copy_is_refused():
    """Elements of the layout ``torch.strided`` have no common view of a column."""
    batch = torch.nested.nested_tensor(elements_of(("j", 4)))
    with pytest.raises(NotImplementedError, match="a write to a view of a nested tensor"):
        batch[..., 0] = 1.0
    jagged = torch.nested.nested_tensor(elements_of(("j", 4)), layout=torch.jagged)
    jagged[..., 0] = 1.0
    assert (jagged.values()[:, 0] == 1).all()


@pytest.mark.parametrize(("call", "words"), [
    (lambda nt, st: nt + st, "two layouts"),
    (lambda nt, st: nt[nt > 1], "a mask that is ragged itself"),
    (lambda nt, st: nt.unbind(1), "a result for each place"),
    (lambda nt, st: nt.chunk(2, 1), "other sizes along the ragged dim"),
    (lambda nt, st: st.chunk(2, 1), "computed from a ragged size"),
    (lambda nt, st: nt.flatten(0, 1), "batch dimension"),
    (lambda nt, st: torch.diagonal(nt[..., 0]), "places along the ragged dim"),
    (lambda nt, st: nt.repeat_interleave(2, 1), r"repeat_interleave\(\) is not supported"),
])
def test_refusals_say_why(call, words):
    elements = elements_of(("j", 4))
    nt, st = [torch.nested.nested_tensor(elements, layout=x) for x in (torch.jagged, torch.strided)]
    with pytest.raises(RuntimeError, match=words):
        call(nt, st)


def test_a_detached_tensor_inside_a_function_stays_so():
    elements = [x.requires_grad_() for x in elements_of(("j", 4))]
    for hard in (lambda x: torch.cosine_similarity(x, x * x, -1),
                 lambda x: x - (x * x).detach() + x.sort(-1)[0]):
        found = hard(torch.nested.as_nested_tensor(elements, layout=torch.jagged))
        grads = [torch.autograd.grad(sum([y.square().sum() for y in ys]), elements)
                 for ys in (found.unbind(), [hard(x) for x in elements])]
        for a, b in zip(*grads, strict=True):
            torch.testing.assert_close(a, b)
