"""The door: the names to import to build on minitorch, in this package or outside of it.

Public names in PyTorch's spelling are for using tensors. The names here are for adding to the
library: an op, a kernel, a backend, a tool that watches or changes calls, an optimiser, a class of
tensors. They are stable: they change only with an entry in CHANGELOG.md. Everything else inside the
package may change at any time. Guests in this repository (`compiler`, `distributed`, `sparse`, ...)
use only public names and these, and so can a library of your own.

>>> import numpy as np
>>> import minitorch as torch
>>> from minitorch import extend

**An op.** `op` makes a definition from a function on raw arrays; keywords named after inputs are
the derivative formulas. `Op` lists the columns that a definition can have. With ``namespace=None``
it stays internal; by default it becomes `torch.growth` and a method. Inputs annotated `Number` may
be Python numbers, `Other` are indices or masks. `composite` publishes a function made of other ops.

>>> @extend.op(namespace=None, input=lambda F, g, out, rate: g * rate * out)
... def growth(F, input, *, rate=1.0):
...     return F.xp.exp(rate * input)
>>> x = torch.zeros(2, requires_grad=True)
>>> growth(x, rate=3.0).sum().backward()
>>> x.grad
tensor([3., 3.])
>>> @extend.op(namespace=None)
... def chosen(F, input, mask: extend.Other, other: extend.Number):
...     return F.xp.where(mask, input, other)
>>> chosen(torch.zeros(2), torch.tensor([True, False]), 5)
tensor([0., 5.])
>>> @extend.composite(namespace=None)
... def decay(input, *, rate=1.0):
...     return growth(input, rate=-rate)
>>> decay(torch.zeros(2))
tensor([1., 1.])
>>> isinstance(growth.op, extend.Op), extend.OPS["growth"] is growth.op
(True, True)
>>> extend.FUNCTIONS["", "exp"].call is torch.exp          # every public function
True

>>> @extend.op(namespace=None, input=lambda F, g, keep: g * keep)
... def damped(F, input, by: extend.Number, keep: extend.Other):
...     return input / by * keep
>>> damped(torch.ones(2), 2, torch.tensor([True, False]))
tensor([0.5000, 0.0000])
>>> @extend.composite(namespace=None)
... def growth_twice(input):
...     return growth(growth(input))
>>> growth_twice(torch.zeros(1))
tensor([2.7183])

**A kernel and a backend.** A backend is an array module with NumPy's names on a device, and
kernels, which are functions that replace the references of ops there. `Kernels` makes the decorator
that registers them. `register_backend` takes the function that makes the backend when its device
is first used; `get_backend` returns it. A kernel is called with the backend and raw arrays.

>>> kernel = extend.Kernels("loud")
>>> @kernel("growth", when=lambda F, input, rate: input.ndim > 0)
... def loud_growth(F, input, *, rate):
...     print("in the kernel")
...     return np.exp(rate * input)
>>> def make_loud(index):
...     return extend.Backend(torch.device("loud"), np, kernel.found)
>>> extend.register_backend("loud", make_loud)
>>> growth(torch.zeros(1, device="loud"))
in the kernel
tensor([1.], device='loud')
>>> extend.get_backend("loud"), torch.zeros(1, device="loud").backend
(<backend loud>, <backend loud>)

**Raw arrays.** A tensor is an array (`x.array`) on a backend (`x.backend`); `wrap` makes a tensor
from both. `owner` returns the array that owns the memory of another, `pointer` the address of its
first element; `from_np` converts a NumPy dtype. bfloat16 is not one of NumPy's floats, so
test a raw dtype with `is_floating`, `is_inexact` (floating or complex) or `is_half` (16 bits).

>>> array = np.arange(6.0).reshape(2, 3)
>>> extend.wrap(array, extend.get_backend("cpu"))
tensor([[0., 1., 2.],
        [3., 4., 5.]], dtype=torch.float64)
>>> extend.owner(array[1]) is array.base, extend.pointer(array[1]) - extend.pointer(array)
(True, 24)
>>> extend.from_np(np.dtype("int32"))
torch.int32
>>> half = torch.empty(0, dtype=torch.bfloat16).array.dtype
>>> extend.is_half(half), extend.is_floating(half), extend.is_inexact(np.dtype("complex64"))
(True, True, True)

A pickled tensor holds a `Memory`, which tensors on the same memory share, and its place in it: to
send memory another way, register a reducer for `Memory`. Where a `vmap` runs,
``x.backend.physical(x.array)`` is the array of all elements of the batch.

>>> a, b = torch.ones(3)[:1], torch.ones(3)[1:]
>>> extend.Memory.of(a.array.base, a.backend) is extend.Memory.of(a.array.base, a.backend)
True
>>> def largest(x):
...     print(x.backend.physical(x.array).max())
...     return x
>>> y = torch.vmap(largest)(torch.tensor([1.0, 4.0]))
4.0

**The graph.** `Node` is a recorded call; its `parents` are nodes or leaf tensors. An op with
several outputs has a `MultiOutputNode`, and an `OutputNode` in front of it for each output;
`FunctionNode` is the node of an `autograd.Function`. `run_backward` is the engine: gradients from
roots to leaves. After writing to an array, `bump_version` has graphs that saved it notice.

>>> x = torch.ones(2, requires_grad=True)
>>> y = x.exp()
>>> isinstance(y.node, extend.Node), y.node.parents[0] is x
(True, True)
>>> first, second = torch.stack([x, x]).unbind(0)
>>> isinstance(second.node, extend.OutputNode), second.node.op
(True, 1)
>>> isinstance(second.node.parents[0], extend.MultiOutputNode)
True
>>> class Double(torch.autograd.Function):
...     forward = staticmethod(lambda ctx, x: 2 * x)
...     backward = staticmethod(lambda ctx, g: 2 * g)
>>> isinstance(Double.apply(x).node.parents[0], extend.FunctionNode)
True
>>> captured = {x: None}                                   # stored here, not added to `grad`
>>> extend.run_backward([y.node], [torch.ones(2)], capture=captured)
>>> captured[x].round(3)
array([2.718, 2.718], dtype=float32)
>>> y = x.exp()
>>> y.array[:] = 0
>>> extend.bump_version(y, "my_write")
>>> y.sum().backward()
Traceback (most recent call last):
    ...
RuntimeError: one of the variables needed for gradient computation has been modified by an inplace \
operation: ...

``node.pack_saved`` has a new node keep something else in place of arrays that it has saved.

>>> class Doubles(extend.NodeHook):                        # float32 is kept as float16
...     def recorded(self, node, result):
...         node.pack_saved(lambda t: t.half(), lambda t: t.float(),
...                         lambda array: array.dtype == np.float32)
>>> hook = Doubles()
>>> extend.add_node_hook(hook)
>>> (x * 1.0001).exp().node
<ExpBackward0>
>>> y = x.exp()
>>> extend.remove_node_hook(hook)
>>> y.backward(torch.ones(2))
>>> x.grad
tensor([2.7188, 2.7188])

`make_node` makes a node for a call that no definition stands for. Writes are counted on the array
that owns the memory: `versions` is the table of the counts, `versions.counted` that array. What an
`autograd.Function` keeps on its context lies there as `Saved`.

>>> node = extend.make_node(extend.OPS["clone"], (x,), (), (2,), x.backend)
>>> node, extend.versions.counted(array[1]) is array.base
(<CloneBackward0>, True)
>>> before = extend.versions.count(array), extend.versions.now()
>>> extend.versions.bump([extend.versions.counted(array)], "my_write")
>>> before[0], extend.versions.count(array[1]), extend.versions.written_since(before[1])
(0, 1, True)
>>> class Square(torch.autograd.Function):
...     @staticmethod
...     def forward(ctx, x):
...         ctx.save_for_backward(x)
...         return x * x
...     backward = staticmethod(lambda ctx, g: 2 * g * ctx.saved_tensors[0])
>>> kept = Square.apply(x).node.parents[0].saved._saved[0]
>>> isinstance(kept, extend.Saved), kept.value is x
(True, True)

`uses_behind` lists the nodes and leaves that a node was computed from, the nearest first;
`values_behind` lists them in the order of the calls, with the values that are still known.

>>> y = x.relu().exp()
>>> list(extend.uses_behind(y.node))[:2]
[<ExpBackward0>, <ReluBackward0>]
>>> order, values = extend.values_behind(y.node)
>>> order[0] is x, values[order[1]].tolist()
(True, [1.0, 1.0])

**Watching and changing calls.** A `NodeHook` in the list (`add_node_hook`, `remove_node_hook`) is
notified of each new node, each step of a backward pass and each pass. `observed` is a layer around
the ops of all backends that reports each call; `layer` is one that replaces functions. They cost
nothing when unused.

>>> class Names(extend.NodeHook):
...     def recorded(self, node, result):
...         print(node.name())
>>> hook = Names()
>>> extend.add_node_hook(hook)
>>> y = (x * 2).sum()
MulBackward0
SumBackward0
>>> extend.remove_node_hook(hook)
>>> def begin(name, arrays, attrs, backend):
...     print(name, [a.shape for a in arrays])
>>> with extend.observed(begin, lambda token, result: None):
...     y = torch.ones(3).exp()
exp [(3,)]
>>> def rounded(name, function, backend):
...     return function if name != "exp" else lambda x: np.round(function(x))
>>> with extend.layer(rounded):
...     torch.ones(1).exp()
tensor([3.])

**Running something else.** A tracer, or what runs a program in place of calls, asks
`must_run_eagerly` whether anything needs the calls to run one by one: hooks on saved
values, forward mode, a class or a mode that answers calls. `stand_in` puts a backend in the place
of another, and back; tensors that exist keep theirs. `module_changes` is equal to an earlier answer
as long as no module and no hook of one has changed. `note_inference` marks a tensor around an array
as made in inference mode. ``backend.layered(name, function)`` lets layers see a
function as an op.

>>> extend.must_run_eagerly([x])
False
>>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
...     bool(extend.must_run_eagerly([x]))
True
>>> cpu = extend.get_backend("cpu")
>>> other = extend.Backend(cpu.device, np)
>>> extend.stand_in(cpu, other)
>>> torch.ones(1).backend is other
True
>>> extend.stand_in(other, cpu)
>>> model = torch.nn.ReLU()
>>> before = extend.module_changes()
>>> model.inplace = True
>>> extend.module_changes() == before
False
>>> y = extend.wrap(np.zeros(2), cpu)
>>> extend.note_inference(y)
>>> y.is_inference()
True

**Tensors of another kind.** Results of calls are tensors on the backend of their inputs. A class
with the metaclass `TensorKind` stands for all tensors on one class of backends, which names it as
``kind``: they are its instances, and have its attributes.

>>> class Small(torch.Tensor, metaclass=extend.TensorKind):
...     def twice(self):
...         return self * 2
>>> class Few(extend.Backend):
...     kind = Small
>>> few = extend.wrap(np.ones(1), Few(torch.device("cpu"), np))
>>> isinstance(few, Small), isinstance(torch.ones(1), Small)
(True, False)
>>> few.twice()
tensor([2.], dtype=torch.float64)

Its backend may be `Standing` on another one: arrays consist of arrays of that, as those of a masked
tensor do. Tensors of several backends come `together` on one, which has the marks of all.

>>> def inside(x):
...     x, one = extend.together((x, torch.ones(2)))
...     assert isinstance(x.backend, extend.Standing) and one.backend is x.backend
...     return one
>>> torch.func.jvp(inside, (torch.zeros(2),), (torch.ones(2),))
(tensor([1., 1.]), tensor([0., 0.]))

A step from one backend to another, in the same memory, is recorded as `crossed_view`, with a
function of the gradient.

>>> def negated(g):
...     return extend.asked(torch.neg, g)
>>> x = torch.ones(2, requires_grad=True)
>>> extend.crossed_view(extend.wrap(x.array, x.backend), x, negated).sum().backward()
>>> x.grad
tensor([-1., -1.])

A subclass with ``__torch_function__`` answers calls itself, as in
PyTorch; `disabled_torch_function` is that of classes that leave all calls as they are. A class in
another layout is entered with `enter_layout` and asked below all overrides; its methods that write
in place have a tensor `take_over` what was computed. A backward pass runs with overrides off; a
user's function inside it is `asked` with these on. `attributes_of` reads and writes all attributes
of a tensor, those of the library too, as `object.__dict__` does for other objects. Classes not
derived from Tensor are asked about calls after `activate_overrides`; your own function asks modes
and its arguments with `ask_overrides`.

>>> class Tagged(torch.Tensor):
...     __torch_function__ = extend.disabled_torch_function
>>> type(torch.ones(1).as_subclass(Tagged).exp())
<class 'minitorch.Tensor'>
>>> class Sevens:                                          # not a Tensor, and it answers all calls
...     @classmethod
...     def __torch_function__(cls, function, types, args, kwargs):
...         return 7
>>> extend.activate_overrides()
>>> torch.exp(Sevens()), extend.ask_overrides(print, [Sevens()], (), {})
(7, 7)
>>> extend.ask_overrides(print, [torch.ones(1)], (), {})
NotImplemented
>>> extend.attributes_of.__get__(torch.ones(2))["array"]
array([1., 1.], dtype=float32)
>>> extend.enter_layout.__module__                         # see minitorch/sparse/tensor.py
'minitorch.autograd.dispatch'
>>> x, y = torch.ones(2), torch.ones(2, requires_grad=True)
>>> extend.take_over(x, y.exp(), "exp_")
>>> x
tensor([2.7183, 2.7183], grad_fn=<ExpBackward0>)

**Facts about ops.** The column `dims` of a definition says which dimensions go together, in the
notation of `minitorch.ops.dims`. ``op.tangent_kind`` says what follows from the derivative
formulas: a "linear" op, a "multilinear" one, one whose derivative is "zero".

>>> [extend.OPS[name].tangent_kind for name in ("sum", "matmul", "floor")]
['linear', 'multilinear', 'zero']

**Questions of the kernel.** A `Hook` is a function that the kernel calls and a library above it
fills: ``@extend.fills("is_shared")`` decorates the function that answers from then on.

>>> extend.fills("is_shared").__self__.__doc__
'True if a tensor lies in memory that processes share. Filled by `multiprocessing.sharing`.'

**Modes.** `grad_mode` holds the modes of this thread: `enabled`, `batches` (the backends of the
running vmaps), `levels` (of forward mode). `recording` switches recording on or off in a block.

>>> with extend.recording(False):
...     extend.grad_mode.enabled, x.exp().requires_grad
(False, False)

**Optimisers.** `Elementwise` is the base of optimisers that treat every element alike, `Stepping`
that of everything with a `step` that `compile` takes as a whole: ``Stepping.observe`` names a
function that is called in place of all steps. CONTRIBUTING.md has an example.

>>> issubclass(torch.optim.Adam, extend.Elementwise), issubclass(torch.optim.Adam, extend.Stepping)
(True, True)
>>> def observer(optimizer, run, has_arguments):
...     print("a step of", type(optimizer).__name__)
...     return run()
>>> extend.Stepping.observe(observer)
>>> torch.optim.SGD([torch.ones(1, requires_grad=True)]).step()
a step of SGD
>>> extend.Stepping.observe(None) is observer
True

**Errors and warnings.** `worded` marks an error whose text is final, so that it is not explained
again; `checked_dim` converts a dimension to one counted from the front; `warn` warns at the user's
line; `calling_line` finds that line.

>>> extend.checked_dim(-1, 3)
2
>>> extend.checked_dim(5, 3)
Traceback (most recent call last):
    ...
IndexError: Dimension out of range (expected to be in range of [-3, 2], but got 5)
>>> extend.worded(ValueError("final")).explained
True
>>> import warnings
>>> with warnings.catch_warnings(record=True) as caught:
...     warnings.simplefilter("always")
...     extend.warn("beware")
>>> str(caught[0].message), extend.calling_line()[1] > 0
('beware', True)
"""

from typing import TYPE_CHECKING

from .autograd.behind import uses_behind, values_behind
from .autograd.crossing import crossed_view
from .autograd.dispatch import activate as activate_overrides
from .autograd.dispatch import (
    ask_overrides,
    asked,
    disabled_torch_function,
    enter_layout,
    take_over,
)
from .autograd.eagerly import must_run_eagerly
from .autograd.function import FunctionNode, Saved
from .autograd.kinds import TensorKind
from .autograd.standing import Standing, together
from .backends.kernels import Kernels
from .core.arrays import is_floating, is_half, is_inexact, owner, pointer
from .core.attributes import kept as attributes_of
from .core.backend import Backend
from .core.device import get as get_backend
from .core.device import register as register_backend
from .core.device import stand_in
from .core.dtypes import from_np
from .core.engine import run as run_backward
from .core.errors import checked_dim, worded
from .core.grad_mode import grad_mode, recording
from .core.graph import (
    MultiOutputNode,
    Node,
    OutputNode,
    bump_version,
    calling_line,
    note_inference,
    versions,
)
from .core.graph import made_node as make_node
from .core.hooks import NodeHook, add_node_hook, remove_node_hook
from .core.layers import observed
from .core.layers import pushed as layer
from .core.op import Number, Op, Other
from .core.registry import FUNCTIONS, OPS, fills
from .core.tensor import wrap
from .explain.callers import warn
from .ops.define import composite, op

if TYPE_CHECKING:
    from .nn.hooks import module_changes
    from .optim.flat import Elementwise
    from .optim.stepping import Stepping
    from .serialization.tensors import Memory

__all__ = ["FUNCTIONS", "OPS", "Backend", "Elementwise", "FunctionNode", "Kernels", "Memory",
           "MultiOutputNode", "Node", "NodeHook", "Number", "Op", "Other", "OutputNode",
           "Saved", "Standing", "Stepping", "TensorKind", "activate_overrides",
           "add_node_hook", "ask_overrides", "asked", "attributes_of", "bump_version",
           "calling_line", "checked_dim", "composite", "crossed_view",
           "disabled_torch_function", "enter_layout", "fills", "from_np",
           "get_backend", "grad_mode", "is_floating", "is_half", "is_inexact", "layer",
           "make_node", "module_changes", "must_run_eagerly", "note_inference", "observed", "op",
           "owner", "pointer", "recording", "register_backend", "remove_node_hook", "run_backward",
           "stand_in", "take_over", "together", "uses_behind", "values_behind", "versions", "warn", "worded",
           "wrap"]


def __getattr__(name):
    """The names of packages that only some programs need."""
    if name == "Elementwise":
        from .optim.flat import Elementwise as found
    elif name == "Stepping":
        from .optim.stepping import Stepping as found
    elif name == "Memory":
        from .serialization.tensors import Memory as found
    elif name == "module_changes":
        from .nn.hooks import module_changes as found
    else:
        raise AttributeError(f"module 'minitorch.extend' has no attribute {name!r}")
    globals()[name] = found
    return found
