"""One expression evaluated in both libraries: the results must agree, or the classes of the errors."""

import warnings

import numpy as np


def evaluate(expression, library, names):
    """The value of `expression`, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(expression, {"torch": library, **names})
        except Exception as error:
            return error


def builtin_class(error):
    """The most special class of an error that Python itself has."""
    return next(c for c in type(error).__mro__ if c.__module__ == "builtins")


def agree(expression, ours, theirs, names):
    """AssertionError unless ``names(library)`` make the expression mean the same to both libraries."""
    found, wanted = [evaluate(expression, library, names(library)) for library in (ours, theirs)]
    if isinstance(wanted, Exception):
        assert isinstance(found, Exception), f"{expression}: no error, but PyTorch says {wanted!r}"
        classes = builtin_class(wanted)
        if classes is AttributeError:                      # an accident of PyTorch's Python code: here it is named
            classes = (AttributeError, TypeError)
        assert isinstance(found, classes), f"{expression}: {found!r} instead of {wanted!r}"
        assert str(found), f"{expression}: an error without words"
        return
    if isinstance(found, Exception):
        raise AssertionError(f"{expression}: {found!r}") from found
    same(found, wanted, expression)


def same(found, wanted, where):
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted), where
        for field in getattr(found, "_fields", ()):        # PyTorch's named tuples have no `_fields`
            assert hasattr(wanted, field), f"{where}: PyTorch has no {field}"
        for a, b in zip(found, wanted):
            same(a, b, where)
    elif hasattr(wanted, "detach"):
        assert str(found.dtype) == str(wanted.dtype), f"{where}: {found.dtype} instead of {wanted.dtype}"
        assert tuple(found.shape) == tuple(wanted.shape), f"{where}: {found.shape} instead of {wanted.shape}"
        half = "float16" in str(wanted.dtype)
        found, wanted = found.detach(), wanted.detach().resolve_conj()
        a, b = [(x.float() if half else x).numpy() for x in (found, wanted)]
        tol = 1e-2 if half else 2e-5
        np.testing.assert_allclose(a, b, rtol=tol, atol=tol, err_msg=where)
    else:
        assert found == wanted, f"{where}: {found!r} instead of {wanted!r}"
