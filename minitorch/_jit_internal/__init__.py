"""``torch._jit_internal``: marks for TorchScript that PyTorch's own layers use, and libraries that began as copies."""

import typing
from typing import Any, Final

from ..futures import Future
from ..jit import export, ignore, is_scripting, unused

__all__ = ["Any", "Dict", "Final", "Future", "List", "Optional", "Tuple", "Union", "_copy_to_script_wrapper",
           "_overload", "_overload_method", "boolean_dispatch", "export", "ignore", "is_scripting", "unused"]

Dict, List, Optional, Tuple, Union = typing.Dict, typing.List, typing.Optional, typing.Tuple, typing.Union    # noqa: UP006


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that calls `if_true` or `if_false`, as its argument `arg_name` (at place `arg_index`) says."""
    def chosen(*args, **kwargs):
        flag = args[arg_index] if arg_index < len(args) else kwargs.get(arg_name, default)
        return (if_true if flag else if_false)(*args, **kwargs)
    chosen.__name__, chosen.__doc__ = func_name or if_true.__name__, if_true.__doc__
    return chosen


def _copy_to_script_wrapper(fn):
    """`fn` as it is."""
    return fn


_overload = _overload_method = _copy_to_script_wrapper
