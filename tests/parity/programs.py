"""Random programs of several calls, run by PyTorch and by minitorch, compared after every line.

    python -m tests.parity.programs --programs 5000 --seed 1

A program is text: lines about tensors ``t0, t1, ...`` in which ``torch`` is either library. Each line is drawn, run by
PyTorch, and kept if it works (and sometimes if it does not: then both must raise). Databases of single calls cannot
see what calls do to each other: a view that is written to, a value that was kept, a dtype that wandered off.
A program that differs is shortened line by line before it is shown.
"""

import argparse
import re
import warnings

import numpy as np
import pytest

from tests.parity.compared import TOLERANCE, compare, kind, run_line, scope_of, shortened, values
from tests.parity.drawn import draw

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")


def is_rounding(lines, last):
    """True if PyTorch's own numbers are off: the program in float64, or from inputs that differ in
    their last digit, gives others.
    """
    return any([comes_out_differently(lines, last, change) for change in (in_float64, from_close_inputs)])


def in_float64(line):
    line = re.sub(r"(\.to\(torch\.\w+\)|\.(float|half|bfloat16)\(\))", r"\1.double()", line)
    line = re.sub(r"torch.randn\((\(.*?\))\)", r"torch.randn(\1).double()", line)
    line = re.sub(r"^(m\d+) = (nn.*)$", r"\1 = (\2).double()", line)
    return re.sub(r"with torch.autocast[^:]*: ", "", line)


def from_close_inputs(line):
    line = re.sub(r"torch.randn\((\(.*?\))\)", r"nudged(torch.randn(\1))", line)
    name = re.match(r"m\d+(?= = nn)", line)
    return line if name is None else (
        f"{line}\nfor p in {name[0]}.parameters(): p.data = nudged(p.data)")


def nudged(x):
    return x + 1e-6 * torch.linspace(-1, 1, x.numel()).view_as(x)


def comes_out_differently(lines, last, change):
    """True if PyTorch computes other numbers, beyond float32's tolerance, if each line is changed
    so."""
    given, changed = scope_of(torch), {**scope_of(torch), "nudged": nudged}
    for scope, alter in ((given, str), (changed, change)):
        try:
            for line in lines[:lines.index(last) + 1]:
                run_line(alter(line), scope)
        except Exception:
            return False
    for name in [k for k in given if k[0] == "t" and k[1:].isdigit()]:
        pairs = [(given[name], changed[name])]
        if given[name] is not None and given[name].is_leaf:
            pairs.append((given[name].grad, changed[name].grad))
        if any([are_apart(a, b) for a, b in pairs]):
            return True
    return False


def are_apart(a, b):
    if a is None or b is None or a.shape != b.shape:
        return False
    x, y = values(a), values(b)
    limit = TOLERANCE["float32"] * np.abs(y[np.isfinite(y)]).max(initial=0.0)
    return not np.isclose(x, y, 0, limit, equal_nan=True).all()


def is_unseen(lines, last):
    """True if PyTorch refuses the program too if its writes through ``.data`` are ones it
    counts."""
    scope = scope_of(torch)
    try:
        for line in lines[:lines.index(last) + 1]:
            run_line(re.sub(r"\.data\b(?! =)", ".detach()", line), scope)
    except RuntimeError as error:
        return "modified by an inplace operation" in str(error)
    return False


def lie_differently(lines, last):
    """True if tensors in the last line lie in different orders in memory, or in one that sizes of 1
    leave open."""
    scope = scope_of(torch)
    for line in lines[:lines.index(last)]:
        run_line(line, scope)
    tensors = [scope[name] for name in re.findall(r"\bt\d+\b", last.partition("=")[2]) if name in scope]
    orders = [sorted(range(t.ndim), key=lambda d: -t.stride(d)) for t in tensors if t.ndim > 1]
    return len(set(map(tuple, orders))) > 1 or any(t.ndim == 4 and 1 in t.shape for t in tensors)


def is_of_integers(lines, last):
    """True if PyTorch says of a tensor of integers or bools that it requires gradients."""
    scope = scope_of(torch)
    for line in lines[:lines.index(last) + 1]:
        run_line(line, scope)
    return any(torch.is_tensor(t) and t.requires_grad and not t.is_floating_point() and not t.is_complex()
               for t in scope.values())


def has_equals(lines, last):
    """True if a tensor has equal elements, so that it is open which of them is the first in
    order."""
    scope = scope_of(torch)
    for line in lines[:lines.index(last)]:
        run_line(line, scope)
    return any(torch.is_tensor(t) and t.dtype != torch.bool and t.unique().numel() < t.numel() for t in scope.values())


def is_meant(lines, line, words):
    if "values are" in words and is_rounding(lines, line):
        return True
    program = "\n".join(lines)
    return any(re.search(a, program) and re.search(b, line) and re.search(c, words)
               and (not also or also[0](lines, line)) for a, b, c, _, *also in MEANT)


# Differences that are meant: what the program, its last line and the difference contain (regular expressions), why, and
# a question that must be answered yes.
MEANT: list = [
    ("", "",
     r"^PyTorch raises RuntimeError: Output \d+ of \w+ is a view (of a view which was created in no_grad mode )?and "
     "(is being modified inplace. This view is the output of a function that returns multiple|"
     "(its base or another view of its base has been|is being) modified)",
     "views are kept up to date by their bases here, however they were made, those of unbind, split and chunk too"),
    ("", "", r"^PyTorch raises RuntimeError: derivative for aten::floor_divide_? is not implemented", "it is zero"),
    ("", r"%|remainder|backward", "^PyTorch raises RuntimeError: derivative for aten::remainder is not implemented",
     "that of a number's remainder is the divisor's, too"),
    ("", "clip_grad_value_", "^PyTorch raises RuntimeError: Expected !nested_tensorlist",
     "no gradients, nothing to clip"),
    ("", "", "requires_grad is True, got False", "integers require no gradients", is_of_integers),
    ("", "backward|grad",
     r"^PyTorch raises RuntimeError: one of the variables needed for gradient computation has been "
     "modified", "less is kept here, so that fewer writes overwrite a value that is needed"),
    (r"\.data\b", "backward|grad",
     r"^minitorch raises RuntimeError: one of the variables needed for gradient",
     "writes through .data count: PyTorch would go on with wrong gradients", is_unseen),
    ("", "backward|grad", r"^minitorch raises RuntimeError: one of the variables .* saved by "
     "(group_no|layer_no|instance_no|linear|matmul|einsum|rnn)",
     "PyTorch keeps a contiguous copy of an input that is not contiguous"),
    (r"\.data\b", "backward|grad", "values are",
     "where PyTorch keeps the input, which was written to unseen, something else may be kept here", is_unseen),
    (r"detach_\(", "backward|grad", "^PyTorch raises RuntimeError: Trying to use a saved tensor that has been detached",
     "gradients flow as they did when the call was recorded"),
    (r"hardtanh|relu6|shrink|elu\(", "backward|grad", r"values are[\s\S]*nan",
     "piecewise functions pass nothing at NaN; PyTorch's own answer depends on the place in the tensor"),
    ("", r"mode\(|median\(|kthvalue\(", r"^t\d+: values are \[.*nan",
     "the order of NaN is as PyTorch happens to sort it"),
    ("", "smooth_l1_loss|huber_loss|mse_loss", "^minitorch raises ValueError: .* would", "a mistake, nearly always"),
    ("", r"\[", "^minitorch raises IndexError: index .* out of bounds", "refused in selections of no elements too"),
    ("", "", "^PyTorch raises RuntimeError: topk does not support bool", "bools are sorted like any dtype"),
    ("", "", r"^minitorch raises RuntimeError: result type int64 can't be cast to the desired output type bool \(cum",
     "a running sum of bools is an integer"),
    ("", "", "^minitorch raises NotImplementedError: .* not implemented for 'Bool'", "converted on purpose, if at all"),
    ("", "", "^minitorch raises RuntimeError: unsupported operation: more than one element of the written-to",
     "expanded tensors are not written to; PyTorch calls it deprecated, or writes several values to one place"),
    ("", "",
     "^PyTorch raises RuntimeError: unsupported operation: some elements of the input tensor and the written-to",
     "a tensor may be written to its own elements, and all of it is read before an index is written"),
    ("unfold|as_strided", r"_\(|\] .?= ", r"^t\d+: values",
     "what windows share is computed once, or read before it is written"),
    ("(transpose|permute).*requires_grad_", "backward", r"^t\d+.grad(: values| is None, got there)",
     "PyTorch loses the gradient of a leaf that is a view, once a detached twin was written to"),
    ("", r"^with torch.no_grad\(\)", "requires_grad is True, got False",
     "a view made in no_grad requires no grad here"),
    ("", "", "^PyTorch raises NotImplementedError: .*cumsum_out_cpu", "a running sum of bools is an integer"),
    ("", r"detach_\(", "^minitorch raises RuntimeError: Can't detach views",
     "what a function made of others returns may "
     "be a view of its own intermediate"),
    ("interpolate|conv", "autograd.grad", "requires_grad is", "which gradients that are linear require gradients"),
    ("", "autocast", "^PyTorch raises RuntimeError: Unexpected floating ScalarType",
     "float16 within autocast to bfloat16"),
    ("", "cdist", "^PyTorch raises NotImplementedError", "16-bit floats have distances here"),
    ("", "saved_tensors_hooks", "^PyTorch raises RuntimeError: torch.func", "transforms work within hooks"),
    ("", r"detach_\(", "^PyTorch raises RuntimeError: Can't detach views", "what is a view of an intermediate there"),
    ("", "", "^minitorch raises NotImplementedError: (normal|uniform)_", "refused without elements, too"),
    ("", "", r"^PyTorch raises RuntimeError: Subtraction, the `-` operator, with a bool",
     "a bool exponent has a gradient"),
    (r"dist\(|norm\(|F.normalize", "backward|grad", r"values are \[.*nan",
     "the second derivative of norms at 0 is 0 here"),
    (r"register_hook[\s\S]*(_\(|\] .?= )", "backward|grad", r"grad: values",
     "a hook on a view sees its gradient from before a write in place"),
    (r"\.mT", "_\\(", r"shape is", "mT of a number is another tensor here"),
    ("", r"\.mT", "leaf is", "the same"),
    ("(float16|half)[\\s\\S]*j", "", "ComplexHalf|is complex32, got complex64|is float16, got float32",
     "there are no complex numbers of 16 bits: those of 32 take their place"),
    (r"var\(correction=", "backward|grad", r"values are \[.*inf", "a variance of too few has a slope of either sign"),
    ("hessian", "backward|grad", r"values are \[.*nan", "of a NaN the third derivative of a cube is 6"),
    ("topk|sort|median|mode|max|min|kthvalue", "backward|grad", r"grad: values are",
     "of equal elements another is taken", has_equals),
    ("fft", "as_strided", "values are", "results of Fourier transforms are contiguous"),
    ("", r"einsum|tensordot", r"dtype is float(16|32), got",
     "a sum over dimensions of size 1 is a product in autocast too"),
    ("", "", r"^t\d+: contiguous is",
     "where operands lie in different orders, or sizes of 1 leave it open, the result is contiguous, or "
     "lies as one of them", lie_differently),
    ("", "(local_response|rms)_norm|normalize|cosine_similarity|backward|grad", r": contiguous is",
     "the same of what is computed on the way"),
    ("", r"\[.*torch\.tensor|\[\[", r": contiguous is", "elements that are picked out are contiguous"),
    (r"(float16|half)[\s\S]*expand", "", r": contiguous is", "16-bit floats that are repeated are made contiguous"),
    ("", "linalg|cholesky", ": contiguous is", "factorisations lie in memory row by row"),
    ("", "fft", ": contiguous is", "results of Fourier transforms are contiguous"),
    ("", "stack|adaptive_[a-z]*_pool1d", ": contiguous is",
     "of images with the channels last the results are contiguous"),
    ("", "einsum", ": contiguous is", "the result of a chain lies as its last product"),
    ("", r"= [\d.]+ \*\* ", ": contiguous is", "a power lies in memory as its exponent, whatever the base is"),
    ("", "autocast.*pinv", "dtype is bfloat16, got float32", "one op, of float32"),
    ("", "as_strided", "^minitorch raises RuntimeError: setStorage", "PyTorch's memory of a sum may be longer"),
    ("", "fill_diagonal_", "^PyTorch raises RuntimeError: a view of a leaf", "no elements, nothing to write"),
    ("True /", "backward", "^minitorch raises .* saved by div", "a quotient of a bool keeps the divisor"),
    ("", r"out=.*detach\(\)\)", "values are", "an `out` of another size is given memory of its own"),
    ("", "jacrev", "requires_grad is True, got False", "nothing to differentiate"),
    ("", "", "^PyTorch raises (NotImplementedError|RuntimeError): .*(for|type:) '?(Half|BFloat16)",
     "floats of 16 bits are computed in float32"),
    (r"(norm|dist)\(.*\b0[,)]", "backward|grad", "Expected a proper Tensor but got None|is None, got there",
     "the norm of order 0 has a gradient, zeros"),
    (r"\[:0\]|narrow|select", "", "^minitorch raises .*(not implemented for 'Long'|Low precision dtypes)",
     "refused without elements, too"),
    ("include_self=False", "backward", "grad: values are", "what is left out has no part of it, equal or not"),
    (r"cat[\s\S]*memory_format", r"_\(", r"^t\d+: values", "sizes of 1: a copy there, the tensor itself here"),
    ("", "unique", "shape is", "rounding makes equal what differs in its last digit"),
    ("float16|half", "state_dict", "values are", "optimizers compute in float32 for parameters of 16 bits"),
    ("", "memory_format", "leaf is True, got False", "an image of one channel is brought to channels_last by a copy",
     lie_differently),
    (r"(BatchNorm|weight_norm)[\s\S]*optim\.(Ada|NAdam|RAdam|Rprop|RMSprop)", "state_dict",
     r"values are (?![\s\S]*nan)",
     "a gradient in front of a norm is zero but for its rounding, which these optimizers divide by its own size"),
    ("logcumsumexp", "backward|grad|atan2|logcum", "values are",
     "the gradient passes NaN on, and the first element is itself, be it -0"),
    ("", "conv", r"shape is \(\d+, 0", "no channels give PyTorch a result of no channels"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=20)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    shown, differences, meant = {}, 0, 0
    for i in range(options.programs):
        lines = draw(options.seed * 1_000_000 + i)
        found = compare(lines)
        if found is None:
            continue
        lines, found = shortened(lines)
        if is_meant(lines, *found):
            meant += 1
            continue
        differences += 1
        key = kind(found)
        if shown.setdefault(key, 0) < 3 and sum(shown.values()) < options.show:
            print(f"--- program {i}: {found[1]}\n    " + "\n    ".join(lines), flush=True)
        shown[key] += 1
    print(f"{options.programs} programs, {differences} differ, {meant} differ as they are meant to: {shown}")


if __name__ == "__main__":
    main()
