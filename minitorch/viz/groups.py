"""Modules as boxes: which calls belong to which module, and the graph with each module's calls made one.

The tape does not say which module made a call, but it knows the parameters: a call that uses one belongs to the
module that has it, and a call between two calls belongs to the innermost module that has both.
"""

from .drawing import shape_text
from .tape import Vertex

__all__ = ["assign_modules", "folded", "grouped"]


def grouped(vertices, depth, kinds=()):
    """Vertices with the calls of each module, by the first `depth` parts of its path, joined into one.

    `kinds`: path of a module -> (its kind, its number of parameters), to be told in its box.
    """
    kinds = dict(kinds)
    assign_modules(vertices, depth)
    members = join(vertices, depth)
    made = {}
    for v in vertices:
        made.setdefault(members[v.key], []).append(v)
    box_of = {}
    for key, inside in made.items():
        box = module_box(key, inside, depth) if inside[0].kind == "op" and head(inside[0], depth) else inside[0]
        box_of.update((v.key, box) for v in inside)
    boxes = {id(b): b for b in box_of.values()}
    links = {id(b): outside_parents(b, made[members[b.key]] if b.kind != "module" else made[b.key], box_of)
             for b in boxes.values()}
    for found, box in boxes.items():
        box.parents = links[found]
        if box.kind == "module":
            box.note = told(box, kinds)
    used = {id(p) for b in boxes.values() for p, _ in b.parents if p is not None}
    root = box_of[vertices[-1].key]
    return in_order([b for b in boxes.values() if id(b) in used or b is root])


def in_order(boxes):
    """The boxes, each after those that it reads, else as they come."""
    made, waiting = {}, list(boxes)
    while waiting:
        left = []
        for box in waiting:
            ready = all(p is None or id(p) in made for p, _ in box.parents)
            made.update({id(box): box}) if ready else left.append(box)
        waiting = left
    return list(made.values())


def outside_parents(box, inside, box_of):
    """The boxes that a box's calls read, each once; the module's own parameters are inside it."""
    if box.kind != "module":
        return [(None if p is None else box_of[p.key], name) for p, name in box.parents]
    found = {}
    for v in inside:
        for p, name in v.parents:
            if p is not None and box_of[p.key] is not box and not is_own(p, box.label):
                found.setdefault(id(box_of[p.key]), (box_of[p.key], name))
    return list(found.values())


def is_own(leaf, path):
    """True if a leaf is a parameter of the module at `path`, or of one within it."""
    return leaf.kind == "leaf" and f"{leaf.module}.".startswith(f"{path}.")


def module_box(key, inside, depth):
    last = inside[-1]
    note = f"{len(inside)} call{'s' if len(inside) > 1 else ''}: " + ", ".join(
        dict.fromkeys(v.label for v in inside))
    return Vertex(key, last.place, "module", head(last, depth), last.shape, "", note, last.value, last.grad,
                  freed=any(v.freed for v in inside))


def told(box, kinds):
    """Words in a module's box: kind and parameters, the sizes that go in and out, its calls; a line each."""
    kind, count = kinds.get(box.label, ("", 0))
    inputs = ", ".join(dict.fromkeys(shape_text(p.shape) for p, _ in box.parents if p is not None and p.shape))
    sizes = f"{inputs} \u2192 {shape_text(box.shape)}" if inputs and box.shape else ""
    words = [kind + (f" \u00b7 {count:,} parameters" if count else "") if kind else "", sizes, box.note]
    return "\n".join(filter(None, words))


def head(v, depth):
    """The part of a call's module path that is told apart."""
    return ".".join(v.module.split(".")[:depth]) if v.module else ""


def assign_modules(vertices, depth):
    """Give calls without parameters the module that what is before them and what is after them share.

    If the path of that has less than `depth` parts they stay by themselves.
    """
    users = {v.key: [] for v in vertices}
    for v in vertices:
        for p, _ in v.parents:
            if p is not None:
                users[p.key].append(v)
    before = nearest(vertices, lambda v: [p for p, _ in v.parents if p is not None and p.kind == "op"])
    after = nearest(vertices[::-1], lambda v: users[v.key])
    for v in vertices:
        if v.kind == "op" and not v.module and before[v.key] and after[v.key]:
            path = shared(before[v.key], after[v.key])
            v.module = path if path.count(".") + 1 >= depth else ""


def nearest(vertices, beside):
    """Key -> the module path shared by the nearest calls of modules in one direction; None if there are none."""
    found = {}
    for v in vertices:
        if v.module:
            found[v.key] = v.module
            continue
        paths = [found[u.key] for u in beside(v) if found.get(u.key) is not None]
        found[v.key] = None if not paths else paths[0]
        for path in paths[1:]:
            found[v.key] = shared(found[v.key], path)
    return found


def shared(a, b):
    """The path of the innermost module that has both.

    >>> shared("encoder.0.attention", "encoder.0.mlp")
    'encoder.0'
    """
    same = []
    for x, y in zip(a.split("."), b.split(".")):
        if x != y:
            break
        same.append(x)
    return ".".join(same)


def join(vertices, depth):
    """Key of a vertex -> key of its group: all calls of a module, or what of them can be joined without a cycle."""
    edges = [(p.key, v.key) for v in vertices for p, _ in v.parents if p is not None]
    group = {v.key: v.key for v in vertices}
    heads = {}
    for v in vertices:
        if v.kind == "op" and head(v, depth):
            heads.setdefault(head(v, depth), []).append(v.key)
    for members in heads.values():
        whole = {**group, **dict.fromkeys(members, members[0])}
        if not has_cycle(whole, edges):
            group = whole
            continue
        for u, v in edges:                                 # used again after other modules: join neighbours only
            if u in members and v in members and group[u] != group[v]:
                pair = {k: group[u] if g == group[v] else g for k, g in group.items()}
                group = group if has_cycle(pair, edges) else pair
    return group


def has_cycle(group, edges):
    """True if joining vertices as `group` says leaves a way from a group out of it and back."""
    links = {(group[u], group[v]) for u, v in edges if group[u] != group[v]}
    below = {}
    waiting = dict.fromkeys(group.values(), 0)
    for u, v in links:
        below.setdefault(u, []).append(v)
        waiting[v] += 1
    ready = [g for g, n in waiting.items() if not n]
    for g in ready:                                        # grows while it is read
        for v in below.get(g, ()):
            waiting[v] -= 1
            if not waiting[v]:
                ready.append(v)
    return len(ready) < len(waiting)


# ------------------------------------------------------------------ what repeats
LONGEST, LEAST = 14, 4                                     # vertices in a block that may repeat; blocks that are folded


def folded(vertices):
    """Vertices with blocks that repeat in a chain folded: the first and the last stay, one box stands for the others.

    A block repeats if its calls are the same, with shapes of the same, and only its last call is read by the next one.
    """
    calls = [v for v in vertices if v.kind in ("op", "module")]
    looks = [look(v) for v in calls]
    at = 0
    while at < len(calls):
        size, times = longest_run(calls, looks, at)
        if times < LEAST or size * times < 8:
            at += 1
            continue
        middle = calls[at + size:at + size * (times - 1)]
        stand_in = Vertex(f"fold{at}", None, "more", f"\u00d7 {times - 2} the same", middle[-1].shape,
                          note=f"{plain(middle[0])} \u2026 {plain(middle[-1])}", parents=[(calls[at + size - 1], "")])
        vertices = replaced(vertices, set(middle), middle[-1], stand_in)
        at += size * times
    return vertices


def plain(v):
    return v.name or (v.label if v.kind == "module" else v.key)


def look(v):
    """Key of a call, equal for calls that differ in names and numbers only."""
    label = v.note.split("\n")[0] if v.kind == "module" and "\u00b7" in v.note else v.label
    leaves = tuple(p.shape for p, _ in v.parents if p is not None and p.kind == "leaf")
    return label, v.shape, len(v.parents), leaves


def longest_run(calls, looks, at):
    """(size, times) of the block at `at` that covers most by repeating itself."""
    best = 1, 1
    for size in range(1, LONGEST + 1):
        times = 1
        while (looks[at + times * size:at + (times + 1) * size] == looks[at:at + size]
               and is_chained(calls, at + times * size, size)):
            times += 1
        if size * times > best[0] * best[1] and times > 1:
            best = size, times
    return best


def is_chained(calls, at, size):
    """True if the block at `at` reads, of all other calls, the one before it only."""
    inside = set(calls[at:at + size])
    return all(p in inside or p is calls[at - 1] for v in inside for p, _ in v.parents
               if p is not None and p.kind != "leaf")


def replaced(vertices, gone, last, stand_in):
    """The vertices without those `gone` and the leaves that only these read; `stand_in` is in the place of `last`."""
    used = {id(p) for v in vertices if v not in gone for p, _ in v.parents if p is not None}
    made = []
    for v in vertices:
        if v is last:
            made.append(stand_in)
        if v in gone or v.kind == "leaf" and id(v) not in used:
            continue
        v.parents = [(stand_in if p is last else p, name) for p, name in v.parents]
        made.append(v)
    return made
