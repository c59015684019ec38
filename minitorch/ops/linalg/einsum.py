"""Op definitions: `einsum`, sums of products described by a letter for each dimension.

An equation such as "bij,bjk->bik" is parsed once (and remembered), diagonals are taken as views, and the rest is
one op: two operands at a time are brought into the form of one batched matrix product. Its
gradient is again a contraction, with the letters of the result and of an operand exchanged.
"""

import functools
import string

from ...core.errors import worded
from ...core.grad_mode import mixed_precision
from ...core.tensor import Tensor
from ..define import casting, composite, op
from ..shapes.shape import count, permute
from ..shapes.view import diagonal

LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in the order of PyTorch's sublist format


# ---- the equation ------------------------------------------------------------------------------------------
def fail(words):
    raise RuntimeError("einsum(): " + words)


@functools.lru_cache(1000)
def parse(equation, ndims):
    """The letters of each operand and of the result; dimensions behind an ellipsis get letters of their own."""
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    check_letters(inputs.replace(",", ""), equation)
    check_letters(output, equation)
    terms = inputs.split(",")
    if len(terms) != len(ndims):
        fail(f"{'fewer' if len(ndims) < len(terms) else 'more'} operands were provided than specified in the equation: "
             f"{len(ndims)} for {equation!r}")
    widths = [n - len(t.replace("...", "")) for t, n in zip(terms, ndims)]
    for i, (term, n, width) in enumerate(zip(terms, ndims, widths)):
        if width < 0 or width and "..." not in term:
            fail(f"the number of subscripts in the equation ({n - width}) does not match the number of dimensions "
                 f"({n}) for operand {i}" + (" and no ellipsis was given" if width > 0 else ""))
    hidden = [hidden_letters(w) for w in widths]
    terms = [t.replace("...", h) for t, h in zip(terms, hidden)]
    dots = max(hidden, key=len)
    if not arrow:
        joined = "".join(terms)
        output = "..." + "".join(c for c in sorted(set(joined)) if joined.count(c) == 1 and c in LETTERS)
    output = output.replace("...", dots)
    for c in output:
        if output.count(c) > 1:
            fail(f"output subscript {c} appears more than once in the output")
        if not any(c in t for t in terms):
            fail(f"output subscript {c} does not appear in the equation for any input operand")
    return tuple(terms), output


def hidden_letters(n):
    """Letters, which no equation can spell, for `n` dimensions behind an ellipsis, aligned at the last one."""
    return "".join(chr(0x100 + i) for i in reversed(range(n)))


def check_letters(text, equation):
    if text.count("...") > 1 and "," not in equation:
        fail(f"found '.' more than once as an ellipsis in {equation!r}")
    for c in text.replace("...", ""):
        if c not in LETTERS:
            fail(f"invalid subscript {c!r} in the equation {equation!r}: subscripts must be in [a-zA-Z]")


def spelled_out(args):
    """The sublist format, ``einsum(x, [0, 1], y, [1, 2], [0, 2])``, as an equation and operands."""
    def word(labels):
        for label in labels:
            if label is not Ellipsis and not 0 <= label < len(LETTERS):
                fail(f"not within the valid range [0, 52): {label}")
        return "".join("..." if label is Ellipsis else LETTERS[label] for label in labels)
    operands, lists = args[0:len(args) // 2 * 2:2], args[1::2]
    equation = ",".join(map(word, lists))
    return equation + ("->" + word(args[-1]) if len(args) % 2 else ""), operands


# ---- two operands at a time --------------------------------------------------------------------------------
@functools.lru_cache(1000)
def plan(in_a, a, in_b, b, keep):
    """Plan of one batched matrix product of arrays of shapes `a` and `b`, summed over the letters not in `keep`.

    For each its `Shape`, then whether anything is summed, the shape of the result and its letters.
    """
    m, n = dict(zip(in_a, a)), dict(zip(in_b, b))
    dropped, (batch, summed, left, right) = roles(m, n, keep)
    sizes = [[x[c] for c in word] for x, word in ((m, batch), (m, left), (n, right))]
    if summed:
        k = count([m[c] for c in summed])
        flat = (*sizes[0], count(sizes[1]), k), (*sizes[0], k, count(sizes[2]))
    else:
        flat = (*sizes[0], *sizes[1], *[1] * len(right)), (*sizes[0], *[1] * len(left), *sizes[2])
    return (Shape(in_a, dropped[0], batch + left + summed, flat[0]),
            Shape(in_b, dropped[1], batch + summed + right, flat[1]),
            bool(summed), tuple(sizes[0] + sizes[1] + sizes[2]), "".join(batch + left + right))


def roles(m, n, keep):
    """The roles of letters of two operands (given with sizes) in a product with letters `keep`.

    The letters that each drops beforehand; then those of the batch, those summed, and those of one
    operand only.
    """
    # Letters that stretch (size 1 where the other has more) are dropped, those that nobody else has are summed.
    stretched = stretching(m, n), stretching(n, m)
    left, right = [[c for c in word if c not in gone] for word, gone in zip((m, n), stretched)]
    alone = {c for c in set(left) ^ set(right) if c not in keep}
    both = [c for c in left if c in right]
    return [gone | alone for gone in stretched], (
        [c for c in both if c in keep], [c for c in both if c not in keep],
        [c for c in left if c not in alone and c not in both],
        [c for c in right if c not in alone and c not in both])


def stretching(sizes, others):
    return {c for c in sizes if sizes[c] == 1 != others.get(c, 1)}


class Shape:
    """The form that an operand is brought to: dimensions to sum, the order of the others, their sizes."""

    def __init__(self, letters, dropped, order, sizes):
        self.dropped = tuple([i for i, c in enumerate(letters) if c in dropped])
        rest = [c for c in letters if c not in dropped]
        order = [rest.index(c) for c in order]
        self.order, self.sizes = None if order == sorted(order) else order, sizes

    def __call__(self, F, x):
        if self.dropped:
            x = F.sum(x, dim=self.dropped).astype(x.dtype)
        if self.order:
            x = x.transpose(self.order)
        return x if x.shape == self.sizes else x.reshape(self.sizes)


def contract_pair(F, product, a, in_a, b, in_b, keep):
    """The product of two arrays, summed over the letters that are not in `keep`; and the letters of the result."""
    shape_a, shape_b, summed, shape, letters = plan(in_a, a.shape, in_b, b.shape, keep)
    a, b = shape_a(F, a), shape_b(F, b)
    out = product(a, b) if summed else a * b
    return (out if out.shape == shape else out.reshape(shape)), letters


@functools.lru_cache(1000)
def plan_of_two(equation, a, b):
    """The plan of the contraction of two operands of shapes `a` and `b`: True if they change places,
    a `Shape` for each, whether anything is summed, the shape of the product and its new order."""
    inputs, output = equation.split("->")
    in_a, in_b = inputs.split(",")
    # what leads in the result comes first: its letters are in order then
    swapped = next((c not in in_a for c in output if c not in in_a or c not in in_b), False)
    if swapped:
        a, in_a, b, in_b = b, in_b, a, in_a
    *found, letters = plan(in_a, a, in_b, b, output)
    return (swapped, *found, None if letters == output else [letters.index(c) for c in output])


def contract_two(F, product, a, b, found):
    """The contraction of two operands by a plan."""
    swapped, shape_a, shape_b, summed, shape, order = found
    if swapped:
        a, b = b, a
    a, b = shape_a(F, a), shape_b(F, b)
    out = product(a, b) if summed else a * b
    if out.shape != shape:
        out = out.reshape(shape)
    return out if order is None else out.transpose(order)


def contract_all(F, product, operands, equation):
    """The contraction of all operands, two at a time; `product` multiplies batches of matrices."""
    inputs, output = equation.split("->")
    terms, arrays = inputs.split(","), list(operands)
    while len(arrays) > 2:
        i, j = next_pair(terms, [x.shape for x in arrays], output)
        b, in_b, a, in_a = arrays.pop(j), terms.pop(j), arrays.pop(i), terms.pop(i)
        made, letters = contract_pair(F, product, a, in_a, b, in_b, output + "".join(terms))
        arrays.append(made)
        terms.append(letters)
    equation = f"{','.join(terms)}->{output}"
    return contract_two(F, product, *arrays, plan_of_two(equation, *[x.shape for x in arrays]))


def next_pair(terms, shapes, output):
    """The two operands to multiply first: those with the smallest product."""
    sizes = {c: n for t, s in zip(terms, shapes) for c, n in zip(t, s) if n != 1}
    best = None
    for i in range(len(terms)):
        for j in range(i + 1, len(terms)):
            keep = set(output).union(*[t for k, t in enumerate(terms) if k not in (i, j)])
            cost = count([sizes.get(c, 1) for c in set(terms[i] + terms[j]) if c in keep])
            if best is None or cost < best[0]:
                best = cost, i, j
    return best[1:]


# ---- the op definition -------------------------------------------------------------------------------------
@op(dims="{equation}",
    name="einsum", namespace=None, promotion="same", refuses="b", complex="holomorphic",
    joint=lambda F, g, needs, operands, equation: contract_grads(F, g, needs, operands, equation),
    sample=lambda d: d.choice([([d.array((2, 3)), d.array((3, 2))], dict(equation="ab,bc->ca")),
                               ([d.array((2, 3)), d.array((2, 2)), d.array((2,))], dict(equation="ab,ca,a->cb")),
                               ([d.array((2, 1)), d.array((2, 3))], dict(equation="ab,ab->b"))]))
def _einsum(F, *operands, equation):
    """`einsum` of two or more operands without ellipses and repeated letters in one term."""
    return contract_all(F, F.gemm, operands, equation)


def contract_grads(F, g, needs, operands, equation):
    """The gradient of each operand: the result's gradient contracted with all other operands."""
    inputs, output = equation.split("->")
    terms, grads = inputs.split(","), []
    for i, (x, term) in enumerate(zip(operands, terms)):
        if not needs[i]:
            grads.append(None)
            continue
        others = [output] + terms[:i] + terms[i + 1:]
        known = "".join(c for c in term if any(c in t for t in others))
        h = F.einsum(g, *operands[:i], *operands[i + 1:], equation=",".join(others) + "->" + known)
        sizes = dict(zip(known, h.shape))                  # a letter that nobody else has was summed: repeat
        h = F.reshape(h, shape=tuple([sizes.get(c, 1) for c in term]))
        wanted = tuple([n if m == 1 else m for m, n in zip(h.shape, x.shape)])
        grads.append(h if wanted == tuple(h.shape) else F.expand(h, size=wanted))
    return tuple(grads)


# ---- the function ------------------------------------------------------------------------------------------
@composite(method=False)
def einsum(*args):
    """The sum of products that an equation describes: ``einsum("bij,bjk->bik", x, y)`` is a batched matrix product.

    Each operand has a letter for each of its dimensions. The result has the letters after "->"; all others are summed
    over. Without "->" it has those that occur once, sorted. "..." stands for further dimensions, which broadcast; a
    letter twice in one operand takes its diagonal. Sizes of equal letters must agree or be 1. Also
    ``einsum(x, [0, 1, 2], y, [0, 2, 3], [0, 1, 3])``, with numbers for letters. Three or more operands are multiplied
    two at a time, those with the smallest product first. RuntimeError if equation and operands do not fit.

    >>> import minitorch as torch
    >>> torch.einsum("ij,j->i", torch.tensor([[1., 2.], [3., 4.]]), torch.tensor([1., 10.]))
    tensor([21., 43.])
    """
    if len(args) < 2:
        raise worded(ValueError("einsum(): must specify the equation string and at least one operand, or at least one "
                                "operand and its subscripts list"))
    equation, operands = (args[0], args[1:]) if isinstance(args[0], str) else spelled_out(args)
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    for i, x in enumerate(operands):
        if not isinstance(x, Tensor):
            raise TypeError(f"einsum(): operand {i} must be Tensor, not {type(x).__name__}")
    terms, output = parse(equation, tuple([x.array.ndim for x in operands]))
    if any([len(set(t)) < len(t) for t in terms]):
        operands, terms = zip(*[diagonals(x, t, i) for i, (x, t) in enumerate(zip(operands, terms))])
    check_sizes(tuple([x.array.shape for x in operands]), terms)
    if len(operands) > 1:
        call = _einsum
        if mixed_precision.enabled:                        # on the CPU only products of matrices are cast
            call = casting(call, "lower on cuda" if set("".join(terms)) <= set(output) else "lower")
        return call(operands, ",".join(terms) + "->" + output)
    x, term = operands[0], terms[0]
    order = [term.index(c) for c in output] + [i for i, c in enumerate(term) if c not in output]
    x = permute(x, tuple(order))
    return x.sum(tuple(range(len(output), len(term)))) if len(output) < len(term) else x


def diagonals(x, term, i):
    """`x` with one dimension for each letter: a view of its diagonals."""
    for c in sorted(set(term)):
        while term.count(c) > 1:
            first, second = term.index(c), term.rindex(c)
            m, n = x.array.shape[first], x.array.shape[second]
            if m != n:
                fail(f"subscript {c} is repeated for operand {i} but the sizes don't match, {n} != {m}")
            x = diagonal(x, 0, first, second)
            term = term[:first] + term[first + 1:second] + term[second + 1:] + c
    return x, term


@functools.lru_cache(1000)
def check_sizes(shapes, terms):
    sizes = {}
    for i, (shape, term) in enumerate(zip(shapes, terms)):
        for c, n in zip(term, shape):
            if sizes.setdefault(c, n) != n and n != 1:
                if sizes[c] != 1:
                    fail(f"subscript {c} has size {n} for operand {i} which does not broadcast with previously seen "
                         f"size {sizes[c]}")
                sizes[c] = n
