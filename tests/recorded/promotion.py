"""Numbers where dtypes meet: what wraps around, what is rounded, what is cut off, and the dtype of the result.

`test_dtypes.py` holds the table of dtypes; here are the values.
"""

import math

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
WHOLE = {"bool": [0, 1], "uint8": [0, 1, 7, 128, 255], "int8": [-128, -7, 0, 3, 127],
         "int16": [-32768, -9, 0, 5, 32767], "int32": [-2**31, -11, 0, 13, 2**31 - 1],
         "int64": [-2**63, -17, 0, 19, 2**63 - 1]}
REAL = [-2.5, -0.3, 0.0, 0.1, 1.00390625, 3.14159265, 257.0, 1e5]
NUMBERS = [1, -1, 3, 128, -256, 300, True, 2.5, -0.3, 0.1, 1e-3]
OPERATIONS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "rsub": lambda a, b: b - a, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "rdiv": lambda a, b: b / a, "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b, "pow": lambda a, b: a**b, "rpow": lambda a, b: b**a,
    "lt": lambda a, b: a < b, "eq": lambda a, b: a == b, "ge": lambda a, b: a >= b,
    "and": lambda a, b: a & b, "xor": lambda a, b: a ^ b, "lshift": lambda a, b: a << b, "rshift": lambda a, b: a >> b,
}
METHODS = {
    "fmod": lambda T, a, b: T.fmod(a, b), "maximum": lambda T, a, b: T.maximum(a, T.as_tensor(b, dtype=a.dtype)),
    "where": lambda T, a, b: T.where(a > 0, a, b), "clamp": lambda T, a, b: a.clamp(max=b),
    "add alpha": lambda T, a, b: T.add(a, a, alpha=b), "masked_fill": lambda T, a, b: a.masked_fill(a > 0, b),
    "full_like": lambda T, a, b: T.full_like(a, b), "fill_": lambda T, a, b: a.clone().fill_(b),
    "add_": lambda T, a, b: a.clone().add_(b), "mul_": lambda T, a, b: a.clone().mul_(b),
    "setitem": lambda T, a, b: assigned(a, b), "hypot": lambda T, a, b: T.hypot(a, T.as_tensor(b, dtype=a.dtype)),
}
FITS = ("full_like", "fill_", "setitem", "maximum", "hypot", "masked_fill")    # of numbers that do not fit: not here
DIVIDES = ("floor_divide", "remainder", "fmod")


def assigned(a, b):
    a = a.clone()
    a[1] = b
    return a


def tensor(T, dtype):
    return T.tensor(WHOLE.get(dtype, REAL), dtype=T.float64 if dtype in FLOATS else T.int64).to(getattr(T, dtype))


def each(compute, *rows):
    """The results of calls, or the names of their errors, each beside its dtype."""
    out = []
    for args in zip(*rows):
        try:
            out.append(compute(*args))
        except (RuntimeError, TypeError, ValueError) as error:
            out.append("refused " + type(error).__name__)
    return out


def sensible(name, dtype, number):
    """Leaves out what C++ leaves open (shifts too far, casts out of range) and what `LENIENT` of test_dtypes names."""
    inside = dtype in FLOATS or -2**(bits(dtype) - 1) <= number < 2**(bits(dtype) - (dtype != "uint8"))
    inside = inside and (dtype != "uint8" or number >= 0)
    if name in ("lshift", "rshift"):
        return isinstance(number, int) and 0 <= number < min(8, bits(dtype) - 1) and dtype not in FLOATS
    if name in ("and", "xor"):
        return isinstance(number, int) and dtype not in FLOATS
    if name in ("pow", "rpow"):
        return number in (3, 2.5, 0.1) and dtype in FLOATS or number == 3 and name == "pow"
    if name in ("lt", "eq", "ge", "clamp") or name in FITS:
        return inside and (dtype in FLOATS or isinstance(number, int)) and number is not True
    if name == "sub" or name == "rsub":
        return number is not True
    if name == "add alpha":
        return number is not True and (dtype in FLOATS or isinstance(number, int))
    if name in ("add_", "mul_"):
        return dtype in FLOATS or isinstance(number, int)
    if name in DIVIDES and dtype in INTEGERS and isinstance(number, int):
        return inside and number != -1
    return name != "rdiv"


def bits(dtype):
    return {"uint8": 8, "int8": 8, "int16": 16, "int32": 32, "int64": 64}.get(dtype, 64)


def with_numbers(name, dtype):
    operation = OPERATIONS.get(name)

    def run(T):
        a = tensor(T, dtype)
        compute = (lambda n: operation(a, n)) if operation else (lambda n: METHODS[name](T, a, n))
        fitting = [n for n in NUMBERS if sensible(name, dtype, n)]
        return each(compute, fitting)
    return run


def with_tensors(name, first, second):
    """Two tensors of small numbers, of several dimensions and of none."""
    def run(T):
        a = T.tensor([1, 2, 3, 5, 100], dtype=T.int64).to(getattr(T, first))
        b = T.tensor([3, 1, 2, 7, 100], dtype=T.int64).to(getattr(T, second))
        return each(OPERATIONS[name], [a, a, a[3]], [b, b[3], b])
    return run


def casts(source):
    def run(T):
        safe = [x for x in REAL if abs(x) < 100] + [0.49, 0.5, 1.5, 2.5, 99.99, -0.9]
        a = T.tensor(safe, dtype=T.float64).abs() if source in FLOATS else tensor(T, source)
        a = a.to(getattr(T, source))
        return [a.to(getattr(T, target)) for target in (*INTEGERS, *FLOATS, "bool")
                if source in FLOATS or target not in ("float16",)]
    return run


def literals(T):
    """Tensors of Python numbers: rounded once, to the dtype that is asked for."""
    found = [T.tensor(x, dtype=getattr(T, d)) for d in FLOATS for x in (0.1, 1 / 3, 1.00390625, 65504.0, 3.3895e38, -7)
             if d != "float16" or abs(x) < 1e5]
    found += [T.tensor(x) for x in ([1, 2.5], [True, 2], [1, 2j], [], 3, True, [[1], [2.0]])]
    found += [T.full((2,), x) for x in (3, 3.0, True)]
    found += [T.arange(3), T.arange(3.0), T.arange(0, 1, 0.25), T.arange(5, 0, -2), T.linspace(0, 1, 5),
              T.logspace(0, 2, 3), T.zeros(2), T.eye(2)]
    return found


def bfloat16_rounds_to_even(T):
    values = [1 + k / 256 for k in range(9)] + [2.0**-133, 2.0**-134, 1e-40, 3.39e38, math.inf, -math.inf, math.nan]
    low = T.tensor(values, dtype=T.float32).to(T.bfloat16)
    return [low, low * 3, low + 0.01, T.tensor(values, dtype=T.float64).to(T.bfloat16), low.float().sum(),
            low[:9].sum(), low[:9].mean(), low[:9].cumsum(0), T.tensor([1.003, 1.004]).bfloat16() + 1.0]


def reductions(T):
    out = []
    for dtype in ("bool", *INTEGERS, *FLOATS):
        x = T.tensor([[1, 0, 3], [1, 5, 120]], dtype=T.int64).to(getattr(T, dtype))
        out += [x.sum(), x.sum(1), x.prod(), x.cumsum(0), x.any(), x.all(), x.sum(dtype=T.float32), x.sum(dtype=T.int8)]
        out += [x.float().mean(dtype=T.float64), T.mean(x, dtype=T.float32)]
        if dtype in FLOATS:
            out += [x.mean(), x.std(), x.var(0), x.norm(), x.logsumexp(0), x.softmax(0)]
        if dtype != "bool":
            out += [x.max(), x.argmax(), x.amin(0), x.cumprod(1), x.median()]
    return out


def in_place(T):
    """The dtypes that may be written into a tensor of each dtype."""
    def write(target, source):
        a = T.ones(2).to(getattr(T, target))
        return a.add_(T.ones(2).to(getattr(T, source)))
    pairs = [(a, b) for a in ("bool", "uint8", "int64", "float16", "float32") for b in ("bool", "int64", "float32")]
    return each(write, [a for a, _ in pairs], [b for _, b in pairs])


def joined(T):
    kinds = ["bool", "uint8", "int8", "int64", "bfloat16", "float16", "float32"]
    pairs = [(getattr(T, a), getattr(T, b)) for a in kinds for b in kinds]
    return [T.cat([T.ones(1, dtype=a), T.zeros(1, dtype=b)]) for a, b in pairs]


KINDS = ("bool", *INTEGERS, *FLOATS)
CASES = {f"{name} {dtype} number": with_numbers(name, dtype) for name in (*OPERATIONS, *METHODS) for dtype in
         ("uint8", "int8", "int64", "bfloat16", "float16", "float32")}
MIXED = [("bool", "uint8"), ("uint8", "int8"), ("int8", "int64"), ("int32", "int16"), ("uint8", "float16"),
         ("float16", "bfloat16"), ("bfloat16", "float32"), ("float32", "float64"), ("int64", "float32"),
         ("int8", "int8"), ("uint8", "uint8"), ("bfloat16", "bfloat16")]
CASES |= {f"{name} {a} {b}": with_tensors(name, a, b)
          for name in ("add", "sub", "mul", "div", "floor_divide", "remainder", "lt") for a, b in MIXED}
CASES |= {f"casts of {dtype}": casts(dtype) for dtype in KINDS}
CASES |= {f.__name__: f for f in (literals, bfloat16_rounds_to_even, reductions, in_place, joined)}
