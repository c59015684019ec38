"""Composites whose errors are explained: their bodies in a try block, which costs a call nothing.

The block is put around the body where a function is called for the first time, in its own source, so that lines and
names stay what they are. A function without source keeps the errors of Python and NumPy.
"""

import ast
import inspect
import os
import textwrap
import time
from opcode import opmap
from types import CodeType, FunctionType

from ..explain.trees import one_at_a_time

__all__ = ["guarded", "is_pending", "with_free_variables"]

IMPORTED = time.time()     # a file that changes later is no source of what was imported

FUNCTION = "the function that the block is in"
BLOCK = f"""
try:
    pass
except Exception as _error:
    from minitorch.explain.arguments import of_frame as _of_frame
    _found = _of_frame(_error, {FUNCTION!r})
    if _found is _error:
        raise
    raise _found from None
"""


def first_call(*args, _load, **kwargs):
    return _load()(*args, **kwargs)


def guarded(function):
    """`function` with its body in a try block; the code of the same object is written when it is first called."""
    if is_pending(function):                               # it has one already
        return function
    call = FunctionType(with_free_variables(first_call.__code__, function.__code__.co_freevars), function.__globals__,
                        function.__name__, None, function.__closure__)

    def load():
        target = load.target                               # which `autograd.dispatch` may have replaced
        with one_at_a_time:
            code = in_try_block(function.__code__, target)
        # The code last, and `_load` stays: another thread may be about to run the old code, which needs it.
        target.__defaults__, target.__kwdefaults__ = function.__defaults__, {**(function.__kwdefaults__ or {}),
                                                                             "_load": load}
        target.__code__ = code
        return target

    load.target = call
    call.__kwdefaults__ = {"_load": load}
    call.__wrapped__, call.__doc__ = function, function.__doc__        # `inspect` finds signature and source there
    call.__qualname__, call.__module__ = function.__qualname__, function.__module__
    return call


def with_free_variables(code, names):
    """`code`, which has no free variables, as that of a function that has some.

    From Python 3.11 on it must begin with the instruction that brings them: a debugger that asks for the variables of
    its frame reads them from there, and from nowhere without it.
    """
    if not names:
        return code
    if "COPY_FREE_VARS" not in opmap:
        return code.replace(co_freevars=names)
    return code.replace(co_freevars=names, co_code=bytes((opmap["COPY_FREE_VARS"], len(names))) + code.co_code,
                        co_linetable=b"\xf8" + code.co_linetable)     # one instruction of no line


def is_pending(function):
    """Whether a function awaits its first call."""
    return function.__code__.co_name == first_call.__name__


def in_try_block(code, function):
    """`code`, that of `function`, in a try block."""
    try:
        if os.stat(code.co_filename).st_mtime > IMPORTED:
            return code
        tree = ast.parse(textwrap.dedent(inspect.getsource(code)))
    except (OSError, SyntaxError):
        return code
    definition, block = tree.body[0], ast.parse(BLOCK).body[0]
    if not isinstance(definition, ast.FunctionDef):
        return code
    block.body = definition.body
    for node in ast.walk(block.handlers[0]):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = definition.lineno
    definition.decorator_list, definition.returns, definition.body = [], None, [block]
    for argument in ast.walk(definition.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    ast.increment_lineno(definition, code.co_firstlineno - 1)
    made = compiled(definition, code)
    if made.co_freevars != code.co_freevars:
        return code
    names = made.co_varnames
    if code.co_argcount and names[0] not in made.co_cellvars:          # "self" in a method
        names = (code.co_varnames[0], *names[1:])
    return made.replace(co_varnames=names, co_consts=tuple([function if c == FUNCTION else c for c in made.co_consts]))


def compiled(definition, code):
    """The code of a function's syntax tree, in a function that has its free variables."""
    tree = ast.parse("def outer():\n    pass")
    outer = tree.body[0]
    outer.body = [*[ast.parse(f"{name} = None").body[0] for name in code.co_freevars], definition]
    found = compile(tree, code.co_filename, "exec")
    for _ in range(2):
        found = next(c for c in found.co_consts if isinstance(c, CodeType))
    return found
