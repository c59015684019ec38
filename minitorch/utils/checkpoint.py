"""Trade time for memory: `checkpoint` runs a part of a model again in the backward pass instead of keeping its values.

Chen et al. (2016), "Training deep nets with sublinear memory cost", https://arxiv.org/abs/1604.06174

Two ways, as in PyTorch. ``use_reentrant=False`` records the graph, but keeps no values in it: when the backward pass
asks for the first, the function is run again, until all that were saved have been saved again. ``use_reentrant=True``
records one node for the whole function, which runs a backward pass of its own.
"""

import contextlib
import enum
import weakref

from .. import cuda
from ..amp import autocast_mode
from ..autograd import api
from ..autograd.dispatch import asked
from ..autograd.function import Function, Saved
from ..autograd.grad_mode import enable_grad, no_grad
from ..autograd.graph import current_pass
from ..autograd.saved import PackedSaved, kept, saved_tensors_hooks
from ..core import device as devices
from ..core.grad_mode import grad_mode
from ..core.hooks import NodeHook, add_node_hook, remove_node_hook
from ..core.tensor import Tensor
from ..explain.callers import warn
from ..random.generator import default_states, restore_defaults
from ._pytree import tree_leaves

__all__ = ["CheckpointError", "CheckpointFunction", "CheckpointPolicy", "checkpoint",
           "checkpoint_sequential", "create_selective_checkpoint_contexts", "get_device_states",
           "noop_context_fn", "set_device_states",
           "set_checkpoint_debug_enabled", "set_checkpoint_early_stop"]

WITHOUT_REENTRANT = ("{}: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
                     "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, "
                     "but if you need to preserve the current default behavior, you can pass use_reentrant=True. Refer "
                     "to docs for more details on the differences between the two variants.")


def noop_context_fn():
    """Two contexts that do nothing: the default `context_fn`."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def get_device_states(*args):
    """The indices of the devices that tensors in `args` (nested) lie on, and the states of their random generators."""
    found = dict.fromkeys(x.device for x in tree_leaves(args) if isinstance(x, Tensor) and x.is_cuda)
    return [d.index or 0 for d in found], [cuda.get_rng_state(d) for d in found]


def set_device_states(devices, states, *, device_type=None):
    """Set the states of the random generators of devices, as `get_device_states` gave them."""
    for index, state in zip(devices, states):
        cuda.set_rng_state(state, index)


def checkpoint(function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default",
               debug=False, early_stop=True, **kwargs):
    """``function(*args, **kwargs)`` without keeping what it computes in between.

    In the backward pass the function is called a second time, with random generators and autocast as they were in the
    first (generators not with ``preserve_rng_state=False``), so dropout draws the same. Gradients reach `args` and
    every parameter that the function uses.

    The rest is for ``use_reentrant=False``, which is recommended: tensors may be nested in lists and dicts, of
    arguments and results, and `autograd.grad` works. `context_fn` returns two contexts, for the first and for the
    second call. `determinism_check` "default" compares shape, dtype and device of what both calls save, "none" nothing;
    `debug` lists the ops of both in the error. `early_stop` ends the second call when it has saved all.
    """
    if use_reentrant is None:
        warn(WITHOUT_REENTRANT.format("torch.utils.checkpoint"))
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        return without_reentrance(function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug is not False:
        raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
    return CheckpointFunction.apply(function, preserve, *args)


class Surroundings:
    """The state of the world that a function depends on: random generators, autocast, the default device."""

    def __init__(self, preserve_rng_state):
        state = autocast_mode.state
        self.random = default_states() if preserve_rng_state else None
        self.autocast = state.enabled, dict(state.devices)
        self.device = devices.default.get()

    @contextlib.contextmanager
    def again(self):
        """The world as it was, within a block."""
        state = autocast_mode.state
        now = Surroundings(self.random is not None)
        self.set(state)
        try:
            yield
        finally:
            now.set(state)

    def set(self, state):
        if self.random is not None:
            restore_defaults(self.random)
        state.enabled, devices_ = self.autocast
        state.devices = dict(devices_)
        devices.default.set(self.device)


# ------------------------------------------------------------------ with a backward pass inside the backward pass
class CheckpointFunction(Function):
    """Forward unrecorded; backward records the call again and pulls through it."""

    @staticmethod
    def forward(ctx, function, preserve, *args):
        """The call, without a graph."""
        if not any([isinstance(a, Tensor) and a.requires_grad for a in args]):
            warn("None of the inputs have requires_grad=True. Gradients will be None")
        ctx.function, ctx.surroundings = function, Surroundings(preserve)
        ctx.args = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[a if isinstance(a, Tensor) else None for a in args])
        with no_grad():
            return function(*args)

    @staticmethod
    def backward(ctx, *grads):
        """The call again, and a backward pass through it."""
        if current_pass()["capture"] is not None:
            raise RuntimeError("When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                               "passing an `inputs` parameter to .backward(). To resolve this error, you can either "
                               "set use_reentrant=False, or call .backward() without passing the `inputs` argument.")
        inputs = [a if t is None else t.detach().requires_grad_(t.requires_grad)
                  for a, t in zip(ctx.args, ctx.saved_tensors)]
        with ctx.surroundings.again(), enable_grad():
            outputs = ctx.function(*inputs)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        live = [(o, g) for o, g in zip(outputs, grads) if isinstance(o, Tensor) and o.requires_grad]
        if not live:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        api.backward([o for o, _ in live], [g for _, g in live])
        return (None, None, *[x.grad if isinstance(x, Tensor) else None for x in inputs])


# ------------------------------------------------------------------ by hooks on saved tensors
class CheckpointPolicy(enum.Enum):
    """An answer of a policy of selective checkpoints about an operator."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """NotImplementedError: nothing asks a policy about single operators; put `checkpoint` around
    the part of the model to compute again, and leave what is to be kept outside."""
    raise NotImplementedError("checkpoints do not choose among operators: put checkpoint(...) around "
                              "the part to compute again, and leave out context_fn")


class CheckpointError(RuntimeError):
    """The second call did not save the tensors that the first one did."""


class StopRecomputation(Exception):
    """All has been saved again."""


class switched:
    """A setting of this module as a context: None leaves it to the argument of the call."""

    setting = {"early_stop": None, "debug": None}

    def __init__(self, name, value):
        self.name, self.value = name, value

    def __enter__(self):
        self.outer, self.setting[self.name] = self.setting[self.name], self.value

    def __exit__(self, *exc):
        self.setting[self.name] = self.outer


def set_checkpoint_early_stop(enable):
    """Within the block of the forward pass `checkpoint` stops its second call early, or does not."""
    return switched("early_stop", enable)


def set_checkpoint_debug_enabled(enabled):
    """Within the block `checkpoint` behaves as with ``debug=enabled``; None leaves it to the call."""
    return switched("debug", enabled)


def described(tensor):
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


CHECKS = {"default": described, "none": lambda tensor: None}


def without_reentrance(function, args, kwargs, preserve, context_fn, determinism_check, debug, early_stop):
    """`checkpoint` that records the graph, with holders in the place of values."""
    debug = debug if switched.setting["debug"] is None else switched.setting["debug"]
    if debug and context_fn is not noop_context_fn:
        raise ValueError("debug=True is incompatible with non-default context_fn")
    if determinism_check not in CHECKS:
        raise ValueError(f"determinism_check should be one of {list(CHECKS)}, but got {determinism_check}")
    logs = (Log(), Log()) if debug else None
    forward_context, again_context = logs or context_fn()
    if not grad_mode.enabled:
        return function(*args, **kwargs)
    surroundings = Surroundings(preserve)

    def again(inputs):
        with surroundings.again(), again_context:
            function(*inputs, **kwargs)

    early_stop = early_stop if switched.setting["early_stop"] is None else switched.setting["early_stop"]
    frame = Frame(again, args, early_stop, CHECKS[determinism_check], logs)
    with saved_tensors_hooks(frame.hold, lambda holder: frame.release(holder)), forward_context:
        result = function(*args, **kwargs)
        frame.is_complete = True
    if not frame.is_complete:
        raise RuntimeError("torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception "
                           "raised during the checkpointed forward. This is not supported because checkpoint cannot "
                           "return a value for a failed forward.")
    return result


class Holder:
    """Stands in the graph for a tensor; `handles`: what it is known by in each second call."""

    def __init__(self):
        self.handles = {}


class Handle:
    """Keeps a tensor of a second call alive until it is used."""


class SecondCall:
    """Tensors that the function has saved when it was run again for one backward pass."""

    def __init__(self, token):
        self.token, self.count, self.is_done = token, 0, False
        self.tensors = weakref.WeakKeyDictionary()         # Handle -> tensor


class Frame:
    """One checkpointed call: its inputs, the holders of what it saved, and its second calls."""

    def __init__(self, again, args, early_stop, describe, logs):
        self.again, self.early_stop, self.describe, self.logs = again, early_stop, describe, logs
        self.args = [kept(a) if isinstance(a, Tensor) else a for a in args]
        self.holders, self.descriptions, self.calls = [], [], {}
        self.is_complete = self.may_differ = False

    op = None                                              # in errors it stands in the place of a node

    def name(self):
        """Its name in errors."""
        return "checkpoint"

    def hold(self, tensor):
        """Pack: nothing is kept but what kind of tensor it was."""
        holder = Holder()
        self.holders.append(weakref.ref(holder))
        self.descriptions.append(self.describe(tensor))
        return holder

    def release(self, holder):
        """Unpack: run the function again, if this backward pass has not done so, and take what it saved."""
        running = current_pass()
        token = running["ready"] if running is not None else []      # one list for each pass
        call = self.calls.get(id(token))
        if call is None:
            call = self.calls[id(token)] = SecondCall(token)
        try:
            if not call.is_done:
                self.run_again(call)
                self.check(call)
            handle = holder.handles[id(token)]
            if handle is None:
                raise CheckpointError("torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
                                      "unpacked once. If you are calling ctx.saved_tensors in backward, make sure to "
                                      "do so only once. Otherwise please open an issue with details on your use case.")
        except CheckpointError as error:
            raise self.explained(error) from None
        holder.handles[id(token)] = None
        return call.tensors[handle]

    def run_again(self, call):
        inputs = [a.unpack(self) if isinstance(a, (Saved, PackedSaved)) else a for a in self.args]
        try:
            with saved_tensors_hooks(lambda t: self.take(call, t), lambda t: t), enable_grad():
                asked(self.again, inputs)
        except StopRecomputation:
            pass
        call.is_done = True

    def take(self, call, tensor):
        """Pack, in the second call: keep the tensor for the holder of the same number."""
        tensor = tensor.detach()
        i, call.count = call.count, call.count + 1
        if i >= len(self.holders):
            if not self.is_complete:                       # a backward pass inside the first call
                self.may_differ = True
                return tensor
            raise CheckpointError("torch.utils.checkpoint: trying to save more tensors during recomputation than "
                                  "during the original forward pass.")
        holder = self.holders[i]()
        if holder is not None:                             # else its node is gone
            holder.handles[id(call.token)] = handle = Handle()
            call.tensors[handle] = tensor
        if self.early_stop and call.count == len(self.holders):
            raise StopRecomputation
        return tensor

    def check(self, call):
        """CheckpointError unless both calls have saved the same kinds of tensors."""
        if self.may_differ:
            return
        if call.count != len(self.holders):
            raise CheckpointError(f"torch.utils.checkpoint: A different number of tensors was saved during the "
                                  f"original forward and recomputation.\nNumber of tensors saved during forward: "
                                  f"{len(self.holders)}\nNumber of tensors saved during recomputation: {call.count}.")
        different = []
        for i, (ref, before) in enumerate(zip(self.holders, self.descriptions)):
            holder = ref()
            if holder is not None:
                now = self.describe(call.tensors[holder.handles[id(call.token)]])
                if now != before:
                    different.append(f"tensor at position {i}:\nsaved metadata: {before}\nrecomputed metadata: {now}\n")
        if different:
            raise CheckpointError("torch.utils.checkpoint: Recomputed values for the following tensors have different "
                                  "metadata than during the forward pass.\n" + "".join(different))

    def explained(self, error):
        """The error with the ops of both calls, or with the hint how to see them."""
        if self.logs is None:
            return CheckpointError(f"{error}\nTip: To see a more detailed error message, either pass `debug=True` to "
                                   f"`torch.utils.checkpoint.checkpoint(...)` or wrap the code block with `with "
                                   f"torch.utils.checkpoint.set_checkpoint_debug_enabled(True):`.")
        first, second = ["\n".join(log.names) for log in self.logs]
        return CheckpointError(f"An error happened while unpacking tensors; dumping logs of latest computation because "
                               f"you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.\nOperations "
                               f"executed during the original forward:\n\n{first}\n\nOperations executed during "
                               f"recomputation:\n\n{second}\n\n{error}")


class Log(NodeHook):
    """The names of the nodes that are recorded within a block."""

    def __init__(self):
        self.names = []

    def __enter__(self):
        self.names.clear()
        add_node_hook(self)

    def __exit__(self, *exc):
        remove_node_hook(self)

    def recorded(self, node, result):
        """Note the name."""
        self.names.append(node.name())


# ------------------------------------------------------------------ a chain of layers
def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """A `Sequential` or list of functions in `segments` parts, each checkpointed but the last."""
    if use_reentrant is None:
        warn(WITHOUT_REENTRANT.format("torch.utils.checkpoint.checkpoint_sequential"))
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(functions) // segments

    def run(part):
        def call(x):
            for f in part:
                x = f(x)
            return x
        return call
    for i in range(segments - 1):
        input = checkpoint(run(functions[i * size:(i + 1) * size]), input, use_reentrant=use_reentrant,
                           preserve_rng_state=preserve)
    return run(functions[(segments - 1) * size:])(input)
