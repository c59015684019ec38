"""Arguments, results and auxiliary results that are pytrees: shared by the functions of ``torch.func``."""

from .. import Tensor
from ..autograd.dual import crossing
from ..autograd.recording import behind
from ..utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten


def positions(argnums, n):
    """`argnums` as a tuple; an error for what is not a position among `n` arguments."""
    chosen = argnums if isinstance(argnums, tuple) else (argnums,)
    if not chosen or not all([isinstance(i, int) for i in chosen]):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    for i in chosen:
        if not -n <= i < n:
            raise RuntimeError(f"Got argnum={i}, but only {n} positional inputs")
    if len({i % n for i in chosen}) != len(chosen):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return chosen


def without_aux(result, has_aux, name):
    """(output, auxiliary output) of a function's result."""
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def leaves_of(tree, text):
    """The tensors of a pytree; RuntimeError, beginning with `text`, if anything else is among its leaves."""
    leaves = tree_leaves(tree)
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RuntimeError(f"{text}, got unsupported type {type(x)}")
    return leaves


def detached(tree):
    """A pytree with its tensors without their graphs, but with their tangents."""
    return tree_map(lambda t: crossing.detached(t) if isinstance(t, Tensor) else t, tree)


def is_nested(trees):
    """True if a tensor in `trees`, or a tangent of one, requires grad: a derivative of the
    derivative may be asked for.
    """
    return any([isinstance(t, Tensor) and t.requires_grad for t in tree_leaves(trees)])


def reaches_others(outputs, own):
    """True if gradients of the `outputs` would flow to other leaves than `own`, such as those that
    a function closes over: the derivatives will be differentiated then."""
    mine = {id(x) for x in own}
    roots = [x.node or x for x in outputs if isinstance(x, Tensor) and x.requires_grad]
    return any([not place.parents and id(place) not in mine for place in behind(roots)])


class Flat:
    """A function of pytrees as one of tensors that returns a tuple of tensors; it keeps what else was returned."""

    def __init__(self, func, args, has_aux, name):
        self.func, self.has_aux, self.name = func, has_aux, name
        self.leaves, self.args_spec = tree_flatten(args)

    def __call__(self, *leaves):
        out, self.aux = without_aux(self.func(*tree_unflatten(leaves, self.args_spec)), self.has_aux, self.name)
        flat, self.spec = tree_flatten(out)
        return tuple(leaves_of(flat, f"{self.name}: expected f(*primals) to return only tensors"))

    def unflatten(self, leaves):
        """The tuple of tensors that it returned, or one like it, in the structure of the function's result."""
        return tree_unflatten(list(leaves), self.spec)


class Chosen(Flat):
    """A function of some of its arguments, those at the positions `argnums`; the others are constants."""

    def __init__(self, func, argnums, args, has_aux, name):
        chosen = positions(argnums, len(args))
        xs = tuple([args[i] for i in chosen])
        leaves_of(xs, f"{name}: Expected primals to only contain Tensors")

        def of_chosen(*xs):
            full = list(args)
            for i, x in zip(chosen, xs):
                full[i] = x
            return func(*full)
        super().__init__(of_chosen, xs, has_aux, name)
        self.single = not isinstance(argnums, tuple)

    def jacobian(self, rows):
        """The Jacobian in the structure of the results, in each of them in that of the arguments, of its blocks: a
        sequence for each output of a tensor for each input."""
        by_argument = [tree_unflatten(list(row), self.args_spec) for row in rows]
        return self.unflatten([row[0] if self.single else row for row in by_argument])
