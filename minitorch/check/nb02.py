"""Checks of lesson 2, "Backward in 60 lines": accumulate, order, and four local derivatives."""

import itertools
import math

from .exercise import Exercise
from .naming import variants


class Node:
    """A place in a small graph: what the lesson's `Value` has, as far as these checks need it."""

    def __init__(self, name, parents=(), slopes=()):
        self.name, self.data, self.grad = name, 0.0, 0.0
        self.parents = tuple(parents)
        self.pulls = tuple(lambda g, slope=slope: g * slope for slope in slopes)

    def __repr__(self):
        return self.name


send = Exercise(
    "nb02.send", "Hand a node's gradient on to its parents, each times the local slope.",
    ("The same parent may be used by several nodes, and each of them sends it something.",
     "`node.pulls[i](node.grad)` is the message to `node.parents[i]`. What is in `parent.grad` already?",
     "for parent, pull in zip(____, ____): parent.grad ____ pull(____)"),
    tensors=False)


@send.cases
def _():
    yield 1.0, (0.0,), (0,), (3.0,)                     # gradient of the node, what parents have, who, slopes
    yield 1.0, (5.0,), (0,), (3.0,)
    yield 2.0, (0.0,), (0,), (3.0,)
    yield 2.0, (0.0, 0.0), (0, 1), (3.0, 4.0)
    yield 2.0, (0.0,), (0, 0), (3.0, 3.0)               # x * x
    yield 2.0, (1.0,), (0, 0), (3.0, 4.0)
    yield -1.5, (1.0, 2.0, 0.5), (2, 0, 2), (3.0, -4.0, 2.0)


def share(node, put=lambda old, message: old + message, message=lambda pull, grad: pull(grad), some=list):
    """Send, with every decision as an option."""
    for parent, pull in some(zip(node.parents, node.pulls)):
        parent.grad = put(parent.grad, message(pull, node.grad))


share_but = variants(share)
send.truth(share)


@send.run
def _(solution, grad, had, who, slopes):
    parents = [Node("abc"[i]) for i in range(len(had))]
    for parent, value in zip(parents, had):
        parent.grad = value
    node = Node("node", [parents[i] for i in who], slopes)
    node.grad = grad
    solution(node)
    return [parent.grad for parent in parents] + [node.grad]


@send.describe
def _(grad, had, who, slopes):
    parents = ", ".join(f"{'abc'[i]} with slope {s:g}" for i, s in zip(who, slopes))
    before = ", ".join(f"{'abc'[i]}.grad = {h:g}" for i, h in enumerate(had))
    return f"node.grad = {grad:g}; its parents: {parents}; before: {before}. Then the gradients (the node's own last)"


send.slips(
    assigned=("`=` for `+=`: the second message overwrites the first, so a value that is used twice keeps one half",
              share_but(put=lambda old, message: message)),
    no_upstream=("the upstream gradient is ignored: the chain rule multiplies, `pull(node.grad)`",
                 share_but(message=lambda pull, grad: pull(1.0))),
    first_only=("only the first parent gets its message: every input of an operation has a slope of its own",
                share_but(some=lambda pairs: list(pairs)[:1])),
    no_slope=("the node's gradient is handed on unchanged: multiply by the local slope, that is what `pull` does",
              share_but(message=lambda pull, grad: grad)))


@send.mistake("a parent that appears twice (as in x * x) gets one message: each place in the formula sends its own")
def once_each(node):
    for parent, pull in dict(zip(node.parents, node.pulls)).items():
        parent.grad += pull(node.grad)


@send.mistake("the message is added to the node itself, not to its parents: gradients flow from results to inputs")
def into_itself(node):
    for pull in node.pulls:
        node.grad += pull(node.grad)


@send.mistake("the parent's old gradient went through the slope too: only `node.grad` is sent")
def old_too(node):
    for parent, pull in zip(node.parents, node.pulls):
        parent.grad = pull(parent.grad + node.grad)


order = Exercise(
    "nb02.order", "List all nodes that `root` is made from, each after everything that uses it; `root` first.",
    ("A node may send its gradient on only when all of it has arrived. Who must have run before it?",
     "Depth first: a node is *finished* when all its parents are finished. Write nodes down when they finish.",
     "def visit(node): if it is new, remember it; for parent in node.parents: ____; then ____. At the end: return "
     "____"),
    tensors=False, parts=("gradients of a, b, c ...", "how often each was listed"))


@order.cases
def _():
    """All graphs of four nodes whose last is the root, parents in either order; few edges first."""
    pairs = [(i, j) for j in range(1, 4) for i in range(j)]
    for n in range(1, len(pairs) + 1):
        for edges in itertools.combinations(pairs, n):
            if any(j == 3 for _, j in edges):
                yield (edges,)
                yield (edges[::-1],)
    yield (((0, 1), (1, 2), (1, 3), (2, 4), (3, 4)),)       # a diamond on a stem: leaves alone show too little
    yield (((0, 1), (1, 2), (2, 3), (1, 4), (3, 4)),)


@order.run
def _(solution, edges):
    """Backward in the student's order; the gradients, and how often each node was listed."""
    nodes = []
    for j in range(max(j for _, j in edges) + 1):
        uses = [i for i, k in edges if k == j]
        nodes.append(Node("abcde"[j], [nodes[i] for i in uses], [i + 2.0 for i in uses]))
    nodes[-1].grad = 1.0
    listed = list(solution(nodes[-1]))
    for node in listed:
        for parent, pull in zip(node.parents, node.pulls):
            parent.grad += pull(node.grad)
    return [[node.grad for node in nodes], [listed.count(node) for node in nodes]]


@order.describe
def _(edges):
    root = max(j for _, j in edges)
    made = [f"{'abcde'[j]} = f({', '.join('abcde'[i] for i, k in edges if k == j)})"
            for j in range(1, root + 1) if any(k == j for _, k in edges)]
    return ("; ".join(made) + f"; backward from {'abcde'[root]} in your order. First list: the gradients of a, b, c "
            "...; second: how often each of them was listed")


@order.truth
def _(root):
    seen, found = set(), []

    def visit(node):
        if node not in seen:
            seen.add(node)
            for parent in node.parents:
                visit(parent)
            found.append(node)
    visit(root)
    return found[::-1]


@order.mistake("written down on the way in (preorder): a node sends before another of its users has sent to it")
def preorder(root):
    seen, found = set(), []

    def visit(node):
        if node not in seen:
            seen.add(node)
            found.append(node)
            for parent in node.parents:
                visit(parent)
    visit(root)
    return found


@order.mistake("breadth first: \"one step from the root\" is not \"all my users are done\" when paths differ in length")
def breadth_first(root):
    found, queue = [], [root]
    for node in queue:
        if node not in found:
            found.append(node)
            queue.extend(node.parents)
    return found


@order.mistake("not reversed: inputs come first, which is the order of the forward pass; backward needs the other one")
def not_reversed(root):
    found = []

    def visit(node):
        if node not in found:
            for parent in node.parents:
                visit(parent)
            found.append(node)
    visit(root)
    return found


@order.mistake("every path is walked: shared nodes are listed once per path, so their gradients are sent many times")
def every_path(root):
    found = [root]
    for parent in root.parents:
        found += every_path(parent)
    return found


@order.mistake("every path is walked: you remember nobody, so shared nodes appear several times (postorder, reversed)")
def no_memory(root):
    found = []

    def visit(node):
        for parent in node.parents:
            visit(parent)
        found.append(node)
    visit(root)
    return found[::-1]


@order.mistake("the root itself is missing: it is the first to send")
def no_root(root):
    return _finished(root)[::-1][1:]


@order.mistake("only direct parents are listed: go on to the parents of the parents")
def one_level(root):
    return [root, *dict.fromkeys(root.parents)]


@order.mistake("a depth-first walk with a stack, marked when popped: preorder again, users may come later")
def stack_walk(root):
    found, stack = [], [root]
    while stack:
        node = stack.pop()
        if node not in found:
            found.append(node)
            stack.extend(node.parents)
    return found


def _finished(root):
    seen, found = set(), []

    def visit(node):
        if node not in seen:
            seen.add(node)
            for parent in node.parents:
                visit(parent)
            found.append(node)
    visit(root)
    return found


UPSTREAM = "the upstream gradient `g` is ignored: the pull of an operation is g times its slope"

tanh = Exercise(
    "nb02.tanh", "The pull of y = tanh(x): the gradient for x, given g, x and y.",
    ("What is the slope of tanh at 0, and far out?", "The slope of tanh can be written with y alone.",
     "return g * (1 - ____)"), tensors=False)
tanh.cases(lambda: [(1.0, x, math.tanh(x)) for x in (0.0, 1.0, -2.0)])
tanh.draw(lambda d: (lambda g, x: (g, x, math.tanh(x)))(d.choice([2.0, -1.0, 0.5]), d.int(-20, 20) / 10))
tanh.truth(lambda g, x, y: g * (1 - y * y))
tanh.slips(
    no_upstream=(UPSTREAM, lambda g, x, y: 1 - y * y),
    x_for_y=("1 - x**2 where 1 - y**2 was meant: the formula is in terms of the *output*",
             lambda g, x, y: g * (1 - x * x)),
    twice=("tanh was taken twice: y is tanh(x) already, so 1 - y**2", lambda g, x, y: g * (1 - math.tanh(y) ** 2)),
    sigmoid=("that is the slope of the sigmoid, y(1-y); for tanh it is 1 - y**2", lambda g, x, y: g * y * (1 - y)),
    sign=("the sign is wrong: tanh rises everywhere, its slope is never negative", lambda g, x, y: g * (y * y - 1)),
    value=("the function in place of its slope: g * tanh(x) is not a derivative", lambda g, x, y: g * y),
    no_square=("1/cosh(x) is not squared: the slope is its square, and with y alone it is shorter",
               lambda g, x, y: g / math.cosh(x)),
    not_squared=("1 - y in place of 1 - y**2", lambda g, x, y: g * (1 - y)))

div = Exercise(
    "nb02.div", "The pull of y = a / b: the gradients for a and for b, given g, a, b.",
    ("Write a / b as a * b**-1 and use the power rule for b.", "The slope for a is 1/b. The one for b has a square.",
     "return g / ____, ____ * a / ____"),
    tensors=False, parts=("the gradient for a", "the gradient for b"))
div.cases(lambda: [(1.0, 1.0, 2.0), (1.0, 3.0, 2.0), (2.0, 3.0, -2.0)])
div.draw(lambda d: (d.int(-3, 3) / 2, d.int(1, 6) / 2, d.choice([-3.0, -0.5, 2.0, 4.0])))
div.truth(lambda g, a, b: (g / b, -g * a / (b * b)))
div.slips(
    no_upstream=(UPSTREAM, lambda g, a, b: (1 / b, -a / (b * b))),
    sign=("the sign of b's gradient: a larger divisor makes the result smaller",
          lambda g, a, b: (g / b, g * a / (b * b))),
    not_squared=("b is not squared: the slope of 1/b is -1/b**2", lambda g, a, b: (g / b, -g * a / b)),
    no_a=("a is missing in b's gradient: the slope of a/b for b is -a/b**2", lambda g, a, b: (g / b, -g / (b * b))),
    like_mul=("that is multiplication's rule (g*b, g*a); this is a quotient", lambda g, a, b: (g * b, g * a)),
    swapped=("the two gradients are swapped: a's first", lambda g, a, b: (-g * a / (b * b), g / b)),
    first_only=("b's gradient is missing: the divisor is an input too", lambda g, a, b: (g / b, 0.0)),
    log=("a logarithm where the power rule belongs: 1/b is b**-1", lambda g, a, b: (g / b, g * a * math.log(abs(b)))))

power = Exercise(
    "nb02.power", "The pull of y = x ** n, n a plain number: the gradient for x, given g, x, n.",
    ("The power rule, times what arrives.", "n comes down, and the exponent falls by one. Try n = 1 and n = 0 by hand.",
     "return g * ____ * x ** ____"), tensors=False)
power.cases(lambda: [(1.0, 3.0, 2), (1.0, 3.0, 1), (1.0, 2.0, 3), (2.0, 2.0, -1), (1.0, 4.0, 0.5)])
power.draw(lambda d: (d.int(-4, 4) / 2, d.int(1, 6) / 2, d.choice([1, 2, 3, -1, -2, 0.5])))
power.truth(lambda g, x, n: g * n * x ** (n - 1))
power.slips(
    no_upstream=(UPSTREAM, lambda g, x, n: n * x ** (n - 1)),
    same_exponent=("the exponent must fall by one: n * x**(n-1)", lambda g, x, n: g * n * x ** n),
    no_factor=("the factor n is missing", lambda g, x, n: g * x ** (n - 1)),
    always_two=("that is the rule for squares only: the exponent may be any number", lambda g, x, n: g * 2 * x),
    exponential=("that is the rule of n ** x, where x is the exponent",
                 lambda g, x, n: g * x ** n * math.log(abs(n) or 1)),
    integral=("that is the integral, x**(n+1)/(n+1)", lambda g, x, n: g * x ** (n + 1) / (n + 1) if n != -1 else 0.0),
    value=("the function in place of its slope: g * x**n is not a derivative", lambda g, x, n: g * x ** n),
    exchanged=("n comes down as it is, and the exponent falls by one: in yours the factor fell, and not the exponent",
               lambda g, x, n: g * (n - 1) * x ** n),
    twice_down=("the exponent fell by two", lambda g, x, n: g * n * x ** (n - 2)))
