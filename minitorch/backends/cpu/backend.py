"""The CPU: NumPy, with the settings that make it fast."""

import ctypes
import os
import sys

import numpy as np

from ...core.arrays import counted
from ...core.backend import Backend
from ...core.device import device
from ..bounds import check_of_memory
from ..kernels import Kernels
from .tuning import tuning

kernel = Kernels("cpu")                                   # the decorator of the kernels in this folder


def make_cpu(index):
    """The backend of device "cpu", whatever the index: there is one."""
    return cpu


class CPU(Backend):
    """NumPy arrays."""

    on_host = True
    stepping = None                                        # `step_at_once` of native code, while that is on
    block = property(lambda self: tuning.block)            # for ops that ask their backend

    def strided(self, array, shape, strides):
        # np.lib.stride_tricks would hang a helper object into the chain of bases, and takes five times as long.
        if array.__class__ is not np.ndarray:              # a NumPy scalar
            array = np.array(array)
        memory = counted(array)
        offset = array.ctypes.data - memory.ctypes.data if array.size else 0
        return np.ndarray(shape, array.dtype, flat(memory), offset, strides)

    def of_memory(self, array, size, stride, offset):
        memory, step = counted(array), array.itemsize
        check_of_memory(memory.nbytes, step, size, stride, offset)
        return np.ndarray(size, array.dtype, flat(memory), offset * step, [s * step for s in stride])

    def step_at_once(self, rule, params, states):
        return self.stepping and self.stepping(self, rule, params, states)

    def fill_random(self, array, sampler, generator, args):
        sampler(generator, array, *args)


def flat(memory):
    """The memory of an array as one row, without copying."""
    return memory if memory.flags.c_contiguous else memory.ravel("K")


def keep_large_blocks():
    """Ask glibc to keep freed memory for the next array instead of returning it to the kernel.

    Otherwise each large temporary is mapped afresh and every page of it faults: forward and backward of
    ``1 / (1 + exp(-x))`` on a million floats takes 15.2 ms without this and 1.4 ms with it. The process then
    keeps its peak memory; MINITORCH_MALLOC=0 in the environment leaves the allocator alone. On systems without
    glibc nothing is done.
    """
    M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4              # from glibc's malloc.h
    if not sys.platform.startswith("linux") or os.environ.get("MINITORCH_MALLOC") == "0":
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):                      # musl and others
        return
    mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(M_MMAP_MAX, 0)                                # glibc caps the other way, M_MMAP_THRESHOLD, at 32 MiB


keep_large_blocks()
cpu = CPU(device("cpu"), np, kernel.found)
