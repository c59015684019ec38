"""Write the reference pages, ``docs/reference/*.md``, from the op table.

    python docs/build_reference.py            write them
    python docs/build_reference.py --check    exit with 1 if they are not what would be written

One entry for each public function: signature, documentation, where it is found, what happens to dtypes, whether it is a
view, its index notation, and its derivative, as the rule in the table says it.
"""

import ast
import inspect
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import minitorch  # noqa: E402
from minitorch.core.promotion import PROMOTIONS  # noqa: E402
from minitorch.core.registry import FUNCTIONS, METHODS, OPS  # noqa: E402
from minitorch.ops.define import OPTIONS  # noqa: E402
from minitorch.ops.dims import column_of  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "docs" / "reference"

TITLES = {"": "minitorch", "nn.functional": "minitorch.nn.functional", "linalg": "minitorch.linalg",
          "special": "minitorch.special", "fft": "minitorch.fft", "signal.windows": "minitorch.signal.windows"}


def rules_by_op():
    """Op name -> {input: the source of its derivative formula}, read from the definitions."""
    found = {}
    for path in sorted((ROOT / "minitorch" / "ops").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                for decorator in node.decorator_list:
                    if isinstance(decorator, ast.Call):
                        note(found, node.name, decorator)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ufunc" and node.args:
                if isinstance(node.args[0], ast.Constant):
                    note(found, node.args[0].value, node)
    return found


def note(found, name, call):
    for keyword in call.keywords:
        if isinstance(keyword.value, ast.Lambda) and keyword.arg not in OPTIONS - {"joint"}:
            found.setdefault(name, {})[keyword.arg] = ast.unparse(keyword.value.body)


def entries():
    """Page -> lines: one entry for each public function, aliases under the first name."""
    rules, pages, seen = rules_by_op(), {}, {}
    for (namespace, name), public in sorted(FUNCTIONS.items()):
        if name.endswith("_") and not name.startswith("_"):
            continue                                       # in-place twins are mentioned with the function
        key = (namespace, id(public.call))
        if key in seen:
            seen[key].append(name)
            continue
        seen[key] = names = [name]
        pages.setdefault(namespace, []).append((name, public, names, rules))
    return pages


def write_entry(name, public, names, rules, namespace):
    call, row = public.call, getattr(public.call, "op", None)
    lines = [f"### {name}", "```python", f"{TITLES[namespace]}.{name}{signature(call)}", "```",
             inspect.cleandoc(call.__doc__ or ""), ""]
    facts = []
    if len(names) > 1:
        facts.append("also " + ", ".join(f"`{n}`" for n in names[1:]))
    if public.method:
        facts.append(f"method `Tensor.{name}`")
    if public.inplace:
        facts.append(f"in place `{name}_`")
    if row is not None:
        if row.view:
            facts.append("a view")
        facts.append("types: " + (brief(PROMOTIONS[row.promotion]) if row.promotion else "any"))
        if not row.differentiable:
            facts.append("no gradient")
    lines += [f"*{'; '.join(facts)}*", ""] if facts else []
    if call.dims is not None or row is not None:
        lines += [f"[Index notation](../rooms/ops.md#index-notation): {notation(call.dims, row)}", ""]
    derivative = rules.get(row.name, {}) if row is not None else {}
    for argument, source in derivative.items():
        what = "all inputs" if argument == "joint" else f"`{argument}`"
        lines += [f"Gradient for {what}: `{source}`", ""]
    return lines


def notation(dims, row):
    """The column `dims` in words; that of a function for the defaults of the attributes that it takes."""
    if dims is None:
        return "none, for the result depends on values or on the place of an element"
    if callable(dims):
        names = " and ".join([f"`{name}`" for name in inspect.signature(dims).parameters])
        return f"`{column_of(dims, dict(row.attrs))}` for the default of {names}"
    return f"`{dims}`"


def brief(function):
    """A function's documentation, in one line, to stand within a sentence."""
    text = " ".join(inspect.cleandoc(function.__doc__).split()).rstrip(".")
    return text[0].lower() + text[1:]


def signature(call):
    try:
        return str(inspect.signature(call))
    except (TypeError, ValueError):
        return "(...)"


def pages():
    """File name -> text."""
    made, index = {}, ["# Reference", "", "Generated from the op table by `python docs/build_reference.py`.", ""]
    for namespace, found in sorted(entries().items()):
        file = (namespace or "minitorch").replace(".", "_") + ".md"
        lines = [f"# {TITLES[namespace]}", "", "Generated from the op table by `python docs/build_reference.py`: edit "
                 "the table in `minitorch/ops/`, not this page.", ""]
        for name, public, names, rules in found:
            lines += write_entry(name, public, names, rules, namespace)
        made[file] = "\n".join(lines).rstrip() + "\n"
        index.append(f"- [{TITLES[namespace]}]({file}): {len(found)} functions")
    extra = sorted(n for n in METHODS if not n.startswith("_") and ("", n) not in FUNCTIONS)
    index += ["", f"Methods of Tensor without a function: {', '.join(f'`{n}`' for n in extra)}.",
              "", f"{len(OPS)} rows in the op table."]
    made["README.md"] = "\n".join(index) + "\n"
    return made


def main():
    made, check = pages(), "--check" in sys.argv
    stale = [name for name, text in made.items() if not (OUT / name).exists() or (OUT / name).read_text() != text]
    if check:
        lines = [f"docs/reference/{name} is not what the table says" for name in stale]
        print("\n".join(lines) or "reference is current")
        return 1 if stale else 0
    OUT.mkdir(exist_ok=True)
    for name, text in made.items():
        (OUT / name).write_text(text)
    print(f"wrote {len(made)} pages to docs/reference, {minitorch.__version__}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
