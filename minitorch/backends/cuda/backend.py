"""`CUDA`: the backend of a GPU, or of the simulator: one class, on different machines. `kernel`: the decorator."""

import functools
from types import MethodType
from typing import Any

import numpy as np

from ...core import layers
from ...core.arrays import owner
from ...core.backend import Backend
from ...core.registry import OPS
from ...host import dlpack
from ..bounds import check_of_memory
from ..kernels import Kernels
from . import formulas
from .arrays import copy, foreach, random
from .arrays.array import array_type
from .arrays.layout import dense_order
from .arrays.library import view_of
from .arrays.namespace import Namespace
from .ops.running import move_statistics
from .runtime.plans import Recorder, Unplannable, planned

__all__ = ["CUDA", "kernel"]

kernel = Kernels("cuda")                                  # the decorator of the kernels in `ops/`


class CUDA(Backend):
    """CuPy arrays on one machine, computed on by our kernels."""

    keeps_plans = True
    pull_of: Any = formulas.pull_of

    def __init__(self, device, machine, kernels):
        self.machine, self.ndarray, self.device = machine, array_type(self), device
        machine.ndarray = self.ndarray
        self.plans = {}                                    # by kind of call: see `runtime/plans.py`, `arrays/launch.py`
        self.pulls = formulas.Pulls(self)
        super().__init__(device, Namespace(self), kernels)

    def find(self, name, kernels=None):
        """The function of an op, with plans where it computes and no layer watches what it does."""
        found = super().find(name, kernels)
        if kernels is not None or not self.keeps_plans or layers.stack or OPS[name.removeprefix("full_")].view:
            return found
        return self.planned(name, found, lambda shadow: getattr(shadow, name))

    def planned(self, name, function, twin):
        """`function` with plans, see `planned` in `runtime/plans.py`; a shadow keeps none."""
        return function if not self.keeps_plans else planned(self, name, function, twin)

    def planned_method(self, name, function):
        """``function(self, *arrays)`` with plans."""
        return self.planned(name, MethodType(function, self), lambda shadow: MethodType(function, shadow))

    @functools.cached_property
    def shadow(self):
        """This backend on a machine that records."""
        return Shadow(self)

    def empty(self, shape, dtype):
        """A new array, not initialised."""
        dtype = np.dtype(dtype)
        n = dtype.itemsize
        for size in shape:
            n *= size
        return self.ndarray(shape, dtype, self.machine.allocate(n))

    def empty_in_order_of(self, array, dtype):
        """A new array of the shape of `array` and, if it has no gaps, its order of elements in memory."""
        order = dense_order(array.shape, array.strides, array.itemsize)
        if order is None:
            return self.empty(array.shape, dtype)
        out = self.empty([array.shape[d] for d in order], dtype)
        return out.transpose(np.argsort(order).tolist())

    @functools.cached_property
    def move_statistics(self):
        return self.planned_method("move_statistics", move_statistics)

    @functools.cached_property
    def copy_elements(self):
        return self.planned_method("copy_elements", copy.copy_elements)

    @functools.cached_property
    def fill_bits(self):
        return self.planned_method("fill_bits", copy.fill_bits)

    # -- what differs between array modules --------------------------------------------------------------------
    def scale_all(self, arrays, factor, check=False):
        return foreach.scale_all(self, arrays, factor, check)

    def move_all(self, arrays, values, share, factors):
        if len(arrays) > 2 or len(arrays) == 2 and factors[0] != 1:
            return False
        if not all([x.__class__ is self.ndarray for x in (*arrays, *values)]):
            return False
        means = (None, values[0]) if len(arrays) == 1 else (arrays[0], values[0])
        return self.move_statistics(means[0], arrays[-1], means[1], values[-1], share,
                                    share * factors[-1])

    def step_at_once(self, rule, params, states):
        return foreach.step_at_once(self, rule, params, states)

    def strided(self, array, shape, strides):
        found = array.view()
        found._set_shape_and_strides(tuple(shape), tuple(strides), True, True)
        return found

    def of_memory(self, array, size, stride, offset):
        memory, step = owner(array), array.itemsize
        check_of_memory(memory.nbytes, step, size, stride, offset)
        return view_of(memory, size, array.dtype, offset * step, [s * step for s in stride])

    def from_host(self, array, non_blocking=False):
        source = np.ascontiguousarray(array)               # which makes a row of a number
        out = self.empty(np.shape(array), source.dtype)
        if out.size:
            self.machine.from_host(out, source.reshape(out.shape), non_blocking)
        return out

    def from_dlpack(self, source, copy=None):
        """An array over the memory of another library's on this device, or over a capsule; a copy if `copy`."""
        found = dlpack.taken(dlpack.capsule_of(source, self.machine.dlpack_stream()))
        pointer = self.machine.pointer(found.low, found.nbytes, found.owner) + (found.start - found.low)
        array = self.ndarray(found.shape, found.dtype, pointer, found.strides)
        return array.copy() if copy else array

    def from_backend(self, array, source, non_blocking=False):
        if getattr(source, "machine", None) is not None and source.machine.kind == self.machine.kind:
            array = array if array._c_contiguous else array.copy()
            out = self.empty(array.shape, array.dtype)
            if out.size:
                self.machine.from_device(out, array)
            return out
        return self.from_host(source.to_host(array), non_blocking)

    def pinned_copy(self, array):
        if not array.size:
            return array
        out = self.machine.pinned(array.nbytes).view(array.dtype).reshape(array.shape)
        out[...] = array
        return out

    def is_pinned(self, array):
        return self.machine.is_pinned(array)

    def fill_random(self, array, sampler, generator, args):
        if array.size and not random.fill(self, array, sampler, generator, args):
            super().fill_random(array, sampler, generator, args)

    def to_host(self, array):
        if not array.size:
            return np.empty(array.shape, array.dtype)
        return self.machine.to_host(array if array._c_contiguous else array.copy())


class Shadow(CUDA):
    """A backend like `F` whose arrays have no memory and whose machine records: see `runtime/plans.py`."""

    keeps_plans = False
    pull_of = None

    def __init__(self, F):
        self.machine, self.device, self.plans, self.stands_for = Recorder(F.machine), F.device, {}, F
        self.ndarray = type("Array", (F.ndarray,), {"backend": self, "__module__": __name__})
        Backend.__init__(self, F.device, Namespace(self), F.kernels)

    def fill_random(self, array, sampler, generator, args):
        raise Unplannable("random numbers")
