"""Statements as users write them, for random programs: as many as `compiled_programs.py` has itself.

The searches draw them too; samples in the test suite are made of the first ones only, so that they stay what they are,
and each of these is tried once by a test. A statement is given the world of a program, two values and a number.
"""

import minitorch as torch
import minitorch.nn.functional as F


def floating(x):
    return x if x.is_floating_point() else x.to(torch.float32)


def like(x, y):
    """`y` in a shape that broadcasts to that of `x`."""
    return floating(y).to(x.dtype).reshape(-1)[:1].reshape(()) if y.shape != x.shape else y.to(x.dtype)


def low(x):
    """`x` as indices of its first dimension."""
    return (x > 0).long() * (x.shape[0] - 1)


def wide(x):
    """Matrices made of `x` that have an inverse."""
    x = floating(x).reshape(-1)[:4].clamp(-1, 1).reshape(2, 2)
    return x @ x.mT + 2 * torch.eye(2, dtype=x.dtype)


VALUES = dict(                                             # statements that make a value
    plus_number=lambda w, x, y, k: x + (1, 2.5, True)[k % 3], minus_zero_dim=lambda w, x, y, k: x - torch.tensor(2.5),
    times_wide=lambda w, x, y, k: x * torch.tensor([2.0], dtype=torch.float64), from_number=lambda w, x, y, k: 3 - x,
    power_of_number=lambda w, x, y, k: 2 ** floating(x).clamp(-2, 2),
    negative_power=lambda w, x, y, k: (x.abs() + 1.0) ** -1, floor_divided=lambda w, x, y, k: x // 2,
    remainder_of=lambda w, x, y, k: 7 % (x.abs() + 1), where_number=lambda w, x, y, k: torch.where(x > 0, x, 0.5),
    where_numbers=lambda w, x, y, k: torch.where(x > 0, 1, 2), as_half=lambda w, x, y, k: floating(x).half() * 0.1,
    half_and_bfloat16=lambda w, x, y, k: x.half() + x.bfloat16(), as_bool=lambda w, x, y, k: x.bool().sum(0),
    bitwise=lambda w, x, y, k: (x > 0) & ~(x > 1) | (x < -1), logical=lambda w, x, y, k: (x > 0).logical_xor(x > 1),
    integers=lambda w, x, y, k: (x.long() * 3 - 1) // 2, as_float64=lambda w, x, y, k: x.double().sum(-1),
    empty_rows=lambda w, x, y, k: x[:0], none_picked=lambda w, x, y, k: x[x > 1e9].sum(),
    mean_of_row=lambda w, x, y, k: floating(x) - floating(x).mean(-1, keepdim=True),
    sums_of_two=lambda w, x, y, k: x.sum((0, -1)), cumulative_maximum=lambda w, x, y, k: x.cummax(-1).indices,
    logcumsumexp=lambda w, x, y, k: floating(x).logcumsumexp(0), counted=lambda w, x, y, k: x.count_nonzero(0),
    quantile=lambda w, x, y, k: floating(x).to(w.dtype).quantile(0.5) if w.dtype != torch.bfloat16 else None,
    norms=lambda w, x, y, k: torch.linalg.vector_norm(floating(x), (1, 2, 3, float("inf"))[k % 4], -1),
    matrix_norm=lambda w, x, y, k: torch.linalg.matrix_norm(floating(x)) if x.dim() >= 2 else None,
    determinant=lambda w, x, y, k: torch.linalg.det(wide(x).double()),
    solved=lambda w, x, y, k: torch.linalg.solve(wide(x).double(), torch.ones(2, 1).double()),
    inverse=lambda w, x, y, k: torch.linalg.inv(wide(x).double()),
    cholesky=lambda w, x, y, k: torch.linalg.cholesky(wide(x).double()),
    chain=lambda w, x, y, k: torch.einsum("ij,jk,kl->il", wide(x), wide(x), wide(x)),
    trace=lambda w, x, y, k: torch.einsum("ii->", wide(x)),
    turned_product=lambda w, x, y, k: torch.einsum("jk,ij->ik", wide(x), wide(x) + 1),
    complex_parts=lambda w, x, y, k: (floating(x).float() * 1j).real + (floating(x).float() + 2j).imag,
    spectrum=lambda w, x, y, k: torch.fft.rfft(floating(x).float()).abs(),
    complex_product=lambda w, x, y, k: ((floating(x).float() + 1j) * (floating(x).float() - 2j)).abs(),
    mse=lambda w, x, y, k: F.mse_loss(floating(x), like(floating(x), y).expand_as(x), reduction=("mean", "sum",
        "none")[k % 3]),
    weighted_loss=lambda w, x, y, k: F.cross_entropy(floating(x), low(x[:, 0]) * 0 + k % 2, weight=torch.arange(1.0,
        x.shape[1] + 1).to(x.dtype) if x.is_floating_point() else None, reduction=("mean", "sum", "none")[k % 3])
        if x.dim() == 2 and x.shape[1] > 1 else None,
    with_logits=lambda w, x, y, k: F.binary_cross_entropy_with_logits(floating(x),
        (floating(x) > 0).to(floating(x).dtype), reduction=("mean", "sum", "none")[k % 3]),
    divergence=lambda w, x, y, k: F.kl_div(F.log_softmax(floating(x), -1), floating(x).detach().softmax(-1),
        reduction="batchmean"),
    negative_likelihood=lambda w, x, y, k: F.nll_loss(F.log_softmax(floating(x), -1), torch.zeros(x.shape[0],
        dtype=torch.int64)) if x.dim() == 2 else None,
    normalised_batch=lambda w, x, y, k: F.batch_norm(floating(x), None, None, training=True)
        if x.dim() == 2 and x.shape[0] > 1 else None,
    normalised_before=lambda w, x, y, k: F.batch_norm(floating(x), torch.zeros(x.shape[1]).to(floating(x).dtype),
        torch.ones(x.shape[1]).to(floating(x).dtype)) if x.dim() == 2 else None,
    picked_pairs=lambda w, x, y, k: x[[0, -1], [0, -1]] if x.dim() >= 2 else None,
    new_axis_and_list=lambda w, x, y, k: x[None, [0, 0]], backwards=lambda w, x, y, k: x.flip(-1).cumsum(-1).flip(-1),
    windows=lambda w, x, y, k: x.unfold(0, 2, 1).sum(-1) if x.shape[0] > 1 else None,
    diagonals=lambda w, x, y, k: torch.diag_embed(x.diagonal()) if x.dim() == 2 else None,
    added_rows=lambda w, x, y, k: x.index_add(0, w.index, x[:2] * 2), detached_twin=lambda w, x, y, k: x * x.detach(),
    halves_swapped=lambda w, x, y, k: torch.cat(x.chunk(2, -1)[::-1], -1),
    bounded=lambda w, x, y, k: x.clamp(torch.tensor(-0.5), 0.5) if x.is_floating_point() else None,
    distances=lambda w, x, y, k: torch.cdist(floating(x), floating(x)) if x.dim() == 2 else None,
    deviation=lambda w, x, y, k: floating(x).std(-1, keepdim=True) + floating(x).std(unbiased=False))

WRITES = dict(                                             # statements that write
    rows_added=lambda w, x, y, k: x.__setitem__(slice(1, None), x[1:] + 1),
    times_number=lambda w, x, y, k: x.__imul__(2),
    masked_halved=lambda w, x, y, k: x.__setitem__(x < 0, x[x < 0] * 0.5),
    lists_swapped=lambda w, x, y, k: x.__setitem__([0, -1], x[[-1, 0]]),
    chunk_doubled=lambda w, x, y, k: x.chunk(2, -1)[-1].mul_(2),
    split_zeroed=lambda w, x, y, k: x.split(1, 0)[0].zero_(),
    unbound_shifted=lambda w, x, y, k: [p.add_(n) for n, p in enumerate(x.unbind(0))],
    diagonal_halved=lambda w, x, y, k: x.diagonal().mul_(0.5),
    accumulated=lambda w, x, y, k: x.index_put_((torch.tensor([0, 0]),), x[:1].detach().clone(), accumulate=True),
    scattered=lambda w, x, y, k: x.scatter_add_(0, low(x), x.detach().clone()),
    reduced=lambda w, x, y, k: x.scatter_reduce_(0, low(x), x.detach().clone(), ("amax", "amin", "sum",
        "mean")[k % 4], include_self=k > 3),
    taken_from=lambda w, x, y, k: x.masked_scatter_(x > 0, torch.arange(100.0).to(x.dtype)),
    copied_column=lambda w, x, y, k: x[..., 0].copy_(x[..., -1].clone()),
    filled_between=lambda w, x, y, k: x.view(-1)[::2].fill_(k),
    subtracted_mean=lambda w, x, y, k: x.sub_(x.detach().mean()) if x.is_floating_point() else None,
    lerped=lambda w, x, y, k: x.lerp_(like(x, y), 0.25),
    fused_=lambda w, x, y, k: x.addcmul_(like(x, y), like(x, y), value=0.5),
    row_of_number=lambda w, x, y, k: x.select(0, 0).fill_(k), lower_=lambda w, x, y, k: x.tril_(),
    running_=lambda w, x, y, k: x.cumsum_(0),
    into_row=lambda w, x, y, k: torch.add(x[0].detach(), 1, out=x.detach()[-1]), power_=lambda w, x, y, k: x.pow_(2),
    negated_view=lambda w, x, y, k: x.movedim(0, -1)[..., :1].neg_(),
    doubled_gradient=lambda w, x, y, k: x.requires_grad and not x.is_leaf and x.register_hook(lambda g: g * 2),
    required=lambda w, x, y, k: x.requires_grad_() if x.is_leaf and x.is_floating_point() else None)


def writing(function):
    def run(w, x, y, k):
        function(w, x, y, k)
    return run


MORE = {**VALUES, **{name: writing(function) for name, function in WRITES.items()}}
