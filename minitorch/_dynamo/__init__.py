"""``torch._dynamo``: what programs say to PyTorch's compiler, for `compiler`.

`config` keeps what is set on it and changes nothing.
"""

import sys
from types import SimpleNamespace

from ..compiler import (
    allow_in_graph,
    assume_constant_result,
    compile,
    disable,
    is_compiling,
    list_backends,
    reset,
    set_stance,
    substitute_in_graph,
)
from ..compiler.module import CompiledModule as OptimizedModule

__all__ = ["OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "disallow_in_graph",
           "forbid_in_graph", "graph_break", "is_compiling", "list_backends", "mark_dynamic", "mark_static",
           "mark_static_address", "maybe_mark_dynamic", "optimize", "reset", "run", "set_stance",
           "substitute_in_graph"]

config = SimpleNamespace(cache_size_limit=8, recompile_limit=8, accumulated_cache_size_limit=256, suppress_errors=False,
                         verbose=False, dynamic_shapes=True, assume_static_by_default=True,
                         automatic_dynamic_shapes=True, capture_scalar_outputs=False, optimize_ddp=True,
                         capture_dynamic_output_shape_ops=False, allow_unspec_int_on_nn_module=False,
                         inline_inbuilt_nn_modules=True)


eval_frame = sys.modules[__name__]                         # a file of PyTorch's, which has `OptimizedModule`
disallow_in_graph = forbid_in_graph = disable


def graph_break(msg=""):
    """A function that says this while it is compiled runs eagerly, as a whole."""
    disable(lambda: None, reason=msg or None)()


def mark_dynamic(t, index=None, **kwargs):
    """Nothing: a function is compiled once for each shape."""


mark_static = mark_static_address = maybe_mark_dynamic = mark_dynamic


def optimize(backend="auto", *, nopython=False, disable=False, **kwargs):
    """`compile` as a decorator, by its older name; `nopython` is its `fullgraph`."""
    return compile(backend=backend, fullgraph=nopython, disable=disable)


def run(fn=None):
    """A compiled function as it is."""
    return fn if fn is not None else lambda f: f
