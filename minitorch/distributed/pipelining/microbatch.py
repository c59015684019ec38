"""How a batch is divided into microbatches, and what the last stage gives is joined again."""

from ... import Tensor, cat, tensor_split
from ...utils._pytree import tree_flatten, tree_unflatten

__all__ = ["TensorChunkSpec", "merge_chunks", "split_args_kwargs_into_chunks"]


class TensorChunkSpec:
    """The dimension along which a tensor is divided into microbatches, and joined."""

    def __init__(self, split_dim):
        self.split_dim = split_dim

    def __repr__(self):
        return f"TensorChunkSpec({self.split_dim})"

    @staticmethod
    def from_tuple(chunk_dims):
        """Specs of positional arguments: ``from_tuple((0, 0, 1))``."""
        return tuple([TensorChunkSpec(d) for d in chunk_dims])

    @staticmethod
    def from_dict(chunk_dims):
        """Specs of keyword arguments: ``from_dict({"mask": 1})``."""
        return {name: TensorChunkSpec(d) for name, d in chunk_dims.items()}


def dims_of(tree, spec):
    """The dimension of each leaf of `tree`: that of `spec`, a tree of its outer levels, where there is one, else 0."""
    if spec is None or isinstance(spec, TensorChunkSpec):
        return [0 if spec is None else spec.split_dim] * len(tree_flatten(tree)[0])
    if isinstance(tree, dict):
        return [d for key, x in tree.items() for d in dims_of(x, spec.get(key))]
    if len(spec) != len(tree):
        raise ValueError(f"a chunk spec of {len(tree)} arguments has {len(tree)} entries, got {len(spec)}")
    return [d for x, s in zip(tree, spec) for d in dims_of(x, s)]


def split_tree(tree, spec, chunks):
    """`chunks` trees, with the parts of the tensors of `tree`; all else is in each of them."""
    leaves, shape = tree_flatten(tree)
    parts = []
    for x, dim in zip(leaves, dims_of(tree, spec)):
        if not isinstance(x, Tensor):
            parts.append([x] * chunks)
            continue
        if not x.dim() or x.shape[dim] < chunks:
            raise ValueError(f"a tensor of shape {list(x.shape)} cannot be divided into {chunks} microbatches along "
                             f"dimension {dim}: give n_microbatches of at most its size")
        parts.append(tensor_split(x, chunks, dim))
    return [tree_unflatten([part[i] for part in parts], shape) for i in range(chunks)]


def split_args_kwargs_into_chunks(args, kwargs, chunks, args_chunk_spec=None, kwargs_chunk_spec=None):
    """``(args of each microbatch, kwargs of each microbatch)``: tensors are divided along dimension 0, or their spec's.

    Sizes differ by one where they cannot be equal. ValueError where a tensor has fewer elements than there are
    microbatches.
    """
    return ([tuple(x) for x in split_tree(tuple(args), args_chunk_spec, chunks)],
            split_tree(dict(kwargs or {}), kwargs_chunk_spec, chunks))


def merge_chunks(chunks, chunk_spec=None):
    """The outputs of all microbatches as one: tensors joined along dimension 0, or their spec's; else the first."""
    leaves, shape = tree_flatten(chunks[0])
    columns = zip(*[tree_flatten(chunk)[0] for chunk in chunks])
    return tree_unflatten([cat(list(column), d) if isinstance(column[0], Tensor) else column[0]
                           for column, d in zip(columns, dims_of(chunks[0], chunk_spec))], shape)
