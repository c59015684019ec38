"""The op table in words: the formula of an op, its derivative rules as readable text, and what they stand for.

``print(minitorch.tanh.formula)`` and ``minitorch.tanh.explain()`` come from here. The text is read from the table's
own source, so that what is shown is what runs; nothing is written twice.
"""

import ast
import functools
import inspect
import linecache
import textwrap

from .core.op import Op
from .core.registry import OPS
from .core.template import write_call

__all__ = ["explain", "formula", "helper_lines", "rule_text", "rules_of", "source"]


def formula(call):
    """The formula of a public function in a line, and under it the derivative rule of each input.

    >>> import minitorch
    >>> print(formula(minitorch.mul))
    mul: ``input * other``.
      d input = g * other
      d other = g * input
    """
    row = getattr(call, "op", None)
    if row is not None:
        return "\n".join([f"{call.__name__}: {first_line(row)}", *rule_lines(row)])
    used, line = used_rows(call), f"{call.__name__}: {first_line(call)}"
    if used == [call.__name__]:                            # it prepares the arguments of the definition of its name
        row = OPS[call.__name__]
        return "\n".join([line, f"hands over to the definition {row.name}: {first_line(row)}", *rule_lines(row)])
    return line + (f"\nmade of: {', '.join(used)}" if used else "")


def rule_lines(row):
    rules = rules_of(row)
    width = max((len(x) for x in rules), default=0)
    return [f"  d {x.ljust(width)} = {text}" for x, text in rules.items()]


def source(call):
    """The text of a public function: of the call that is generated from its definition, or as it was written.

    An in-place function shows what it calls before it writes the result into its first argument.

    >>> import minitorch
    >>> print(source(minitorch.square))                    # doctest: +ELLIPSIS
    @composite...
    def square(input):
    ...
    """
    row = getattr(inspect.unwrap(call), "op", None)
    if row is None:
        return textwrap.dedent(inspect.getsource(inspect.unwrap(call))).rstrip()
    return write_call(row, bare=False)


def first_line(thing):
    """The first sentence of a docstring, on one line."""
    text = inspect.cleandoc(thing.__doc__ or "no description").split("\n\n")[0]
    return " ".join(text.split())


def rules_of(row):
    """Input name -> the text of its derivative rule, where `g` is the gradient of the result."""
    return {x.name: rule_text(row, i) for i, x in enumerate(row.inputs) if row.joint or row.vjps[x.name]}


@functools.cache
def rule_text(row, i):
    """The rule for input `i` of a row as an expression: without the namespace F, with shapes as attributes.

    >>> rule_text(OPS["mul"], 0)
    'g * other'
    """
    names = tuple(x.name for x in row.inputs)
    rule = row.joint or row.vjps[names[i]]
    if rule is None:
        return "no gradient"
    found = expression(rule)
    if found is None:
        return f"{rule.__name__}(g, ...)"
    if row.joint and isinstance(found, ast.Tuple) and len(found.elts) == len(names):
        found = found.elts[i]
    elif row.joint:
        return f"{readable(found, names)}[{i}]" if len(names) > 1 else readable(found, names)
    return readable(found, names)


def readable(tree, names):
    """An expression of a rule as a reader would write it."""
    return ast.unparse(ast.fix_missing_locations(Reader(names).visit(parse_again(tree))))


def parse_again(tree):
    return ast.parse(ast.unparse(tree), mode="eval").body


class Reader(ast.NodeTransformer):
    """Leaves out the namespace F and spells ``input_shape`` as ``input.shape``."""

    def __init__(self, names):
        self.names = names

    def visit_Attribute(self, node):
        self.generic_visit(node)
        if isinstance(node.value, ast.Name) and node.value.id == "F":
            return ast.Name(node.attr)
        return node

    def visit_Name(self, node):
        for suffix in ("_shape", "_dtype"):
            if node.id.endswith(suffix) and node.id.removesuffix(suffix) in self.names:
                return ast.Attribute(ast.Name(node.id.removesuffix(suffix)), suffix[1:])
        return node

    def visit_Call(self, node):
        node.args = [x for x in node.args if not (isinstance(x, ast.Name) and x.id == "F")]
        return self.generic_visit(node)


# ------------------------------------------------------------------ from a function to its expression
def expression(function):
    """The expression that a lambda returns, or a function with one return, as a syntax tree; None if there is none."""
    code = function.__code__
    found = functions_in(code.co_filename).get(code.co_firstlineno, ())
    if code.co_name == "<lambda>":
        found = [node for node in found if isinstance(node, ast.Lambda) and [a.arg for a in node.args.args]
                 == list(code.co_varnames[:code.co_argcount])]
        if len(found) > 1:                                 # several begin on one line
            found = [node for node in found if is_code_of(code, node)]
        return found[0].body if found else None
    for node in found:
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            if isinstance(node.body[-1], ast.Return) and plain_body(node):
                return node.body[-1].value
            return ast.parse(call_text(node), mode="eval").body
    return None


def plain_body(node):
    """True if a function is a docstring, if any, and one return."""
    return len(node.body) - (ast.get_docstring(node) is not None) == 1


def call_text(node):
    return f"{node.name}({', '.join(a.arg for a in node.args.args)})"


def is_code_of(code, node):
    """True if a lambda's tree has been compiled to `code`."""
    made = compile(ast.fix_missing_locations(ast.Expression(node)), code.co_filename, "eval").co_consts[0]
    return (made.co_names, made.co_consts, made.co_code) == (code.co_names, code.co_consts, code.co_code)


@functools.cache
def functions_in(filename):
    """First line -> functions and lambdas of a file that begin there."""
    found = {}
    for node in ast.walk(ast.parse("".join(linecache.getlines(filename)))):
        if isinstance(node, (ast.Lambda, ast.FunctionDef)):
            found.setdefault(node.lineno, []).append(node)
    return found


# ------------------------------------------------------------------ the whole story
def explain(call):
    """Text on an op: its computation, its gradients, and what it keeps for them.

    `call` is a public function such as ``minitorch.tanh``, or a row of the op table.
    """
    row = call if isinstance(call, Op) else getattr(call, "op", None)
    name = row.name if call is row else call.__name__
    if row is None:
        return explain_composite(call, name)
    lines = [f"{name}{signature(call if call is not row else row.call)}", "", *paragraphs(row)]
    rules = rules_of(row)
    if not rules:
        return "\n".join([*lines, "", "No gradient: the result is not differentiable."])
    lines += ["", "Backward, g being the gradient of the result:"]
    lines += [f"  d {x} = {text}" for x, text in rules.items()]
    lines += helper_lines(row, rules.values())
    kept = [spelled(row, field) for field in row.saved_fields]
    lines += ["", f"Kept for it by the graph: {', '.join(kept)}." if kept else "The graph keeps nothing for it."]
    if any(x.kind != "other" for x in row.inputs) and len(row.inputs) > 1:
        lines += ["An input that was broadcast gets the sum of its gradient over the dimensions it was repeated along."]
    return "\n".join(lines)


def explain_composite(call, name):
    lines = [f"{name}{signature(call)}", "", *paragraphs(call)]
    made_of = used_rows(call)
    if made_of:
        lines += ["", "Made of other ops, whose gradients it has:"]
        for row in made_of:
            lines += ["  " + line for line in formula(OPS[row].call).splitlines()]
    return "\n".join(lines)


def paragraphs(thing):
    text = inspect.cleandoc(thing.__doc__ or "")
    return text.split("\n\n>>>")[0].split("\n>>>")[0].rstrip().splitlines()


def signature(call):
    try:
        return str(inspect.signature(call))
    except (TypeError, ValueError):
        return "(...)"


def spelled(row, field):
    """A saved field in words: ``input``, ``input.shape``, ``the result``."""
    for x in row.inputs:
        for suffix in ("_shape", "_dtype"):
            if field == x.name + suffix:
                return f"{x.name}.{suffix[1:]}"
    return "the result" if field == "out" else field


def helper_lines(row, texts):
    """Lines on the functions that the rules call: other ops of the table, helpers beside the rule."""
    scope = {}
    for rule in (row.joint, *row.vjps.values()):
        scope.update(getattr(rule, "__globals__", {}))
    lines, seen = [], set()
    for text in texts:
        for node in ast.walk(ast.parse(text, mode="eval")):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
            if called is None or called in seen or called in ("len", "tuple", "list", "range", "type"):
                continue
            seen.add(called)
            helper = OPS.get(called) or scope.get(called)
            if getattr(helper, "__doc__", None):
                lines.append(f"    {called}: {first_line(helper)}")
    return ["  where", *lines] if lines else []


def used_rows(call):
    """The names of the rows that a function made of other ops calls itself."""
    call = inspect.unwrap(call)
    scope, found = getattr(call, "__globals__", {}), []
    for name in getattr(call, "__code__", None).co_names if hasattr(call, "__code__") else ():
        row = getattr(scope.get(name), "op", None)
        if not isinstance(row, Op):                        # ``R.exp(x)``: R is `recorded`, the ops on tensors
            row = OPS.get(name) if "R" in call.__code__.co_names else None
        if row is not None and row.name not in found:
            found.append(row.name)
    return found
