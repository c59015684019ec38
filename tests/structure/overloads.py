"""Calls of all overloads of PyTorch's functions, made from their schemas, and their answers there.

    python -m tests.structure.overloads          # with PyTorch: rewrites tests/data/overloads.txt

For each overload that a public function or method has, one call with the required arguments alone,
and one with all defaults given by name. Values follow from the types of parameters: the first that
PyTorch takes are recorded with its answer, one line a call.
"""

import importlib
import itertools
import warnings

from tests import DATA

FILE = DATA / "overloads.txt"
# Names of arguments in calls, and what they stand for.
VALUES = {
    "A": "tensor([[1.0, 2.0], [3.0, 5.0]])", "D": "tensor([[0.5, 4.0], [2.0, 1.0]])",
    "E": "tensor([[2.0, 0.25], [1.0, 3.0]])", "V": "tensor([0.25, 0.5])", "I": "tensor([1, 0])",
    "B": "tensor([True, False])", "J": "tensor([[1, 0], [1, 1]])", "C": "ones(1, 2, 4, 4)",
    "Z": "tensor([1 + 2j, 0j])", "S": "tensor(2.0)",
}
TENSORS = ("A", "D", "E", "V", "I", "J", "C", "B", "Z", "S")
SAMPLES = {
    "Tensor": TENSORS, "Tensor[]": ("[A, A]", "[V, V]", "[I, I]", "[J, J]"),
    "number": ("2", "0.5"), "number[]": ("[2.0, 2.0]",),
    "int": ("1", "0", "2"), "int[]": ("[1]", "[0, 1]", "[2, 2]", "[1, 1]"),
    "SymInt": ("1", "0", "2"), "SymInt[]": ("[1]", "[0, 1]", "[2, 2]"),
    "float": ("0.5", "2.0"), "float[]": ("[0.5, 2.0]",),
    "bool": ("False", "True"), "str": ("'fro'", "'sum'", "'none'"),
}
# Answers that differ from call to call, hardware, or what PyTorch keeps for its own use.
LEFT_OUT = (
    "rand", "dropout", "binomial", "multinomial", "bernoulli", "normal", "poisson", "exponential",
    "cauchy", "geometric", "rrelu", "cudnn", "miopen", "mkldnn", "quantize", "fbgemm", "sparse", "mps",
    "cuda", "backward", "empty", "resize", "fractional", "uniform", "named", "names", "qparams",
    "_copy", "record_stream", "set_", "from_file", "q_", "int_repr", "dequantize", "fake_quant",
    "pinned", "pin_memory", "segment", "storage", "numpy_T", "Generator", "seed", "native_",
    "batch_norm_", "embedding_renorm", "data", "new_")


def places(torch, name):
    """The public functions of an operator: (text before the brackets, True if it is a method)."""
    for prefix, module in (("linalg_", "linalg"), ("special_", "special"), ("fft_", "fft")):
        if name.startswith(prefix) and hasattr(getattr(torch, module), name.removeprefix(prefix)):
            yield f"torch.{module}.{name.removeprefix(prefix)}", False
    if hasattr(torch, name):
        yield f"torch.{name}", False
    elif hasattr(torch.nn.functional, name):
        yield f"torch.nn.functional.{name}", False
    if hasattr(torch.Tensor, name):
        yield name, True


def schemas(torch):
    """The schemas of operators that have a public function."""
    for schema in sorted(torch._C._jit_get_all_schemas(), key=str):
        kind, _, name = schema.name.partition("::")
        if kind != "aten" or name.startswith("_") and not name.startswith("_foreach_"):
            continue
        if any(part in name for part in LEFT_OUT) or any(x.is_out for x in schema.arguments):
            continue
        yield name, schema


def spelled(value):
    return None if isinstance(value, (list, tuple)) and not all(
        isinstance(x, (int, float, bool)) for x in value) else repr(value)


def calls_of(place, is_method, schema):
    """Lists of texts of calls: the first of each that PyTorch takes is recorded."""
    required = [x for x in schema.arguments if not x.has_default_value()]
    optional = [x for x in schema.arguments if x.has_default_value()]
    samples, tensors = [], 0
    for x in required:
        kind = str(x.type).replace("Optional[", "").replace("List[", "").rstrip("]")
        kind += "[]" * str(x.type).count("List[")
        found = SAMPLES.get(kind, ())
        if kind == "Tensor":               # others in each place, as long as they fit
            found, tensors = (*found[tensors % 3:], *found[:tensors % 3]), tensors + 1
        samples.append(found)
    named = [f"{x.name}={spelled(x.default_value)}" for x in optional if spelled(x.default_value)
             and x.name not in ("dtype", "layout", "device", "pin_memory", "generator", "names")]
    both = named and ".functional." not in place           # which spells its own defaults
    for extra in ([], named) if both else ([],):
        found = []
        for row in itertools.islice(itertools.product(*samples), 800):
            given = [f"{x.name}={v}" if x.kwarg_only else v for x, v in zip(required, row)]
            if is_method and (not given or given[0] not in TENSORS):
                continue
            if is_method:
                found.append(f"{given[0]}.{place}({', '.join(given[1:] + extra)})")
            else:
                found.append(f"{place}({', '.join(given + extra)})")
        yield found


def evaluated(torch, text):
    """The answer to a call, or its error, as a text."""
    values = {name: eval(f"torch.{value}", {"torch": torch}) for name, value in VALUES.items()
              if name in text}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return shown(torch, eval(text, {"torch": torch, **values}))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def has(library, place, is_method):
    """True if a library has the function; `tests/structure/test_names.py` is about names."""
    found = library.Tensor if is_method else library
    for part in place.removeprefix("torch.").split("."):
        found = getattr(found, part, None)
    return found is not None


def shown(torch, x):
    """A result as a short text; floats have four digits."""
    if isinstance(x, torch.Tensor):
        text = str(x.dtype).rpartition(".")[2]
        return f"{text}{rounded(x.tolist())}" if x.numel() <= 16 else f"{text}{list(x.shape)}"
    if isinstance(x, (tuple, list)):
        return "(" + ", ".join([shown(torch, y) for y in x]) + ")"
    return f"{rounded(x)}".replace("minitorch.", "torch.")


def rounded(x):
    if isinstance(x, list):
        return "[" + ",".join([rounded(y) for y in x]) + "]"
    if isinstance(x, complex):
        return f"{rounded(x.real)}+{rounded(x.imag)}i"
    if isinstance(x, float) and abs(x) < 1e-6:             # rounding
        return "0"
    return f"{x:.4g}" if isinstance(x, float) else str(x)


def record():
    torch, ours = importlib.import_module("torch"), importlib.import_module("minitorch")
    lines = {}
    for name, schema in schemas(torch):
        for place, is_method in places(torch, name):
            if not has(ours, place, is_method):
                continue
            for candidates in calls_of(place, is_method, schema):
                for text in candidates:
                    answer = evaluated(torch, text)
                    if ":" not in answer and " at 0x" not in answer:
                        lines.setdefault(text, answer)
                        break
    FILE.write_text("".join([f"{text}\t{answer}\n" for text, answer in sorted(lines.items())]))
    return len(lines)


if __name__ == "__main__":
    print(record(), "calls")
