"""The rules of convolutions, pooling, norms by channel, and of ops that choose elements by an index: see `rules`."""

from ...extend import is_half
from .placement_types import Shard
from .products import normalised
from .rules import SUM, ByDefinition, R, found, rule, sums
from .sharded import Sharded
from .views import local_shape

__all__: list = []

FIRST, SECOND = Shard(0), Shard(1)


# ------------------------------------------------------------------ convolutions
@rule("convolution")
def convolution(call):
    """Cut along samples, the channels of the result, or those of the input: then it is a sum."""
    x, w = call.shapes[:2]
    choices = [call.everywhere(), ((FIRST, R, R), (FIRST, x[0]))]
    if call.attrs["geometry"].groups == 1:
        choices += [((R, FIRST, FIRST), (SECOND, w[0])), ((SECOND, SECOND, SUM), SUM)]
    return choices + sums(call)


@rule("convolution_backward_input")
def convolution_backward_input(call):
    g, w = call.shapes
    choices = [call.everywhere(), ((FIRST, R), (FIRST, g[0]))]
    if call.attrs["geometry"].groups == 1:
        choices += [((R, SECOND), (SECOND, w[1])), ((SECOND, FIRST), SUM)]
    return choices + sums(call)


@rule("convolution_backward_weight")
def convolution_backward_weight(call):
    x, g = call.shapes
    choices = [call.everywhere(), ((FIRST, FIRST), SUM)]
    if call.attrs["geometry"].groups == 1:
        choices += [((SECOND, R), (SECOND, x[1])), ((R, SECOND), (FIRST, g[1]))]
    return choices + sums(call)


# ------------------------------------------------------------------ pooling
def planes(trailing):
    """The rule of an op that works on the last ``trailing(call)`` dimensions: all others may be cut."""
    def choices(call):
        shape = call.shapes[0]
        return [call.everywhere(), *[((Shard(d),) * len(call.arrays), (Shard(d), shape[d]))
                                     for d in range(len(shape) - trailing(call))], *sums(call)]
    return choices


rule("max_pool", "max_pool_backward", "avg_pool", "avg_pool_backward")(
    planes(lambda call: len(call.attrs["pooling"].out)))
rule("gather_last")(planes(lambda call: call.attrs["dims"]))
rule("scatter_last", "max_unpool")(planes(lambda call: len(call.attrs["size"])))


@rule("max_pool_indices")
def max_pool_indices(call):
    windows = call.attrs["windows"]
    if not hasattr(windows, "out"):                        # tables for each sample
        return [call.everywhere()]
    return planes(lambda call: len(windows.out))(call)


# ------------------------------------------------------------------ norms by channel
def samples_are_cut(call):
    """True if statistics of channels go over several ranks: parts are summed, no sample is sent."""
    arrays, n = [x for x in call.arrays if x.__class__ is Sharded], len(call.shapes[0])
    return of_channels(call) and not any([is_half(x.dtype) for x in arrays]) and any(
        [isinstance(p, Shard) and p.dim != 1 for x in arrays if x.ndim == n for p in x.placements])


def of_channels(call):
    """True if all dimensions but that of the channels are standardised."""
    n = len(call.shapes[0])
    return n > 1 and call.attrs["dims"] == (0, *range(2, n))


def norm_choices(call):
    """Cut along channels, or, where the last dimensions are standardised, along the others."""
    if of_channels(call):
        n, channels = len(call.shapes[0]), (SECOND, call.shapes[0][1])
        ins = tuple([SECOND if len(s) == n else FIRST for s in call.shapes])
        of_each = FIRST, channels[1]
        outs = [channels, of_each, of_each]
        return [call.everywhere(), (ins, outs if call.op.name == "affine_norm_backward" else [outs, of_each, of_each])]
    n, choices = len(call.shapes[0]), [call.everywhere()]
    for d, size in normalised(call):
        if {x % n for x in call.attrs["dims"]} == {*range(n - len(call.attrs["dims"]), n)}:
            ins = tuple([Shard(d) if len(s) == n else R for s in call.shapes])
            choices.append((ins, [(Shard(d), size), SUM, SUM]))
    return choices


found["batch_norm"] = found["affine_norm_backward"] = ByDefinition(norm_choices, samples_are_cut)


@rule("batch_norm_inference")
def batch_norm_inference(call):
    n, shape = len(call.shapes[0]), call.shapes[0]
    found = [((Shard(d), *[FIRST if d == 1 else R] * 4), (Shard(d), size)) for d, size in enumerate(shape)]
    return [call.everywhere(), *found] if n > 1 else [call.everywhere()]


@rule("dot_channels")
def dot_channels(call):
    shape = call.shapes[0]
    return [call.everywhere(), *[((Shard(d),) * 2, (FIRST, shape[1]) if d == 1 else SUM) for d in range(len(shape))],
            *sums(call)]


@rule("group_norm")
def group_norm(call):
    n = call.shapes[0][0]                                  # each rank has some: it cannot divide none into groups
    return [call.everywhere(), *[((FIRST, R, R), [(FIRST, n)] * 3)] * (n > 0 and call.even(n))]


# ------------------------------------------------------------------ elements by an index
def beside(call, *arrays):
    """The dimensions, besides the one that is indexed, in which these arrays have one size."""
    shapes = [call.shapes[i] for i in arrays]
    dim = call.dim() if shapes[0] else None
    return [d for d in range(len(shapes[0])) if d != dim and len({s[d:d + 1] for s in shapes}) == 1]


@rule("gather", "take_along_dim")
def gather(call):
    """Cut where the index goes along with the input; or the index along what it chooses."""
    (x, index), choices = call.shapes, [call.everywhere()]
    if not x or len(x) != len(index):
        return choices
    choices += [((Shard(d), Shard(d)), (Shard(d), index[d])) for d in beside(call, 0, 1)]
    return [*choices, ((R, Shard(call.dim())), (Shard(call.dim()), index[call.dim()])), *sums(call)]


@rule("gather_backward", localize=local_shape("shape"))
def gather_backward(call):
    (g, index), shape, choices = call.shapes, call.attrs["shape"], [call.everywhere()]
    if not shape or g != index:
        return choices
    dim = call.attrs["dim"] % len(shape)
    choices += [((Shard(d), Shard(d)), (Shard(d), n)) for d, n in enumerate(shape) if d != dim and index[d] == n]
    return [*choices, ((Shard(dim), Shard(dim)), SUM), *sums(call)]


@rule("scatter", "scatter_add", "scatter_reduce_prod", "scatter_reduce_extremum")
def scatter(call):
    """Cut where input, index and source go along with each other; what is added may lie anywhere."""
    (x, index, src), choices = call.shapes, [call.everywhere()]
    if not x or len(x) != len(index):
        return choices
    for d in beside(call, 0, 1, 2) if src else beside(call, 0, 1):
        choices.append(((Shard(d), Shard(d), Shard(d) if src else R), (Shard(d), x[d])))
    if call.op.name == "scatter_add" and src == index and call.is_smooth_in(0, 2):
        choices.append(((SUM, Shard(call.dim()), Shard(call.dim())), SUM))
    return choices + sums(call)


@rule("index_select")
def index_select(call):
    x, index = call.shapes
    if not x or len(index) != 1:
        return [call.everywhere()]
    dim = call.dim()
    return [call.everywhere(), *[((Shard(d), R), (Shard(d), n)) for d, n in enumerate(x) if d != dim],
            ((R, FIRST), (Shard(dim), index[0])), *sums(call)]


@rule("index_select_backward", localize=local_shape("shape"))
def index_select_backward(call):
    (g, index), shape = call.shapes, call.attrs["shape"]
    if not shape or len(index) != 1 or len(g) != len(shape):
        return [call.everywhere()]
    dim = call.attrs["dim"] % len(shape)
    return [call.everywhere(), *[((Shard(d), R), (Shard(d), n)) for d, n in enumerate(shape) if d != dim],
            ((Shard(dim), FIRST), SUM), *sums(call)]


@rule("index_add", "index_copy", "index_fill")
def index_add(call):
    """Cut along any other dimension than the one that is indexed."""
    x, index, source = call.shapes
    if not x or len(index) != 1 or source and len(source) != len(x):
        return [call.everywhere()]
    choices = [((Shard(d), R, Shard(d) if source else R), (Shard(d), x[d]))
               for d in (beside(call, 0, 2) if source else beside(call, 0))]
    if call.op.name == "index_add" and source and call.is_smooth_in(0, 2):
        choices.append(((SUM, FIRST, Shard(call.dim())), SUM))
    return [call.everywhere(), *choices, *sums(call)]
