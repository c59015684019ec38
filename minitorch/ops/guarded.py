"""Composites whose errors are explained: their bodies in a try block, which costs a call nothing.

The block is put around the body where a function is called for the first time, in its own source, so that lines and
names stay what they are. A function without source keeps the errors of Python and NumPy.

A function with `dim` or `keepdim` takes NumPy's names for them on this way too: ``x.softmax(axis=1)``.
"""

import ast
import inspect
import linecache
import os
import textwrap
import time
from opcode import opmap
from types import CodeType, FunctionType

from ..core.template import NUMPY_NAMES
from ..explain.trees import one_at_a_time

__all__ = ["guarded", "is_pending", "with_free_variables"]

IMPORTED = time.time()     # a file that changes later is not the source of what was imported

FUNCTION = "the function that the block is in"
BLOCK = f"""
try:
    pass
except Exception as _error:
    from minitorch.explain.arguments import of_frame as _of_frame
    _found = _of_frame(_error, {FUNCTION!r})
    if _found is _error:
        raise
    if isinstance(_found, tuple):
        return _found[0]
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
        names, required = numpy_names(function)
        with one_at_a_time:
            code = in_try_block(function.__code__, target, names, required)
        if code is function.__code__:                      # without source
            names, required = {}, []
        # The code last, and `_load` stays: another thread may be about to run the old code, which needs it.
        target.__defaults__ = (*[...] * len(required), *(function.__defaults__ or ())) or None
        target.__kwdefaults__ = {**(function.__kwdefaults__ or {}), **dict.fromkeys(names), "_load": load}
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
    """True if a function awaits its first call."""
    return function.__code__.co_name == first_call.__name__


def numpy_names(function):
    """{NumPy's name: name} of parameters of a function; and those without default from such a one on.

    These may be left out now, which `...` stands for, as the first of them may be given by the other name.
    """
    code = function.__code__
    count, known = code.co_argcount, code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
    names = {theirs: ours for theirs, ours in NUMPY_NAMES.items() if ours in known and not reads(code, theirs)}
    needed = list(known[:count - len(function.__defaults__ or ())])
    first = min([needed.index(ours) for ours in names.values() if ours in needed], default=len(needed))
    return names, needed[first:]


def reads(code, name):
    """True if a function, or one within it, has a variable of a name, or reads one from
    elsewhere."""
    return name in (*code.co_varnames, *code.co_names, *code.co_freevars) or \
        any([reads(inner, name) for inner in code.co_consts if isinstance(inner, CodeType)])


def in_try_block(code, function, names, required):
    """`code`, that of `function`, in a try block, with keywords for NumPy's `names` (see `numpy_names`) before it."""
    try:
        if os.stat(code.co_filename).st_mtime > IMPORTED:
            return code
        # Not `inspect.getsource`, which asks for the files of all modules first, some 50 ms.
        lines = inspect.getblock(linecache.getlines(code.co_filename)[code.co_firstlineno - 1:])
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):
        return code
    if not tree.body:                                      # the source is not there
        return code
    definition, block = tree.body[0], ast.parse(BLOCK).body[0]
    if not isinstance(definition, ast.FunctionDef):
        return code
    block.body = definition.body
    for node in ast.walk(block.handlers[0]):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = definition.lineno
    definition.decorator_list, definition.returns, definition.body = [], None, [block]
    take(definition, names, required)
    definition.name = "_function"                          # in which its own name stays that of the module
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
    consts = tuple([function if c == FUNCTION else c for c in made.co_consts])
    return made.replace(co_name=code.co_name, co_varnames=names, co_consts=consts)


def take(definition, names, required):
    """Give the syntax tree of a function the keywords of NumPy's `names`, and the lines that read them."""
    given, lines = definition.args, [f"if {theirs} is not None: {ours} = {theirs}" for theirs, ours in names.items()]
    missing = "if {0} is ...: raise TypeError('{1}() missing 1 required positional argument: \"{0}\"')"
    lines += [missing.format(name, definition.name) for name in required]
    given.kwonlyargs += [ast.arg(theirs) for theirs in names]
    given.kw_defaults += [ast.Constant(None) for _ in names]
    given.defaults = [*[ast.Constant(...) for _ in required], *given.defaults]
    added = ast.parse("\n".join(lines)).body
    for node in [x for line in added for x in ast.walk(line)]:
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = definition.lineno
    definition.body = [*added, *definition.body]
    ast.fix_missing_locations(definition)


def compiled(definition, code):
    """The code of a function's syntax tree, in a function that has its free variables."""
    tree = ast.parse("def outer():\n    pass")
    outer = tree.body[0]
    outer.body = [*[ast.parse(f"{name} = None").body[0] for name in code.co_freevars], definition]
    found = compile(tree, code.co_filename, "exec")
    for _ in range(2):
        found = next(c for c in found.co_consts if isinstance(c, CodeType))
    return found
