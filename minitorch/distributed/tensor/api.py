"""`DTensor`: a tensor that lies on the ranks of a mesh; how it is made, and moved from one placement to another."""

from ... import Size, Tensor, get_default_dtype
from ...extend import TensorKind, disabled_torch_function, wrap
from ...nn import Module, Parameter
from .. import collectives as c
from ..device_mesh import current_mesh
from .backend import ShardedBackend, backend_of
from .crossing import array_of, from_local, redistribute, to_local
from .placement_types import (
    Partial,
    Replicate,
    Shard,
    in_order,
    local_part,
    normalized,
    whole_shape,
    whole_sums,
)
from .sharded import moved, padded, sharded

__all__ = ["DTensor", "DTensorSpec", "distribute_module", "distribute_tensor", "empty", "full", "ones", "rand", "randn",
           "zeros"]


class DTensorSpec:
    """Where a DTensor lies: `mesh`, `placements`, and the `shape` of the whole."""

    def __init__(self, mesh, placements, shape=()):
        self.mesh, self.placements, self.shape = mesh, placements, Size(shape)
        self.device_mesh = mesh

    def __repr__(self):
        return f"DTensorSpec(mesh={self.mesh}, placements={self.placements}, shape={tuple(self.shape)})"


class DTensor(Tensor, metaclass=TensorKind):
    """A tensor whose parts lie on the ranks of a mesh; made by `distribute_tensor` or `DTensor.from_local`.

    It has the shape of the whole, and is used as any tensor: each rank computes its part of a result, and what that
    needs of other ranks is brought. So all ranks of the mesh make the same calls. ``nn.Parameter(dtensor)`` is both a
    DTensor and a parameter. Gradients are DTensors, too. `item()`, ``bool()`` and the like of one element are calls of
    all ranks; `tolist()` and `numpy()` of more are refused: use ``full_tensor()``.
    """

    __torch_function__ = disabled_torch_function

    def __new__(cls, local_tensor, spec, *, requires_grad=False):
        out = DTensor.from_local(local_tensor.detach(), spec.mesh, spec.placements, shape=spec.shape or None)
        return out.requires_grad_(requires_grad)

    # -- making ----------------------------------------------------------------------------------------------
    @staticmethod
    def from_local(local_tensor, device_mesh=None, placements=None, *, run_check=False, shape=None, stride=None,
                   grad_placements=None):
        """The DTensor whose part on each rank is `local_tensor` there, without communication.

        placements: `Replicate` by default. shape: of the whole, where the parts differ in size; else all are taken to
        be as large as this one. run_check: give all ranks the first rank's where it is replicated.
        grad_placements: how gradients are brought back; as `placements`, sums as whole tensors.
        """
        if not isinstance(local_tensor, Tensor):
            raise TypeError(f"from_local takes a tensor, got {type(local_tensor).__name__}")
        if isinstance(local_tensor, DTensor):
            raise RuntimeError("the local_tensor argument only accepts torch.Tensor but got a DTensor")
        mesh = current_mesh() if device_mesh is None else device_mesh
        placements = normalized(placements, mesh, local_tensor.dim())
        grads = None if grad_placements is None else normalized(grad_placements, mesh, local_tensor.dim())
        if shape is None:
            shape = whole_shape(local_tensor.shape, mesh, placements)
        elif local_part(shape, mesh, placements)[0] != tuple(local_tensor.shape):
            raise ValueError(f"a tensor of shape {list(shape)} with {placements} has a part of shape "
                             f"{list(local_part(shape, mesh, placements)[0])} here, got {list(local_tensor.shape)}")
        if run_check:
            for m, p in enumerate(placements):
                if isinstance(p, Replicate):
                    c.broadcast(local_tensor.data, group=mesh.get_group(m), group_src=0)
        return from_local(local_tensor, mesh, placements, shape, grads)

    # -- what it is ------------------------------------------------------------------------------------------
    @property
    def device_mesh(self):
        """The mesh that it lies on."""
        return array_of(self).backend.mesh

    @property
    def placements(self):
        """How it lies along each dimension of the mesh: a tuple."""
        return array_of(self).placements

    @property
    def _spec(self):
        return DTensorSpec(self.device_mesh, self.placements, self.shape)

    @property
    def _local_tensor(self):
        """This rank's part, without its graph."""
        return wrap(self.array.value, self.backend.inner)

    # -- moving ----------------------------------------------------------------------------------------------
    def to_local(self, *, grad_placements=None):
        """This rank's part: the same memory; gradients flow through.

        grad_placements: how the parts' gradients make up that of the whole; as the tensor lies, by default.
        """
        lies = array_of(self)
        placements = whole_sums(lies.placements) if grad_placements is None else normalized(
            grad_placements, lies.backend.mesh, self.dim())
        return to_local(self, placements)

    def redistribute(self, device_mesh=None, placements=None, *, async_op=False, forward_dtype=None,
                     backward_dtype=None):
        """The tensor at other placements of its mesh; ``Shard(-1)`` counts from the end.

        The gradient is brought to the placements that the tensor has now; `Partial` ones are whole there.
        forward_dtype, backward_dtype: what is sent, in the forward and the backward pass.
        """
        lies = array_of(self)
        mesh = lies.backend.mesh
        if device_mesh is not None and device_mesh != mesh:
            raise NotImplementedError(f"redistribute to another mesh is not supported: from {mesh} to {device_mesh}")
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        target = normalized(placements, mesh, self.dim())
        for a, b in zip(lies.placements, target):
            if isinstance(b, Partial) and a != b:
                raise RuntimeError(f"Can not redistribute from {a} to {b}: redistributing to Partial is for internal "
                                   f"use only!")
        return redistribute(self, target, forward_dtype, backward_dtype)

    def full_tensor(self, *, grad_placements=None):
        """The whole tensor, on every rank; a call of all ranks of the mesh."""
        whole = DTensor.redistribute(self, placements=array_of(self).backend.everywhere)
        return DTensor.to_local(whole, grad_placements=grad_placements)


def text_of(tensor):
    """``repr`` of a DTensor."""
    inner = wrap(tensor.array.value, tensor.backend.inner)
    grad = (f", grad_fn=<{tensor.grad_fn.name()}>" if tensor.node is not None else
            ", requires_grad=True" if tensor.needs_grad else "")
    return (f"DTensor(local_tensor={inner!r}, device_mesh={tensor.backend.mesh}, placements={tensor.array.placements}"
            f"{grad})")


ShardedBackend.kind, ShardedBackend.text_of = DTensor, staticmethod(text_of)


# ------------------------------------------------------------------ tensors of data
def distribute_tensor(tensor, device_mesh=None, placements=None, *, src_data_rank=0):
    """The DTensor of a tensor that all ranks of the mesh have: a leaf, in memory of its own.

    placements: `Replicate` by default. src_data_rank: the rank, along each dimension of the mesh, whose values count;
    it sends the others their parts. With None each rank takes its part of its own tensor.
    """
    mesh = current_mesh() if device_mesh is None else device_mesh
    if isinstance(tensor, DTensor):
        wanted = normalized(placements, mesh, tensor.dim())
        if tensor.device_mesh != mesh:
            raise ValueError(f"Cannot distribute a DTensor with device mesh {tensor.device_mesh} to a different device "
                             f"mesh {mesh}.")
        if tensor.placements != wanted:
            raise ValueError(f"Cannot distribute a DTensor with placements {tensor.placements} to a different "
                             f"placements {wanted}. do you want to call `redistribute` instead?")
        return tensor
    if not isinstance(tensor, Tensor):
        raise TypeError(f"distribute_tensor takes a tensor, got {type(tensor).__name__}")
    if tensor.node is not None:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    placements = normalized(placements, mesh, tensor.dim())
    F = backend_of(mesh, tensor.backend)
    value, shape = tensor.array, tuple(tensor.shape)
    for m in in_order(placements):
        value = sent(F, value, m, placements[m], src_data_rank)
    if value is tensor.array or value.base is not None:
        value = F.inner.xp.array(value, order="C")
    out = wrap(sharded(F, value, shape, placements), F).requires_grad_(tensor.needs_grad)
    return Parameter(out, tensor.needs_grad) if isinstance(tensor, Parameter) else out


def sent(F, value, m, placement, root):
    """This rank's part along dimension `m` of the mesh of what rank `root` there has."""
    n, group = F.mesh.size(m), F.mesh.get_group(m)
    if root is not None and n > 1:
        if isinstance(placement, Shard):
            dim, size = placement.dim, value.shape[placement.dim]
            parts = [padded(F, part_of_dim(value, dim, n, i), dim, -(-size // n)) for i in range(n)]
            out = wrap(F.inner.xp.empty(parts[0].shape, value.dtype), F.inner)
            given = [wrap(part, F.inner) for part in parts] if group.rank() == root else None
            c.scatter(out, given, group=group, group_src=root)
            own = part_of_dim(value, dim, n, F.coordinate[m]).shape[dim]
            return part_of_dim(out.array, dim, 1, 0, own)
        value = F.inner.xp.array(value, order="C")
        c.broadcast(wrap(value, F.inner), group=group, group_src=root)
    return moved(F, value, m, Replicate(), placement, value.shape, value.shape)


def part_of_dim(value, dim, n, i, size=None):
    step = -(-value.shape[dim] // n) if size is None else size
    return value[(slice(None),) * dim + (slice(i * step, (i + 1) * step),)]


def made(fill, size, dtype, requires_grad, device_mesh, placements):
    """A DTensor of shape `size`, whose part is ``fill(xp, shape, dtype)``."""
    size = size[0] if len(size) == 1 and not hasattr(size[0], "__index__") else size
    mesh = current_mesh() if device_mesh is None else device_mesh
    shape = tuple([n.__index__() for n in size])
    F, placements = backend_of(mesh), normalized(placements, mesh, len(shape))
    if any([isinstance(p, Partial) for p in placements]):
        raise ValueError("a DTensor cannot be made with Partial placements")
    local = local_part(shape, mesh, placements)[0]
    value = fill(F.inner.xp, local, (get_default_dtype() if dtype is None else dtype).np)
    return wrap(sharded(F, value, shape, placements), F).requires_grad_(requires_grad)


def zeros(*size, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None):
    """A DTensor of zeros."""
    return made(lambda xp, *args: xp.zeros(*args), size, dtype, requires_grad, device_mesh, placements)


def ones(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None):
    """A DTensor of ones."""
    return made(lambda xp, *args: xp.ones(*args), size, dtype, requires_grad, device_mesh, placements)


def empty(*size, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None):
    """A DTensor with undefined values."""
    return made(lambda xp, *args: xp.empty(*args), size, dtype, requires_grad, device_mesh, placements)


def full(size, fill_value, *, dtype=None, layout=None, requires_grad=False, device_mesh=None, placements=None):
    """A DTensor of one number, of the default dtype unless another is given."""
    return made(lambda xp, shape, dtype: xp.full(shape, fill_value, dtype), (size,), dtype, requires_grad, device_mesh,
                placements)


def rand(*size, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None):
    """A DTensor of random numbers from [0, 1); ranks with the same part have the same."""
    out = empty(*size, dtype=dtype, device_mesh=device_mesh, placements=placements)
    return out.uniform_().requires_grad_(requires_grad)


def randn(*size, requires_grad=False, dtype=None, layout=None, device_mesh=None, placements=None):
    """A DTensor of normally distributed random numbers; ranks with the same part have the same."""
    out = empty(*size, dtype=dtype, device_mesh=device_mesh, placements=placements)
    return out.normal_().requires_grad_(requires_grad)


# ------------------------------------------------------------------ modules
def distribute_module(module, device_mesh=None, partition_fn=None, input_fn=None, output_fn=None):
    """Make the parameters and buffers of a module DTensors, in place; returns the module.

    partition_fn: ``(name, submodule, mesh)`` is called for each submodule, to register DTensors; what it leaves is
    replicated. input_fn: ``(module, inputs, mesh)`` returns the inputs of the forward pass. output_fn: ``(module,
    outputs, mesh)`` returns its outputs.
    """
    if not isinstance(module, Module):
        raise TypeError(f"distribute_module takes a module, got {type(module).__name__}")
    mesh = current_mesh() if device_mesh is None else device_mesh
    if getattr(module, "_distribute_module_applied", False):
        raise RuntimeError("distribute_module should only be called once on a module, but it has already been called "
                           "on this module!")
    for name, part in module.named_modules():
        if partition_fn is not None:
            partition_fn(name, part, mesh)
        replicate(part, mesh)
    if input_fn is not None:
        module.register_forward_pre_hook(lambda m, inputs: input_fn(m, inputs, mesh))
    if output_fn is not None:
        module.register_forward_hook(lambda m, inputs, outputs: output_fn(m, outputs, mesh))
    module._distribute_module_applied = True
    return module


def replicate(module, mesh):
    """Replicate the module's own parameters and buffers that are not DTensors yet."""
    for name, p in module._parameters.items():
        if p is not None and not isinstance(p, DTensor):
            module.register_parameter(name, distribute_tensor(p, mesh))
    for name, b in module._buffers.items():
        if b is not None and not isinstance(b, DTensor):
            module._buffers[name] = distribute_tensor(b, mesh)
