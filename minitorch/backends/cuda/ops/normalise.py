"""Layer, RMS, group and batch norm, forward and backward: `src/normalise.cu` for rows, `src/channels.cu`.

The reference keeps the normalised input `y` and `r`, one over the deviation, for the backward pass; here the mean is
kept instead of `y` (`r` again where no mean is subtracted), and the backward pass recomputes y from it: one array less
to write and to keep. Where a row has one element, so that these cannot be told apart, the reference runs.

All sums are made in an order that depends on shapes only, so that results are the same in every run.
"""

from math import prod

from ....ops.nn.norm import by_channel
from ....ops.nn.standardise import kept_shape
from ..arrays.dtypes import compute_dtype
from ..backend import kernel
from ..runtime.kernel import Kernel
from .product import capability
from .rows import dense, distribute, longest_vector
from .supported import float_elements

ROWS = Kernel("normalise.cu", "normalise_rows",
              "T* out, V* means?, V* deviations, const T* input, const T* weight?, const T* bias?, "
              "const T* residual?, T* total?, i64 rows, i32 columns, f64 eps, i64 groups, i64 inner")
LONG = Kernel("normalise.cu", "normalise_long_rows",
              "T* out, V* means?, V* deviations, const T* input, const T* weight?, const T* bias?, "
              "const T* residual?, T* total?, i64 columns, f64 eps, i64 groups, i64 inner")
ROWS_BACK = Kernel("normalise.cu", "normalise_rows_backward",
                   "T* result, V* weight_parts?, V* bias_parts?, const T* grad, const T* input, const T* weight?, "
                   "const V* means?, const V* deviations, i64 rows, i32 columns")
LONG_BACK = Kernel("normalise.cu", "normalise_long_rows_backward",
                   "T* result, const T* grad, const T* input, const T* weight?, const V* means?, "
                   "const V* deviations, i64 columns")
WEIGHT_PARTS = Kernel("normalise.cu", "weight_parts",
                      "V* weight_parts, V* bias_parts, const T* grad, const T* input, const V* means?, "
                      "const V* deviations, i64 rows, i64 columns, i32 parts")
ADD_PARTS = Kernel("normalise.cu", "add_parts",
                   "T* by_weight, T* by_bias, const V* weight_parts, const V* bias_parts, i64 columns, i32 parts")

PLANES = Kernel("channels.cu", "sum_planes",
                "V* parts, const T* input, const T* grad?, const V* means?, const V* deviations?, i64 channels, "
                "u32 packs_inner, u32 packs")
COLUMNS = Kernel("channels.cu", "sum_columns",
                 "V* parts, const T* input, const T* grad?, const V* means?, const V* deviations?, i64 samples, "
                 "i64 columns, i64 inner")
MOMENTS = Kernel("channels.cu", "conclude_moments",
                 "V* means, V* variances, V* deviations, const V* parts, i64 channels, i32 shares, i64 across, "
                 "f64 eps, bool centred")
SUMS = Kernel("channels.cu", "conclude_sums",
              "V* grads?, V* alongs, const V* parts, i64 channels, i32 shares, i64 across")
SCALE_PLANES = Kernel("channels.cu", "scale_planes",
                      "T* out, V* means, V* variances, V* deviations, const T* input, const T* weight?, "
                      "const T* bias?, const V* parts, i64 channels, u32 packs_inner, u32 packs, f64 eps, "
                      "bool centred")
PLANES_BACK = Kernel("channels.cu", "scale_planes_backward",
                     "T* result, T* grads, T* alongs, const T* grad, const T* input, const T* weight?, "
                     "const V* means?, const V* deviations, const V* parts, i64 channels, u32 packs_inner, u32 packs, "
                     "i64 count, bool centred")
SCALE = Kernel("channels.cu", "scale_channels",
               "T* out, const T* input, const T* weight?, const T* bias?, const V* means, const V* deviations, "
               "u32 channels, u32 packs_inner, u32 packs")
SCALE_BACK = Kernel("channels.cu", "scale_channels_backward",
                    "T* result, const T* grad, const T* input, const T* weight?, const V* means, "
                    "const V* deviations, const V* grads, const V* alongs, u32 channels, u32 packs_inner, "
                    "u32 packs, i64 count, bool centred")
MOST_PARTS = 512           # partial sums of a column
ROWS_EACH = 4              # rows that a group of threads goes over at least, where there are so many
THREADS = 256
WORDS = 3, 2               # of a partial sum, by WHAT in channels.cu
SMALL_PLANE = 64           # up to this size of a plane memory is read as columns


def are_rows(input, dims):
    """True if the last dimensions are normalised, of more than one element."""
    n = input.ndim
    return dims == tuple(range(n - len(dims), n)) and prod([input.shape[d] for d in dims]) > 1


def are_channels(input, dims):
    """True if the reduction is over all dims except channels."""
    return by_channel(input.ndim, dims) and input.size > input.shape[1] and input.size < 2**32


def by_rows_or_channels(F, input, *rest, dims=(), **attrs):
    """Predicate: the kernels for rows or those for channels apply."""
    return float_elements(F, input) and (are_rows(input, dims) or are_channels(input, dims))


# ---- rows --------------------------------------------------------------------------------------------------
def normalised_rows(F, input, weight, bias, rows, eps, centred, groups=1, inner=0, residual=None, total=None):
    """The normalised rows, scaled and shifted, and their means (None if not `centred`) and inverse deviations.

    With `inner`, weight and bias belong to runs of so many columns; `groups` rows together have all
    runs. A `residual` is added to the input first, and the sum written to `total`.
    """
    input, weight, bias, residual = (x if x is None else dense(F, x) for x in (input, weight, bias, residual))
    out, columns = F.empty(input.shape, input.dtype), input.size // rows
    means = F.empty((rows,), compute_dtype(input.dtype)) if centred else None
    deviations = F.empty((rows,), compute_dtype(input.dtype))
    vectors = [out, input] if inner else [x for x in (out, input, weight, bias, residual, total) if x is not None]
    chip = capability(F.machine)
    how = distribute(columns, vectors, 1, residual is None and chip >= 80, rows if chip >= 90 else 0)
    arrays = out, means, deviations, input, weight, bias, residual, total
    constants = dict(CHANNELS=inner > 0, **how.constants)
    if residual is not None:
        constants["RESIDUAL"] = 1
    if how.items is None:
        LONG(F.machine, rows, how.threads, *arrays, columns, eps, groups, inner, **constants)
    else:
        ROWS(F.machine, how.grid(rows), how.block, *arrays, rows, columns, eps, groups, inner, shared=how.shared,
             **constants)
    return out, means, deviations


def rows_backward(F, grad, input, weight, means, deviations, rows, with_weights):
    """The gradient of the input; and, `with_weights`, those of weight and bias, flat."""
    grad, input, weight = (x if x is None else dense(F, x) for x in (grad, input, weight))
    result, columns = F.empty(input.shape, input.dtype), input.size // rows
    vectors = [x for x in (result, grad, input, weight) if x is not None]
    how = distribute(columns, vectors, held=4) if with_weights else None
    fused = how is not None and how.items is not None      # registers hold sums of the weights' gradients, too
    if not fused:
        chip = capability(F.machine)
        how = distribute(columns, vectors, 2, chip >= 80, rows if chip >= 90 else 0)
    parts = weight_parts = bias_parts = None
    if how.items is None:
        LONG_BACK(F.machine, rows, how.threads, result, grad, input, weight, means, deviations, columns, CHANNELS=0,
                  **how.constants)
    else:
        grid = how.grid(rows)
        if fused:
            grid = min(MOST_PARTS, -(-rows // (how.rows * ROWS_EACH)))
            parts = grid * how.rows
            weight_parts, bias_parts = (F.empty((parts, columns), deviations.dtype) for _ in range(2))
        ROWS_BACK(F.machine, grid, how.block, result, weight_parts, bias_parts, grad, input, weight, means,
                  deviations, rows, columns, shared=how.shared, WEIGHTS=fused, CHANNELS=0, **how.constants)
    if not with_weights:
        return result
    tiles = -(-columns // 32)
    if parts is None:
        parts = min(64, -(-rows // 64))
        weight_parts, bias_parts = (F.empty((parts, columns), deviations.dtype) for _ in range(2))
        WEIGHT_PARTS(F.machine, tiles * parts, (32, 8), weight_parts, bias_parts, grad, input, means, deviations, rows,
                     columns, parts)
    by_weight, by_bias = (F.empty((columns,), input.dtype) for _ in range(2))
    ADD_PARTS(F.machine, tiles, (32, 8), by_weight, by_bias, weight_parts, bias_parts, columns, parts)
    return result, by_weight, by_bias


# ---- channels ----------------------------------------------------------------------------------------------
def sizes_of(input):
    """(samples, channels, size of a plane) of (N, C, *)."""
    return input.shape[0], input.shape[1], prod(input.shape[2:])


def has_planes(input):
    """True where blocks go over the planes of a channel, False where memory is read as columns."""
    return prod(input.shape[2:]) > SMALL_PLANE


def plane_parts(F, what, input, grad=None, means=None, deviations=None):
    """Partial sums by planes (shares, channels, words); and of the kernels that go on with these planes the grid, the
    sizes that they are told and the constants."""
    samples, channels, inner = sizes_of(input)
    vector = longest_vector(inner, [input] if grad is None else [input, grad])
    packs = samples * inner // vector
    shares = max(1, min(64, packs // (4 * THREADS), -(-1024 // channels)))
    grid, sizes = (channels, shares), (channels, inner // vector, packs)
    constants = {"WHAT": what, "THREADS": THREADS, "VECTOR": vector}
    parts = F.empty((shares, channels, WORDS[what]), compute_dtype(input.dtype))
    PLANES(F.machine, grid, THREADS, parts, input, grad, means, deviations, *sizes, **constants)
    return parts, grid, sizes, constants


def channel_parts(F, what, input, grad=None, means=None, deviations=None):
    """Partial sums over all but the channels, and the arguments of the kernels that merge them."""
    samples, channels, inner = sizes_of(input)
    if has_planes(input):
        parts = plane_parts(F, what, input, grad, means, deviations)[0]
        return parts, channels, len(parts), 1
    columns = channels * inner
    tiles = -(-columns // 32)
    shares = max(1, min(64, samples // 32, -(-1024 // tiles)))
    parts = F.empty((shares, columns, WORDS[what]), compute_dtype(input.dtype))
    COLUMNS(F.machine, (tiles, shares), (32, 8), parts, input, grad, means, deviations, samples, columns, inner,
            WHAT=what, VECTOR=1)
    return parts, channels, shares, inner


def channel_moments(F, input, eps, centred):
    """Means, variances and inverse deviations of the channels."""
    parts, channels, shares, across = channel_parts(F, 0, input)
    found = [F.empty((channels,), parts.dtype) for _ in range(3)]
    MOMENTS(F.machine, -(-channels // 256), 256, *found, parts, channels, shares, across, eps, centred, T=input.dtype,
            WHAT=0, VECTOR=1)
    return found


def channel_sums(F, input, grad, means, deviations, only_dots=False):
    """For each channel the sum of `grad` (None if `only_dots`) and of its product with the normalised input."""
    parts, channels, shares, across = channel_parts(F, 1, input, grad, means, deviations)
    grads = None if only_dots else F.empty((channels,), parts.dtype)
    alongs = F.empty((channels,), parts.dtype)
    SUMS(F.machine, -(-channels // 256), 256, grads, alongs, parts, channels, shares, across, T=input.dtype, WHAT=1,
         VECTOR=1)
    return grads, alongs


def scaled_channels(F, input, weight, bias, means, deviations):
    """``(input - mean) * deviation * weight + bias`` by channel."""
    out = F.empty(input.shape, input.dtype)
    _, channels, inner = sizes_of(input)
    vector = longest_vector(inner, (out, input))
    packs = input.size // vector
    SCALE(F.machine, -(-packs // 256), 256, out, input, weight, bias, means, deviations, channels, inner // vector,
          packs, WHAT=0, VECTOR=vector)
    return out


def normalised_channels(F, input, weight, bias, eps, centred):
    """The normalised channels, scaled and shifted; their means, variances and inverse deviations."""
    input, weight, bias = (x if x is None else dense(F, x) for x in (input, weight, bias))
    if not has_planes(input):
        means, variances, deviations = channel_moments(F, input, eps, centred)
        return scaled_channels(F, input, weight, bias, means, deviations), means, variances, deviations
    parts, grid, sizes, constants = plane_parts(F, 0, input)
    out, found = F.empty(input.shape, input.dtype), [F.empty(grid[:1], parts.dtype) for _ in range(3)]
    SCALE_PLANES(F.machine, grid, THREADS, out, *found, input, weight, bias, parts, *sizes, eps, centred, **constants)
    return out, *found


def channels_backward(F, grad, input, weight, means, deviations, centred):
    """The gradients of the input, of the weights and of the biases."""
    grad, input, weight = (x if x is None else dense(F, x) for x in (grad, input, weight))
    if has_planes(input):
        parts, grid, sizes, constants = plane_parts(F, 1, input, grad, means, deviations)
        result, (grads, alongs) = F.empty(input.shape, input.dtype), [F.empty(grid[:1], input.dtype) for _ in range(2)]
        PLANES_BACK(F.machine, grid, THREADS, result, grads, alongs, grad, input, weight, means, deviations, parts,
                    *sizes, input.size // grid[0], centred, **constants)
        return result, alongs, grads
    if means is None:
        means = F.xp.zeros(deviations.shape, deviations.dtype)
    grads, alongs = channel_sums(F, input, grad, means, deviations)
    result = F.empty(input.shape, input.dtype)
    _, channels, inner = sizes_of(input)
    vector = longest_vector(inner, (result, grad, input))
    packs = input.size // vector
    SCALE_BACK(F.machine, -(-packs // 256), 256, result, grad, input, weight, means, deviations, grads, alongs,
               channels, inner // vector, packs, input.size // channels, centred, WHAT=1, VECTOR=vector)
    return result, alongs, grads


# ---- the ops -----------------------------------------------------------------------------------------------
@kernel("layer_norm", when=lambda F, input, *rest, dims=(), **attrs:
        float_elements(F, input) and are_rows(input, dims), halves=True)
def layer_norm(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    rows, shape = prod(input.shape[:input.ndim - len(dims)]), kept_shape(input.shape, dims)
    out, means, deviations = normalised_rows(F, input, weight, bias, rows, eps, centred)
    deviations = deviations.reshape(shape)
    return out, deviations if means is None else means.reshape(shape), deviations


@kernel("add_layer_norm", when=lambda F, input, residual, *rest, **attrs: float_elements(F, input)
        and input.shape == residual.shape and are_rows(input, (input.ndim - 1,)), halves=True)
def add_layer_norm(F, input, residual, weight=None, bias=None, *, eps=1e-5, centred=True):
    rows, shape, total = prod(input.shape[:-1]), (*input.shape[:-1], 1), F.empty(input.shape, input.dtype)
    out, means, deviations = normalised_rows(F, input, weight, bias, rows, eps, centred, residual=residual, total=total)
    deviations = deviations.reshape(shape)
    return (out, total), deviations if means is None else means.reshape(shape), deviations


@kernel("batch_norm", when=lambda F, input, *rest, dims=(), **attrs:
        float_elements(F, input) and are_channels(input, dims), halves=True)
def batch_norm(F, input, weight=None, bias=None, *, dims=(), eps=1e-5, centred=True):
    out, means, variances, deviations = normalised_channels(F, input, weight, bias, eps, centred)
    return (out, means, variances), means, deviations


@kernel("batch_norm_inference", when=lambda F, input, *rest:
        float_elements(F, input) and input.ndim >= 2 and input.size < 2**32, halves=True)
def batch_norm_inference(F, input, weight=None, bias=None, mean=None, r=None):
    mean, r = (dense(F, x.astype(compute_dtype(input.dtype), copy=False)) for x in (mean, r))
    return scaled_channels(F, dense(F, input), *(x if x is None else dense(F, x) for x in (weight, bias)), mean, r)


def by_groups(F, input, *rest, groups=1, eps=1e-5):
    """Predicate: groups of more than one element."""
    _, channels, inner = sizes_of(input)
    return float_elements(F, input) and channels * inner != groups and channels * inner // groups < 2**31


@kernel("group_norm", when=by_groups, halves=True)
def group_norm(F, input, weight=None, bias=None, *, groups=1, eps=1e-5):
    n, _, inner = sizes_of(input)
    out, means, deviations = normalised_rows(F, input, weight, bias, n * groups, eps, True, groups, inner)
    return out, means.reshape(n, groups, 1), deviations.reshape(n, groups, 1)


def statistics(F, input, y, r, dims, eps, centred):
    """Means (None if not `centred`) and inverse deviations, flat: those kept, or computed again."""
    if y is not None and r is not None and y.shape != input.shape:
        return y.reshape(-1) if centred else None, r.reshape(-1)
    if are_rows(input, dims):
        rows = prod(input.shape[:input.ndim - len(dims)])
        return normalised_rows(F, input, None, None, rows, eps, centred)[1:]
    means, _, deviations = channel_moments(F, dense(F, input), eps, centred)
    return means, deviations


@kernel("affine_norm_backward", when=lambda F, grad, *rest, **attrs: by_rows_or_channels(F, *rest, **attrs),
    halves=True)
def affine_norm_backward(F, grad, input, weight=None, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    channels = are_channels(input, dims)
    means, deviations = statistics(F, input, y, r, dims, eps, centred)
    shape = input.shape[1:2] if channels else tuple([input.shape[d] for d in dims])
    if channels:
        result, dw, db = channels_backward(F, grad, input, weight, means, deviations, centred)
    else:
        result, dw, db = rows_backward(F, grad, input, weight, means, deviations, deviations.size, True)
    sums = [x.astype(input.dtype, copy=False) for x in (dw, db)]
    # A reshape only if it is needed: leaves take an array that is not a view.
    return result, *[x if x.shape == shape else x.reshape(shape) for x in sums]


@kernel("standardize", halves=True, when=lambda F, input, y=None, *rest, dims=(), **attrs:
        y is not None and y.shape == input.shape or by_rows_or_channels(F, input, dims=dims))
def standardize(F, input, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    if y is not None and y.shape == input.shape:
        return y
    if are_rows(input, dims):
        rows = prod(input.shape[:input.ndim - len(dims)])
        return normalised_rows(F, input, None, None, rows, eps, centred)[0]
    return normalised_channels(F, input, None, None, eps, centred)[0]


@kernel("standardize_backward", when=lambda F, grad, *rest, **attrs: by_rows_or_channels(F, *rest, **attrs),
        halves=True)
def standardize_backward(F, grad, input, y=None, r=None, *, dims=(), eps=0.0, centred=True):
    channels = are_channels(input, dims)
    means, deviations = statistics(F, input, y, r, dims, eps, centred)
    if channels:
        return channels_backward(F, grad, input, None, means, deviations, centred)[0]
    return rows_backward(F, grad, input, None, means, deviations, deviations.size, False)


@kernel("dot_channels", when=lambda F, a, b: float_elements(F, a) and a.shape == b.shape and a.ndim >= 2
        and a.dtype == b.dtype and a.size < 2**32, halves=True)
def dot_channels(F, a, b):
    _, alongs = channel_sums(F, dense(F, a), dense(F, b), None, None, only_dots=True)
    return alongs.astype(a.dtype, copy=False)
