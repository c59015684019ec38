"""`opcheck`: whether a custom operator does what its schema, its fake kernel and its derivative formula say."""

from .. import Tensor
from ..compiler import compile
from ..testing import assert_close
from ..utils._pytree import tree_leaves, tree_map
from .operators import operator

__all__ = ["OpCheckError", "opcheck"]

TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class OpCheckError(Exception):
    """The error of `opcheck`: what the operator does, and what it says."""


def opcheck(op, args, kwargs=None, *, test_utils=TESTS, raise_exception=True, atol=None, rtol=None):
    """Try an operator on arguments, and say of each test of `test_utils` whether it passes.

    ``test_schema``: arguments are written to if, and only if, the schema says so, and results are new memory.
    ``test_autograd_registration``: arguments that require gradients give results that do, or it has no formula.
    ``test_faketensor``: the fake kernel tells the shapes and dtypes that the real one gives.
    ``test_aot_dispatch_dynamic``: compiled, it gives the same results.

    Returns a dict from tests to "SUCCESS" or the error; OpCheckError for the first that fails, with `raise_exception`.
    """
    found, definition = {}, operator(op)
    for test in [test_utils] if isinstance(test_utils, str) else test_utils:
        if test not in TESTS:
            raise ValueError(f"unknown test {test!r}: expected one of {', '.join(TESTS)}")
        try:
            globals()[test](definition, args, kwargs or {}, {"atol": atol, "rtol": rtol})
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {test} failed with {error}") from error
            found[test] = error
        else:
            found[test] = "SUCCESS"
    return found


def fresh(x):
    """Arguments with tensors of their own memory."""
    return tree_map(lambda t: t.detach().clone().requires_grad_(t.requires_grad) if isinstance(t, Tensor) else t, x)


def test_schema(op, args, kwargs, tolerance):
    args, kwargs = fresh((args, kwargs))
    values = op.schema.bind(op.qualname, args, kwargs)
    before = fresh(values)
    op.unrecorded(values)
    for argument, value, old in zip(op.schema.arguments, values, before):
        pairs = [(a, b) for a, b in zip(tree_leaves(value), tree_leaves(old)) if isinstance(a, Tensor)]
        same = all([bool(((a == b) | (a != a)).all()) for a, b in pairs])
        if not same and not argument.mutated:
            raise RuntimeError(f"Argument {argument.name} is not defined as mutable but was mutated")


def test_autograd_registration(op, args, kwargs, tolerance):
    args, kwargs = fresh((args, kwargs))
    inputs = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor) and x.requires_grad]
    results = [x for x in tree_leaves(op(*args, **kwargs)) if isinstance(x, Tensor) and x.is_floating_point()]
    if inputs and op.formula is not None and results and not any(x.requires_grad for x in results):
        raise RuntimeError("no result requires gradients, though arguments do and a derivative formula is registered")


def test_faketensor(op, args, kwargs, tolerance):
    def kinds(x):
        return [(list(t.shape), t.dtype) if isinstance(t, Tensor) else t for t in tree_leaves(x)]
    args, kwargs = fresh((args, kwargs))
    fake = tree_map(lambda t: t.detach().to("meta") if isinstance(t, Tensor) else t, (args, kwargs))
    told, real = kinds(op(*fake[0], **fake[1])), kinds(op(*args, **kwargs))
    if told != real:
        raise RuntimeError(f"the fake kernel returns {told}, the real one {real}")


def test_aot_dispatch_dynamic(op, args, kwargs, tolerance):
    given, again, eager = fresh((args, kwargs)), fresh((args, kwargs)), fresh((args, kwargs))
    compiled = compile(lambda *args, **kwargs: op(*args, **kwargs))
    compiled(*given[0], **given[1])
    assert_close(compiled(*again[0], **again[1]), op(*eager[0], **eager[1]), **tolerance)
