"""``torch.nn.attention.flex_attention``: attention whose scores and mask are functions of the place of a score.

>>> import minitorch
>>> def causal(batch, head, q, kv):
...     return q >= kv
>>> x = minitorch.ones(1, 1, 3, 2)
>>> flex_attention(x, x, x, block_mask=create_block_mask(causal, None, None, 3, 3)).shape
torch.Size([1, 1, 3, 2])

All scores are computed, by `vmap` over the function's places, as PyTorch does where nothing is compiled: blocks that
a mask leaves out are found and shown, and save no work.
"""

import inspect
import math
from typing import Any, NamedTuple

from ...autograd.api import vmap
from ...core.dtypes import float32, int32
from ...core.tensor import Tensor
from ...ops.creation.create import arange, zeros
from ...ops.elementwise.compare import where
from ..functional import pad

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "FlexKernelOptions", "and_masks", "create_block_mask", "create_mask",
           "flex_attention", "noop_mask", "or_masks"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
FlexKernelOptions = dict[str, Any]                         # of PyTorch's kernel; accepted


class AuxRequest(NamedTuple):
    """Which values to return beside the output: logarithms of the sums of exponentials, and the largest scores."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The values that an `AuxRequest` asked for, of shape (batch, heads, queries); None for the others."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch, head, token_q, token_kv):
    """The mask that leaves nothing out."""
    return batch == batch


def and_masks(*mask_mods):
    """The mask that keeps what all of `mask_mods` keep."""
    def mask(b, h, q, kv):
        found = noop_mask(b, h, q, kv)
        for mod in mask_mods:
            found = found & mod(b, h, q, kv)
        return found
    return mask


def or_masks(*mask_mods):
    """The mask that keeps what any of `mask_mods` keeps."""
    def mask(b, h, q, kv):
        found = ~noop_mask(b, h, q, kv)
        for mod in mask_mods:
            found = found | mod(b, h, q, kv)
        return found
    return mask


def everywhere(function, places, scores=None):
    """`function` of (score and) batch, head, query and key at all places: (batch, heads, queries, keys)."""
    lead = () if scores is None else (0,)
    for i in range(4):                                     # the innermost vmap is that of keys
        dims = [None] * 4
        dims[3 - i] = 0
        function = vmap(function, in_dims=(*lead, *dims))
    return function(*(() if scores is None else (scores,)), *places)


def places(device, *sizes):
    return [arange(n, device=device) for n in sizes]


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """A tensor of bools (B, H, Q_LEN, KV_LEN): ``mod_fn(batch, head, query, key)`` for all; 1 for None.

    A function of five arguments, the first a score, is taken to change scores: what becomes -inf is left out.
    """
    indices = places(device, B or 1, H or 1, Q_LEN, KV_LEN)
    count = len([p for p in inspect.signature(mod_fn).parameters.values() if p.default is p.empty])
    if count == 5:
        return everywhere(mod_fn, indices, zeros(B or 1, H or 1, Q_LEN, KV_LEN, device=device)) != -math.inf
    return everywhere(mod_fn, indices).expand(B or 1, H or 1, Q_LEN, KV_LEN)


class BlockMask:
    """A mask and what it leaves of each block of scores: nothing, all, or a part.

    Attributes: `mask_mod`, `seq_lengths`, `BLOCK_SIZE`, and by rows of blocks how many are kept in part
    (`kv_num_blocks`) and which (`kv_indices`, the kept first), the same of those that are kept whole
    (`full_kv_num_blocks`, `full_kv_indices`), and all this by columns (`q_num_blocks` ...). Made by
    `create_block_mask`.
    """

    def __init__(self, seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks,
                 q_indices, full_q_num_blocks, full_q_indices, BLOCK_SIZE=(128, 128), mask_mod=noop_mask, **orders):
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None, BLOCK_SIZE=128,
                       mask_mod=None, seq_lengths=None, compute_q_blocks=True):
        """A mask of the blocks that each row keeps."""
        sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        columns = [(None, None), (None, None)]
        if compute_q_blocks:
            rows = [(kv_num_blocks, kv_indices), (full_kv_num_blocks, full_kv_indices)]
            columns = [ordered(dense(*row).mT) if row[0] is not None else (None, None) for row in rows]
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * sizes[0], kv_indices.shape[-1] * sizes[1]
        return cls(seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *columns[0],
                   *columns[1], sizes, mask_mod or noop_mask)

    @property
    def shape(self):
        """(batch, heads, queries, keys)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def numel(self):
        """How many scores there are."""
        return math.prod(self.shape)

    def to_dense(self):
        """The blocks that are kept at least in part, as a tensor of ones and zeros."""
        found = dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None:
            found = found | dense(self.full_kv_num_blocks, self.full_kv_indices)
        return found.to(int32)

    def sparsity(self):
        """How many percent of the scores lie in blocks that are left out."""
        return 100 * (1 - self.to_dense().sum().item() * math.prod(self.BLOCK_SIZE) / self.numel())

    def to(self, device):
        """The mask with its tensors on another device."""
        tables = [x if x is None else x.to(device) for x in self.tables()]
        return BlockMask(self.seq_lengths, *tables, self.BLOCK_SIZE, self.mask_mod)

    def tables(self):
        return (self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices, self.q_num_blocks,
                self.q_indices, self.full_q_num_blocks, self.full_q_indices)

    def as_tuple(self, flatten=True):
        """Lengths, tables, sizes of blocks and the function; lengths and sizes as numbers of their own, or as pairs."""
        if flatten:
            return (*self.seq_lengths, *self.tables(), *self.BLOCK_SIZE, self.mask_mod)
        return self.seq_lengths, *self.tables(), self.BLOCK_SIZE, self.mask_mod

    def __repr__(self):
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"


def ordered(blocks):
    """How many blocks of each row are kept, and the numbers of blocks, the kept first."""
    kept = blocks.to(int32)
    return kept.sum(-1).to(int32), kept.argsort(dim=-1, descending=True, stable=True).to(int32)


def dense(counts, indices):
    """The blocks of `ordered` as a tensor of bools."""
    n = indices.shape[-1]
    first = arange(n, device=indices.device) < counts[..., None]
    return zeros(indices.shape, dtype=int32, device=indices.device).scatter(-1, indices.long(), first.to(int32)) > 0


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False,
                      separate_full_blocks=True, compute_dq_write_order=False, dq_kv_order=True):
    """The `BlockMask` of ``mask_mod(batch, head, query, key)``, which says of 0-d tensors what is kept.

    B, H: sizes of batch and heads; None where the mask is the same for all. The rest is accepted as in PyTorch.
    """
    sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = -(-Q_LEN // sizes[0]), -(-KV_LEN // sizes[1])
    mask = pad(mask.to(int32), (0, columns * sizes[1] - KV_LEN, 0, rows * sizes[0] - Q_LEN))
    kept = mask.reshape(*mask.shape[:2], rows, sizes[0], columns, sizes[1]).sum((3, 5))
    whole = kept == math.prod(sizes) if separate_full_blocks else kept < 0
    tables = *ordered((kept > 0) & ~whole), *(ordered(whole) if separate_full_blocks else (None, None))
    return BlockMask.from_kv_blocks(*tables, sizes, mask_mod, (Q_LEN, KV_LEN))


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
                   kernel_options=None, *, return_aux=None):
    """``softmax(score_mod(scale * query @ key.mT)) @ value``, masked.

    Args:
        query, key, value: (batch, heads, length, features); a batch of 1 of keys and values stands for all.
        score_mod: ``score_mod(score, batch, head, query, key)`` returns the score, all 0-d tensors. Derivatives reach
            the tensors that it reads.
        block_mask: a `BlockMask`; a query that may see nothing gets zeros.
        scale: by default ``1 / sqrt(features)``.
        enable_gqa: a head of key and value serves several heads of queries.
        return_lse: also return the logarithms of the sums of exponentials, (batch, heads, queries).
        return_aux: an `AuxRequest`, and then an `AuxOutput` is returned beside the output.
    """
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.dim() != 4:
            raise ValueError(f"NYI: query, key, and value must be 4D tensors: {name} has shape {tuple(x.shape)}, "
                             f"expected (batch, heads, length, features)")
    if query.shape[1] != key.shape[1]:
        if not enable_gqa or query.shape[1] % key.shape[1]:
            raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={query.shape[1]} "
                             f"and Hkv={key.shape[1]}. Try setting enable_gqa=True for GQA.")
        key, value = [x.repeat_interleave(query.shape[1] // key.shape[1], 1) for x in (key, value)]
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query @ key.mT).to(float32 if query.dtype.itemsize < 4 else query.dtype) * scale
    indices = places(query.device, *scores.shape)
    if score_mod is not None:
        scores = everywhere(score_mod, indices, scores)
    if block_mask is not None:
        lengths = block_mask.seq_lengths
        if lengths[0] < scores.shape[2] or lengths[1] < scores.shape[3]:
            raise ValueError(f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len="
                             f"{scores.shape[2]} and kv_len={scores.shape[3]}: create a mask of these lengths")
        scores = where(everywhere(block_mask.mask_mod, indices), scores, -math.inf)
    nothing = (scores == -math.inf).all(-1)
    out = (scores.softmax(-1).masked_fill(nothing[..., None], 0) @ value.to(scores.dtype)).to(query.dtype)
    if return_aux is not None:
        return out, AuxOutput(scores.logsumexp(-1) if return_aux.lse else None,
                              scores.amax(-1) if return_aux.max_scores else None)
    return (out, scores.logsumexp(-1)) if return_lse else out
