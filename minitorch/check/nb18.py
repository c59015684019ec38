"""Checks of lesson 18, "A compiler you can read": passes over a row, expressions as C."""

import re

from .exercise import Exercise
from .naming import variants

REDUCTIONS = ("sum", "max")
SOFTMAX = [("x", "load", []), ("m", "max", ["x"]), ("d", "subtract", ["x", "m"]), ("e", "exp", ["d"]),
           ("s", "sum", ["e"]), ("y", "divide", ["e", "s"])]
MEAN = [("x", "load", []), ("s", "sum", ["x"]), ("d", "subtract", ["x", "s"]), ("q", "multiply", ["d", "d"]),
        ("v", "sum", ["q"]), ("w", "load", []), ("y", "multiply", ["d", "v"]), ("z", "multiply", ["y", "w"])]
TWO = [("x", "load", []), ("s", "sum", ["x"]), ("m", "max", ["x"]), ("y", "add", ["x", "x"]), ("t", "add", ["s", "m"]),
       ("u", "multiply", ["t", "y"])]

passes = Exercise(
    "nb18.passes", "The pass over a row in which each value is known: {name: pass}, for (name, op, operands) in order.",
    ("A value can be computed as soon as all of its operands are known.",
     "A sum or maximum of a row is known only when the pass is over: in the next one.",
     "found[name] = max([found[a] for a in ____], default=____) + (op in ____)"), tensors=False)


@passes.cases
def _():
    yield [("x", "load", []), ("y", "exp", ["x"])],
    yield SOFTMAX,
    yield MEAN,
    yield TWO,


def drawn(d):
    statements = [("x", "load", [])]
    for n in range(d.int(1, 6)):
        (op, count), names = d.choice([("exp", 1), ("add", 2), ("sum", 1), ("max", 1)]), [s[0] for s in statements]
        operands = [d.choice(names) for _ in range(count)]
        statements.append((f"v{n}", op, operands))
    return statements,


passes.draw(drawn)
passes.describe(lambda statements: "; ".join(f"{name} = {op}({', '.join(operands)})"
                                             for name, op, operands in statements))


def rule(statements, join=max, step=1, reductions=REDUCTIONS, seen=lambda operands: operands):
    """The rule, or one with a mistake in it."""
    found = {}
    for name, op, operands in statements:
        found[name] = join([found[a] for a in seen(operands)] or [0]) + step * (op in reductions)
    return found


counted = variants(rule)


def by_order(statements):
    found, count = {}, 0
    for name, op, _ in statements:
        count += op in REDUCTIONS
        found[name] = count
    return found


def depth(statements):
    found = {}
    for name, _, operands in statements:
        found[name] = max([found[a] + 1 for a in operands], default=0)
    return found


passes.truth(counted())
passes.slips(
    one_pass=("all in one pass: a sum is known only after the last column", lambda s: {name: 0 for name, *_ in s}),
    each_statement=("a new pass for each statement: only a sum or a maximum ends one", depth),
    numbered=("those are the numbers of the statements: many of them fit into one pass",
              lambda s: {name: i for i, (name, *_) in enumerate(s)}),
    in_order=("a new pass after each reduction in the text: what does not read it need not wait", by_order),
    earliest=("the *earliest* operand decides in your rule: all must be known, so it is the latest", counted(join=min)),
    added=("the passes of the operands are added up: the latest of them decides", counted(join=sum)),
    first_only=("only the first operand is looked at", counted(seen=lambda operands: operands[:1])),
    last_only=("only the last operand is looked at", counted(seen=lambda operands: operands[-1:])),
    only_sums=("a maximum needs the whole row as well", counted(reductions=("sum",))),
    two_each=("a reduction takes one pass, not two", counted(step=2)))

spell = Exercise(
    "nb18.spell", "A nested (op, a, b) of names and numbers, such as ('add', 'x', 2.0), as a C expression in float.",
    ("Write the operands first, by the same function, then the sign between them.",
     "Parentheses around each operation, or a - (b - c) becomes a - b - c. A float number of C ends in f.",
     "a number: f'{node}____'; a name: itself; otherwise op, a, b = node; f'____{spell(a)} ____ {spell(b)}____'"),
    tensors=False)
SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}


@spell.cases
def _():
    yield "x",
    yield 2.0,
    yield ("add", "x", 0.5),
    yield ("subtract", "x", ("subtract", "y", "x")),
    yield ("multiply", ("add", "x", "y"), 3.0),
    yield ("divide", 1.0, ("add", 1.0, "x")),
    yield ("subtract", ("divide", "x", ("multiply", "y", 2.0)), 4.0),


def tree(d, depth=3):
    if depth == 0 or d.int(0, 3) == 0:
        return d.choice(["x", "y", 2.0, 0.5, 3.0])
    return d.choice([*SIGNS]), tree(d, depth - 1), tree(d, depth - 1)


spell.draw(lambda d: (tree(d),))
spell.describe(lambda node: repr(node))


@spell.run
def _(solution, node):
    text = solution(node)
    if not isinstance(text, str) or not re.fullmatch(r"[\w\s.+*/()-]+", text):
        return {"not an expression of C": str(text)}
    numbers = sorted(re.findall(r"(?<![\w.])\d[\w.]*", text))
    try:
        value = eval(re.sub(r"(?<![\w.])(\d[\d.]*)f\b", r"\1", text), {"__builtins__": {}}, {"x": 5.0, "y": 7.0})
    except (SyntaxError, NameError, TypeError) as error:
        return {"the compiler says": type(error).__name__}
    except ZeroDivisionError:
        value = "infinite"
    return {"value for x = 5, y = 7": value, "numbers": numbers}


def printed(node, number=lambda x: f"{x}f", form="({a} {sign} {b})", signs=SIGNS):
    """The printer, or one with a mistake in it."""
    if isinstance(node, str):
        return node
    if isinstance(node, float):
        return number(node)
    op, *operands = node
    a, b = (printed(operand, number, form, signs) for operand in operands)
    return form.format(a=a, b=b, sign=signs[op])


spelt = variants(printed)


spell.truth(spelt())
spell.slips(
    no_parentheses=("without parentheses C binds by its own rules: a - (b - c) is another number",
                    spelt(form="{a} {sign} {b}")),
    turned=("the operands change places: x - y is not y - x", spelt(form="({b} {sign} {a})")),
    double=("2.0 is a double in C, and all that it meets becomes one: write 2.0f", spelt(number=str)),
    whole=("2f is not a number in C, and 2 is an integer: write 2.0f",
           spelt(number=lambda x: f"{x:g}f")),
    integers=("1 / 2 of two integers is 0 in C: write 1.0f", spelt(number=lambda x: f"{x:g}")),
    inner_only=("only the right operand is in parentheses", spelt(form="{a} {sign} ({b})")),
    halves=("only the left operand is in parentheses", spelt(form="({a}) {sign} {b}")),
    floor=("`//` begins a comment in C; division is /", spelt(signs={**SIGNS, "divide": "//"})),
    same_sign=("subtraction is printed as a sum", spelt(signs={**SIGNS, "subtract": "+"})))
