"""How a tensor lies on one dimension of a mesh: `Shard`, `Replicate`, `Partial`; and the arithmetic of shards."""

import math
from dataclasses import dataclass, field, replace

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """The base of placements; each says how a tensor lies along one dimension of a mesh."""

    def is_shard(self, dim=None):
        """True if it is a `Shard`, of dimension `dim` if that is given."""
        return isinstance(self, Shard) and (dim is None or self.dim == dim)

    def is_replicate(self):
        """True if it is `Replicate`."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op=None):
        """True if it is a `Partial`, of this operation if one is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each rank has a part along dimension `dim` of the tensor, as ``torch.chunk`` cuts it: all parts have
    ``ceil(size / ranks)`` rows but the last ones, which may have fewer or none."""

    dim: int

    def __str__(self):
        return f"S({self.dim})"

    @staticmethod
    def local_shard_size_and_offset(curr_local_size, num_chunks, rank):
        """How many rows part `rank` of `num_chunks` has of `curr_local_size`, and where it begins."""
        start, stop = bounds(curr_local_size, num_chunks, rank)
        return stop - start, start


@dataclass(frozen=True, repr=False)
class _StridedShard(Shard):
    """A part along dimension `dim` that is cut after all others, those of later dimensions of the mesh too: the rows of
    a layer that is split by tensor parallelism, and then by `fully_shard`. split_factor: the number of parts before."""

    split_factor: int = field(default=1, kw_only=True)

    def __repr__(self):
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self):
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each rank has the whole tensor."""

    def __str__(self):
        return "R"


@dataclass(frozen=True)
class Partial(Placement):
    """Each rank has a tensor of the full shape; the values are their reduction over the ranks.

    reduce_op: "sum" (the default), "avg", "max", "min" or "product".
    """

    reduce_op: str = "sum"

    def __post_init__(self):
        if self.reduce_op not in ("sum", "avg", "max", "min", "product"):
            raise ValueError(f"Partial: reduce_op must be sum, avg, max, min or product, got {self.reduce_op!r}")

    def __repr__(self):
        return f"Partial({self.reduce_op})"

    def __str__(self):
        return f"P({self.reduce_op})"


def bounds(size, n, i):
    """Where part `i` of `n` of a dimension of `size` begins and ends."""
    step = -(-size // n)
    return min(i * step, size), min((i + 1) * step, size)


def normalized(placements, mesh, ndim, default=None):
    """Placements as a tuple, one for each dimension of the mesh, with dimensions counted from the front."""
    if placements is None:
        placements = [default or Replicate()] * mesh.ndim
    if isinstance(placements, Placement):
        placements = (placements,)
    placements = tuple(placements)
    if len(placements) != mesh.ndim:
        raise ValueError(f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: "
                         f"{len(placements)}, and device_mesh.ndim: {mesh.ndim}.")
    found = []
    for p in placements:
        if not isinstance(p, Placement):
            raise TypeError(f"placements are Shard(dim), Replicate() or Partial(), got {p!r}")
        if isinstance(p, Shard):
            dim = p.dim + ndim if p.dim < 0 else p.dim
            if not 0 <= dim < ndim:
                raise ValueError(f"Sharding dim {p.dim} greater than or equal to tensor ndim {ndim}: there is no such "
                                 f"dimension")
            p = replace(p, dim=dim)
        found.append(p)
    return tuple(found)


def whole_sums(placements):
    """Placements with `Replicate` for `Partial`, whose values no element has: those of the gradient
    of a sum's terms, too."""
    return tuple([Replicate() if isinstance(p, Partial) else p for p in placements])


def in_order(placements):
    """The dimensions of a mesh in the order in which they cut a tensor."""
    return sorted(range(len(placements)), key=lambda m: isinstance(placements[m], _StridedShard))


def local_part(shape, mesh, placements, coordinate=None):
    """The shape of the part of one rank (this one, or the one at `coordinate`), and where it begins."""
    coordinate = mesh.get_coordinate() if coordinate is None else coordinate
    shape, offsets = list(shape), [0] * len(shape)
    for m in in_order(placements):
        p = placements[m]
        if isinstance(p, Shard):
            start, stop = bounds(shape[p.dim], mesh.size(m), coordinate[m])
            shape[p.dim], offsets[p.dim] = stop - start, offsets[p.dim] + start
    return tuple(shape), tuple(offsets)


def whole_shape(local, mesh, placements):
    """The shape of a tensor in parts of shape `local`, equally many rows on each rank."""
    shape = list(local)
    for m, p in enumerate(placements):
        if isinstance(p, Shard):
            shape[p.dim] *= mesh.size(m)
    return tuple(shape)


def cost(source, target, size, n):
    """How many bytes it takes to bring an array of `size` bytes from one placement on `n` ranks to another."""
    if source == target:
        return 0
    if isinstance(target, Partial):
        return 1 if isinstance(source, Replicate) else math.inf
    if isinstance(source, Replicate):
        return 0
    if isinstance(source, Shard):
        return 2 + (size if isinstance(target, Replicate) else size / n)
    return 2 + (2 * size if isinstance(target, Replicate) else size)
