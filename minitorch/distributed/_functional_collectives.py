"""Collectives that return a new tensor, as PyTorch's compiled programs call them, and libraries of models after them.

Operations are named by strings ("sum", "avg", "min", "max", "product"). Results are there when the call returns, so
`wait_tensor` has nothing to wait for.
"""

from .. import empty, no_grad
from . import collectives as c
from .groups import resolved
from .nn import functional
from .reducing import ReduceOp

__all__ = ["all_gather_tensor", "all_reduce", "all_to_all_single", "all_to_all_single_autograd", "broadcast",
           "reduce_scatter_tensor", "wait_tensor"]


def wait_tensor(tensor):
    """The tensor itself, whose values are there."""
    return tensor


def group_of(given):
    """The process group: one, or a mesh of one dimension, or a mesh with a dimension."""
    mesh, dim = given if isinstance(given, tuple) else (given, None)
    return resolved(mesh.get_group(dim) if hasattr(mesh, "get_group") else mesh)


@no_grad()
def all_reduce(self, reduceOp, group, tag=""):
    """The reduction over all ranks."""
    out = self.clone().contiguous()
    c.all_reduce(out, getattr(ReduceOp, reduceOp.upper()), group_of(group))
    return out


@no_grad()
def broadcast(self, src, group, tag=""):
    """The tensor of rank `src`."""
    out = self.clone().contiguous()
    c.broadcast(out, src, group_of(group))
    return out


@no_grad()
def all_gather_tensor(self, gather_dim, group, tag=""):
    """The tensors of all ranks joined along `gather_dim`."""
    group, rows = group_of(group), self.movedim(gather_dim, 0).contiguous()
    out = empty((group.size() * rows.shape[0], *rows.shape[1:]), dtype=self.dtype, device=self.device)
    c.all_gather_into_tensor(out, rows, group)
    return out.movedim(0, gather_dim)


@no_grad()
def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """This rank's part, along `scatter_dim`, of the reduction over all ranks."""
    group, rows = group_of(group), self.movedim(scatter_dim, 0).contiguous()
    out = empty((rows.shape[0] // group.size(), *rows.shape[1:]), dtype=self.dtype, device=self.device)
    c.reduce_scatter_tensor(out, rows, getattr(ReduceOp, reduceOp.upper()), group)
    return out.movedim(0, scatter_dim)


def all_to_all_single_autograd(self, output_split_sizes, input_split_sizes, group, tag=""):
    """Parts along dimension 0 to all ranks, and what came from them, with a derivative."""
    rows = self.shape[0] if output_split_sizes is None else sum(output_split_sizes)
    out = empty((rows, *self.shape[1:]), dtype=self.dtype, device=self.device)
    return functional.all_to_all_single(out, self, output_split_sizes, input_split_sizes, group_of(group))


@no_grad()
def all_to_all_single(self, output_split_sizes, input_split_sizes, group, tag=""):
    """Parts along dimension 0 to all ranks, and what came from them."""
    return all_to_all_single_autograd(self, output_split_sizes, input_split_sizes, group)
