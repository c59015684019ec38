"""Removal of unneeded items of a lowered program, and places for arrays that live within one run.
"""

from __future__ import annotations

import math

from .items import Product
from .loops import Kernel

__all__ = ["arena", "refs_of", "simplify"]


def simplify(items, lasting):
    """Drop unneeded items; `lasting` is the memory that is read after the program."""
    remove_dead(items, lasting)
    elide_copies(items, lasting)


def remove_dead(items, lasting):
    """Drop effects on memory that is not read afterwards."""
    live, left = set(lasting), []
    for i in reversed(items):
        if isinstance(i, Kernel):
            i.effects = [e for e in i.effects if e.ref.root in live]
            i.prune()
            if not i.effects:
                continue
        elif isinstance(i, Product) and i.c.root not in live:
            continue
        live |= i.roots_read()
        left.append(i)
    items[:] = left[::-1]


# ------------------------------------------------------------------ copies of products
def elide_copies(items, lasting):
    """Let a product that is only copied write to the place of the copy."""
    for k in reversed(list(items)):
        product = copied_product(k, items, lasting) if is_copy(k) else None
        strides = None if product is None else strides_in_copy(product, k)
        if strides is not None:
            product.c = k.effects[0].ref.moved(strides)
            items.remove(k)


def is_copy(item):
    """True for a kernel that only loads elements and stores them."""
    return (isinstance(item, Kernel) and len(item.effects) == len(item.nodes) == 1
            and item.nodes[0].op == "load" and item.effects[0].kind == "store")


def copied_product(copy, items, lasting):
    """The product that `copy` alone reads, if nothing in between needs the copy's memory."""
    root, target = copy.nodes[0].ref.root, copy.effects[0].ref.root
    if root.kind != "made" or root in lasting or target.kind != "made":
        return None
    writers = [i for i in items if root in i.roots_written()]
    readers = [i for i in items if root in i.roots_read()]
    if len(writers) != 1 or readers != [copy] or not isinstance(writers[0], Product):
        return None
    between = items[items.index(writers[0]):items.index(copy)]
    if any(target in i.roots_read() or target in i.roots_written() for i in between):
        return None
    return writers[0]


def strides_in_copy(product, copy):
    """The strides of a product in the target of its copy; None if BLAS cannot write it there."""
    strides = followed(product.c, product.shape, copy.nodes[0].ref, copy.effects[0].ref, copy.dims)
    if strides is None:
        return None
    rows, columns = product.shape[-2:]
    dense = (strides[-1] == 1 or columns == 1) and (strides[-2] >= columns or rows == 1)
    return strides if dense else None


def followed(ref, shape, source, target, dims):
    """The strides that the dimensions of a ref have in the target of its copy.

    The copy goes from `source` to `target` on `dims`. None if it splits a dimension.
    """
    if source.offset != 0 or math.prod(dims) != math.prod(shape):
        return None
    steps = {s: (n, t) for n, s, t in zip(dims, source.strides, target.strides) if n > 1}
    found = []
    for n, s in zip(shape, ref.strides):
        if n == 1:
            found.append(0)
            continue
        base = max((b for b, (m, _) in steps.items() if b and s % b == 0 and s // b < m),
                   default=None)
        if base is None:
            return None
        m, t = steps[base]
        if (s // base) * n > m:
            return None
        found.append(t * (s // base))
    return found


# ------------------------------------------------------------------ places
def arena(items, fixed):
    """Places of arrays that live within one run, but for `fixed`: root -> offset; and the size.

    By first fit over their lifetimes.
    """
    first, last = {}, {}
    for n, i in enumerate(items):
        for r in (*i.roots_read(), *i.roots_written()):
            first.setdefault(r, n)
            last[r] = n
    busy, offsets, size = [], {}, 0
    for r in sorted(first, key=first.get):
        if r.kind != "made" or r in fixed:
            continue
        need = -(-max(r.nbytes, 1) // 64) * 64
        busy = [b for b in busy if last[b[2]] >= first[r]]
        at = 0
        for low, high, _ in sorted(busy, key=lambda b: b[0]):
            if at + need <= low:
                break
            at = max(at, high)
        busy.append((at, at + need, r))
        offsets[r] = at
        size = max(size, at + need)
    return offsets, size


def refs_of(item):
    """The refs of a kernel or a product."""
    if isinstance(item, Kernel):
        return [*item.reads(), *item.writes()]
    return [item.a, item.b, item.c]
