"""Python's operators on tensors, each the call of an op; the ops are in `elementwise/` and `linalg/`."""

from ..core.generate import NUMBERS, deferred
from ..core.grad_mode import grad_mode
from ..core.inplace import inplace
from ..core.recording import recorded as R
from ..core.registry import OPS
from ..core.template import write_call
from ..core.tensor import Tensor


def operator(name):
    """The op's call as an operator: returns NotImplemented for foreign operands, so that Python asks these."""
    row = OPS[name]
    return deferred(name, f"<minitorch operator {name}>",
                    lambda: write_call(row, bare=False, failed="return unsupported({})"), {"op": row})


def reflected(call):
    def operator(self, other):
        return call(other, self)
    return operator


def divided(call):
    """``number / tensor``, by `rdiv` where a backward pass may need what that keeps."""
    def operator(self, other):
        if self.needs_grad and grad_mode.enabled and other.__class__ in NUMBERS:
            return R.rdiv(self, other)
        return call(other, self)
    return operator



BINARY = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "mod": "remainder",
          "pow": "pow", "matmul": "matmul", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
          "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift"}
COMMUTES = ("add", "mul", "and", "or", "xor")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY = {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}


def bind():
    """Set the operators; called once, when all op definitions are there."""
    for name, op_name in BINARY.items():
        call = operator(op_name)
        setattr(Tensor, f"__{name}__", call)
        reflect = divided if name == "truediv" else reflected
        setattr(Tensor, f"__r{name}__", call if name in COMMUTES else reflect(call))
        if name != "matmul":
            setattr(Tensor, f"__i{name}__", inplace(op_name, getattr(R, op_name), OPS[op_name]))
    for name in COMPARISONS:
        setattr(Tensor, f"__{name}__", operator(name))
    Tensor.__idiv__ = Tensor.__itruediv__                  # Python 2's, still PyTorch's
    Tensor.__rdiv__ = lambda self, other: R.mul(R.reciprocal(self), other)
    for name, op_name in UNARY.items():
        setattr(Tensor, f"__{name}__", getattr(R, op_name))
    Tensor.__pos__ = lambda self: self.positive()
