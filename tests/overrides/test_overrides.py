"""``__torch_function__``: subclasses of Tensor, other classes, modes; and what they cost those who have none."""

import copy
import inspect
import os
import subprocess
import sys
import threading
import warnings

import pytest

import minitorch as torch
from minitorch import nn, overrides
from minitorch.overrides import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    handle_torch_function,
    has_torch_function,
)

F = nn.functional
HANDLED = {}


def implements(function):
    def enter(ours):
        HANDLED[function] = ours
        return ours
    return enter


class Diagonal:
    """A diagonal matrix of one value: no tensor, but it answers calls."""

    def __init__(self, n, value):
        self.n, self.value = n, value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in HANDLED or not all(issubclass(t, (torch.Tensor, Diagonal)) for t in types):
            return NotImplemented
        return HANDLED[func](*args, **(kwargs or {}))

    def tensor(self):
        return self.value * torch.eye(self.n)


@implements(torch.mean)
def mean(matrix):
    return matrix.value / matrix.n


@implements(torch.mm)
@implements(torch.matmul)
def product(a, b, out=None):
    if isinstance(a, Diagonal) and isinstance(b, Diagonal):
        return Diagonal(a.n, a.value * b.value)
    return torch.mm(*[x.tensor() if isinstance(x, Diagonal) else x for x in (a, b)])


@implements(torch.Tensor.add)
@implements(torch.add)
def total(a, b, *, alpha=1):
    return ("sum", alpha)


@implements(F.softmax)
def softmax(input, dim=None, **others):                    # F passes all that may be given by name
    return ("softmax", dim)


@implements(torch.stack)
def stack(pieces, dim=0):
    return ("stack", len(pieces), dim)


def test_other_classes_answer_calls():
    d, x = Diagonal(3, 2), torch.ones(3, 3)
    assert torch.mean(d) == 2 / 3 and torch.mm(d, d).value == 4 and torch.mm(x, d).tolist() == [[2] * 3] * 3
    assert torch.add(x, d, alpha=5) == ("sum", 5) and x + d == ("sum", 1) and x.add(d) == ("sum", 1)
    assert F.softmax(d, dim=1) == ("softmax", 1) and torch.stack([x, d], dim=2) == ("stack", 2, 2)


def test_a_call_that_nobody_answers_raises():
    with pytest.raises(TypeError, match="no implementation found for .*mul.*Diagonal"):
        torch.mul(Diagonal(2, 1), 3)
    with pytest.raises(TypeError, match="unsupported operand"):
        torch.ones(2) * Diagonal(2, 1)
    with pytest.raises(TypeError, match="no implementation found"):
        F.relu(Diagonal(2, 1))


def test_the_first_foreign_class_needs_no_import():
    program = """if 1:
        import minitorch as torch
        class Scalar:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func is torch.mean, len(args), kwargs or {}
        print(torch.mean(Scalar()), torch.mean(Scalar(), dim=0), torch.ones(2) + Scalar())
        """
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.split("(")[1:] == ["True, 1, {}) ", "True, 1, {'dim': 0}) ", "False, 2, {})\n"]


FIRST_CALLS = """
torch.exp(x) | torch.softmax(x, 0) | torch.add(one, x, alpha=2) | one + x | one.add(x) | F.linear(x, x)
torch.stack([x]) | torch.cat((x, one)) | torch.where(x, 1, 2) | torch.tensordot(x, x) | one.expand_as(x)
torch.chunk(x, 2) | torch.flatten(x) | torch.broadcast_tensors(x, x) | F.dropout(x, 0.5)
F.bilinear(x, x, x) | F.cross_entropy(x, x, reduction="sum") | torch.is_tensor(x)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each first call has a process of its own")
def test_the_first_call_is_answered_like_the_second():
    """Ops, composites, those with ``out=``, and methods; what is given by name may come by place."""
    program = """if 1:
        import os, sys
        import minitorch as torch
        from minitorch.nn import functional as F
        class Other:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__, [*args, *(kwargs or {}).values()]
        x, one = Other(), torch.ones(1)
        for call in sys.argv[1:]:
            if not os.fork():
                first, second = eval(call), eval(call)
                print(first == second, call, first, second, flush=True)
                os._exit(0)
            os.wait()
        """
    calls = [call.strip() for call in FIRST_CALLS.strip().replace("\n", "|").split("|")]
    out = subprocess.run([sys.executable, "-c", program, *calls], capture_output=True, text=True, check=True)
    lines = out.stdout.splitlines()
    assert len(lines) == len(calls) and [x for x in lines if not x.startswith("True")] == [], out.stderr


def test_nothing_is_exchanged_before_it_is_needed():
    program = """if 1:
        import minitorch as torch
        from minitorch import nn
        from minitorch.autograd import dispatch
        class Weight(nn.Parameter):
            pass
        before = torch.add.__code__
        w = Weight(torch.ones(2))
        assert type(w * 2) is torch.Tensor and torch.add.__code__ is before and not dispatch.active
        class Sub(torch.Tensor):
            pass
        assert dispatch.active and torch.add.__code__ is not before
        assert type(torch.ones(2).as_subclass(Sub) + 1) is Sub and type(torch.ones(2) + 1) is torch.Tensor
        """
    subprocess.run([sys.executable, "-c", program], check=True)


# ---- subclasses ----------------------------------------------------------------------------------------------
class Sub(torch.Tensor):
    pass


class SubSub(Sub):
    pass


class Logged(torch.Tensor):
    log: list = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        Logged.log.append(func)
        return super().__torch_function__(func, types, args, kwargs)


def sub(*shape, cls=Sub):
    return torch.ones(*shape).as_subclass(cls)


RESULTS = {
    "operators": lambda x: [x + 1, 1 + x, x - 1, 1 - x, x * x, x / 2, 2 / x, x // 2, x ** 2, 2 ** x, x @ x, -x, abs(x),
                            x == 1, x < 1, x % 2, ~(x > 0)],
    "methods": lambda x: [x.add(1), x.sum(), x.view(4), x.reshape(4), x.t(), x.clone(), x.detach(), x.double(), x[0],
                          x[0, 1], x[x > 0], x.expand(2, 2, 2), x.permute(1, 0), x.exp(), x.softmax(0), x.new_zeros(2)],
    "functions": lambda x: [torch.add(x, 1), torch.sum(x), F.relu(x), F.softmax(x, 0), F.layer_norm(x, (2,)),
                            torch.zeros_like(x), torch.stack([x, torch.ones(2, 2)]), torch.cat([torch.ones(2, 2), x]),
                            torch.where(torch.ones(2, 2) > 0, torch.ones(2, 2), x), torch.einsum("ij,jk", x, x)],
    "several": lambda x: [*x.max(0), *x.sort(), *x.split(1), *x.unbind(), *torch.broadcast_tensors(x, torch.ones(2, 2)),
                          *list(x), *torch.topk(x, 1)],
    "on the right": lambda x: [torch.ones(2, 2) + x, torch.ones(2, 2).mul(x), torch.ones(2, 2) @ x],
    "properties": lambda x: [x.T, x.mT, x.data, x.H],
    "layers": lambda x: [nn.Linear(2, 2)(x), nn.ReLU()(x)],
    "in place": lambda x: [x.add_(1), x.mul_(2), x.zero_(), x.fill_(3), x.copy_(torch.ones(2, 2))],
}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("cls", [Sub, SubSub, Logged])
def test_results_are_of_the_subclass(name, cls):
    assert [type(y) for y in RESULTS[name](sub(2, 2, cls=cls))] == [cls] * len(RESULTS[name](torch.ones(2, 2)))
    for got, want in zip(RESULTS[name](sub(2, 2, cls=cls)), RESULTS[name](torch.ones(2, 2))):
        if name != "layers":
            assert got.tolist() == want.tolist()


def test_the_subclass_comes_before_its_base_and_strangers_do_not_mix():
    assert type(sub(2) + sub(2, cls=SubSub)) is SubSub and type(torch.add(sub(2, cls=SubSub), sub(2))) is SubSub
    with pytest.raises(TypeError):
        sub(2) + sub(2, cls=Logged)
    assert not isinstance(sub(2).sum().item(), torch.Tensor) and sub(2).tolist() == [1, 1] and bool(sub(1))
    assert type(sub(2).shape) is torch.Size and repr(sub(2)) == "Sub([1., 1.])"


CALLED = {
    "add": [lambda x: x + 1, lambda x: 1 + x, lambda x: x.add(1)], "mul": [lambda x: x * 2], "sub": [lambda x: x - 1],
    "div": [lambda x: x / 2], "matmul": [lambda x: x @ x], "neg": [lambda x: -x], "abs": [abs],
    "pow": [lambda x: x ** 2],
    "add_": [lambda x: x.add_(1), lambda x: x.__iadd__(1)], "__rsub__": [lambda x: 1 - x], "__eq__": [lambda x: x == 1],
    "lt": [lambda x: x < 1], "__getitem__": [lambda x: x[0]], "reshape": [lambda x: x.reshape(4)],
    "__len__": [len], "item": [lambda x: x[0, 0].item()], "to": [lambda x: x.to(torch.float64)],
    "size": [lambda x: x.size()],
}


@pytest.mark.parametrize("name", CALLED)
def test_overrides_are_told_the_method_that_was_called(name):
    for call in CALLED[name]:
        Logged.log.clear()
        call(sub(2, 2, cls=Logged))
        assert Logged.log[-1] is getattr(torch.Tensor, name) and Logged.log[-1].__name__ == name


def test_properties_are_calls_of_their_getters():
    x = sub(2, 2, cls=Logged)
    for name in ("shape", "dtype", "T", "requires_grad", "grad", "is_leaf", "data"):
        Logged.log.clear()
        getattr(x, name)
        assert Logged.log == [getattr(torch.Tensor, name).__get__]
    x.grad = torch.ones(2, 2)
    assert Logged.log[-1] == torch.Tensor.grad.__set__ and type(x.grad) is torch.Tensor


def test_gradients_flow_through_subclasses():
    x = torch.ones(2, requires_grad=True)
    y = x.as_subclass(Sub)
    (y * 3).sum().backward()
    assert x.grad.tolist() == [3, 3] and type(x.grad) is torch.Tensor and y.data_ptr() == x.data_ptr()
    leaf = sub(2).requires_grad_()
    (leaf * leaf).sum().backward()
    assert leaf.grad.tolist() == [2, 2] and type(leaf.grad) is torch.Tensor
    g, = torch.autograd.grad((leaf ** 3).sum(), leaf, create_graph=True)
    assert torch.autograd.grad(g.sum(), leaf)[0].tolist() == [6, 6]
    Logged.log.clear()
    logged = sub(2, cls=Logged).requires_grad_()
    out = (logged * logged).sum()
    Logged.log.clear()
    torch.Tensor.backward(out, create_graph=True)
    assert Logged.log == [torch.Tensor.backward]           # its formulas are not seen
    base = torch.zeros(3)
    base.as_subclass(Sub).add_(1)
    assert base.tolist() == [1, 1, 1]


def test_subclasses_are_made_as_in_pytorch():
    class Named(torch.Tensor):
        @staticmethod
        def __new__(cls, data, name, *args, **kwargs):
            return super().__new__(cls, data, *args, **kwargs)

        def __init__(self, data, name):
            self.name = name

    class Made(torch.Tensor):
        @staticmethod
        def __new__(cls, data):
            return torch.Tensor._make_subclass(cls, data, True)
    x = Named([1.0, 2.0], "x")
    assert type(x) is Named and x.name == "x" and type(x + 1) is Named and not hasattr(x + 1, "name")
    made = Made(torch.ones(2))
    assert type(made) is Made and made.requires_grad and made.is_leaf and type(made * 2) is Made
    assert type(Sub([1, 2])) is Sub and Sub(2, 3).shape == (2, 3) and type(copy.deepcopy(sub(2))) is Sub
    with pytest.raises(TypeError, match="does not inherit from Tensor"):
        torch.ones(2).as_subclass(int)
    with pytest.raises(RuntimeError, match="__torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Sub, (2,))


def test_parameters_and_disabled_classes_give_plain_tensors():
    class Weight(nn.Parameter):
        pass

    class Quiet(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl
    assert type(Weight(torch.ones(2)) * 2) is torch.Tensor and type(sub(2, cls=Quiet) + 1) is torch.Tensor
    assert type(nn.Linear(2, 2).weight @ torch.ones(2)) is torch.Tensor
    weight = Weight(torch.ones(2))
    module = nn.Module()
    module.w = weight
    assert list(module.parameters())[0] is weight
    assert type(sub(2) * weight) is Sub


# ---- modes -----------------------------------------------------------------------------------------------------
class Seen(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


def test_modes_see_all_calls_also_those_that_make_tensors():
    with Seen() as seen:
        x = torch.ones(2)
        y = torch.tensor([1.0]) + x
        F.gelu(y)
        assert y.shape
        y.sum()
    assert seen.names == ["ones", "tensor", "add", "gelu", "__get__", "sum"]
    torch.ones(2) + 1
    assert len(seen.names) == 6


def test_modes_nest_and_replace_calls():
    class Double(BaseTorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is torch.ones:
                return 2 * super().__torch_function__(func, types, args, kwargs)
            return super().__torch_function__(func, types, args, kwargs)
    with Double():
        assert torch.ones(2).tolist() == [2, 2]
        with Double():
            assert torch.ones(2).tolist() == [4, 4]
    assert torch.ones(2).tolist() == [1, 1] and overrides._get_current_function_mode() is None
    with pytest.raises(ZeroDivisionError), Seen():
        raise ZeroDivisionError
    assert overrides._get_current_function_mode_stack() == []


def test_modes_are_of_one_thread():
    def work():
        found.append(torch.ones(2) + 1)
    found = []
    with Seen() as seen:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert seen.names == [] and found[0].tolist() == [2, 2]


def test_overrides_can_be_switched_off():
    x = sub(2, cls=Logged)
    Logged.log.clear()
    with Seen() as seen:
        with torch._C.DisableTorchFunctionSubclass():
            assert type(x + 1) is torch.Tensor
        with torch._C.DisableTorchFunction():
            assert type(x + 1) is torch.Tensor
    assert seen.names == ["add"] and not Logged.log and type(x + 1) is Logged


def test_a_mode_comes_before_a_subclass():
    class Answer(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return types, 42
    x = sub(2)
    with Answer():
        assert torch.add(x, 1) == ((Sub,), 42)


# ---- the module ------------------------------------------------------------------------------------------------
def double(x, factor=2):
    if has_torch_function((x,)):
        return handle_torch_function(double, (x,), x, factor=factor)
    return x * factor


HANDLED[double] = lambda x, factor: ("doubled", factor)


def test_functions_of_the_users_own():
    assert double(torch.ones(1)).item() == 2 and double(Diagonal(2, 1), 3) == ("doubled", 3)
    wrapped = overrides.wrap_torch_function(lambda x: (x,))(lambda x: "plain")
    HANDLED[wrapped] = lambda x: "wrapped"
    assert wrapped(1) == "plain" and wrapped(Diagonal(1, 1)) == "wrapped"
    del HANDLED[wrapped]
    with pytest.raises(TypeError, match="no implementation found"):
        wrapped(Diagonal(1, 1))
    assert overrides.is_tensor_like(torch.ones(1)) and overrides.is_tensor_like(Diagonal(1, 1))
    assert not overrides.is_tensor_like(3) and not has_torch_function((torch.ones(1), nn.Parameter(torch.ones(1)), 3))
    assert overrides.has_torch_function_unary(sub(1)) and overrides.has_torch_function_variadic(1, Diagonal(1, 1))


def test_a_plain_method_warns():
    class Old:
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return 7
    with pytest.warns(DeprecationWarning, match="plain method"):
        assert torch.mean(Old()) == 7


def test_lists_of_what_can_be_overridden():
    found = overrides.get_overridable_functions()
    assert torch.add in found[torch] and torch.Tensor.add in found[torch.Tensor] and F.relu in found[F]
    assert torch.tensor not in found[torch] and torch.zeros not in found[torch]
    ignored = overrides.get_ignored_functions()
    assert torch.Tensor.as_subclass in ignored and torch.tensor in ignored and torch.add not in ignored
    assert overrides.resolve_name(torch.Tensor.add) == "torch.Tensor.add" and overrides.resolve_name(3) is None
    assert overrides.resolve_name(F.relu) == "torch.nn.functional.relu" and overrides.resolve_name([]) is None
    assert overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__)
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert not overrides.is_tensor_method_or_property(torch.add)


@pytest.mark.parametrize("function, stub", list(overrides.get_testing_overrides().items()),
                         ids=[overrides.resolve_name(f) for f in overrides.get_testing_overrides()])
def test_every_function_asks_a_foreign_class(function, stub):
    class Foreign:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func, types
    name = overrides.resolve_name(function)
    if name.startswith("torch.Tensor"):
        return                                             # methods are called on tensors: below
    func, types = function(Foreign())
    assert func is function and types == (Foreign,)


@pytest.mark.parametrize("name", [
    name for name, method in vars(torch.Tensor).items()
    if method in set(overrides.get_overridable_functions()[torch.Tensor]) and inspect.isfunction(method)])
def test_every_method_asks_a_subclass(name):
    class Told(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func
    func = getattr(torch.Tensor, name)(torch.ones(2).as_subclass(Told))
    assert inspect.isfunction(func) and getattr(torch.Tensor, func.__name__) is func


def test_signatures_stay():
    assert list(inspect.signature(torch.addcmul).parameters)[:3] == ["input", "tensor1", "tensor2"]
    assert str(inspect.signature(torch.add)) == "(input, other, *tensor, alpha=1, out=None)"       # add(x, 2, y) is old
    assert list(inspect.signature(torch.Tensor.sum).parameters)[0] in ("self", "input")
    assert "def mul" in str(torch.mul.source) and "softmax" in inspect.getsource(F.softmax)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.mean(torch.ones(2), dim=0).item() == 1
    with pytest.raises(TypeError):
        torch.mul(torch.ones(2))


def test_classes_are_not_asked_about_what_makes_tensors_of_data():
    """Modes are, and before and after a mode has run the results are of the same class."""
    class Named(torch.Tensor):
        pass
    seen = []

    class Listening(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((func.__name__, types))
            return func(*args, **(kwargs or {}))
    x = torch.ones(2).as_subclass(Named)

    def classes():
        return [type(make(x)) for make in (torch.tensor, torch.as_tensor, torch.asarray)]
    expected = [torch.Tensor, Named, Named]
    assert classes() == expected
    with Listening():
        assert classes() == expected
    assert seen == [("tensor", ()), ("as_tensor", ()), ("asarray", ())] and classes() == expected


# A call, the function that PyTorch asks about, what it passes by position and by name (recorded).
SPELLED = """
torch.einsum("ij,jk", [x, y]) | torch.einsum | 'ij,jk' T T |
torch.einsum("ij,jk", (x, y)) | torch.einsum | 'ij,jk' T T |
torch.einsum("ij,jk->ik", x, y) | torch.einsum | 'ij,jk->ik' T T |
torch.einsum(x, [0, 1], y, [1, 26]) | torch.einsum | 'AB,Ba' T T |
torch.einsum(x, [..., 1], y, [1, 2], [..., 2]) | torch.einsum | '...B,BC->...C' T T |
torch.split(x, 1, 0) | torch.split | T 1 | dim=0
torch.split(x, [1, 1]) | torch.split | T [1, 1] | dim=0
x.split(1) | torch.Tensor.split | T 1 | dim=0
x.chunk(2) | torch.Tensor.chunk | T 2 |
x.view(4) | torch.Tensor.view | T 4 |
x.view((4,)) | torch.Tensor.view | T (4,) |
x.permute(1, 0) | torch.Tensor.permute | T 1 0 |
torch.permute(x, [1, 0]) | torch.permute | T [1, 0] |
torch.sum(x, axis=0) | torch.sum | T | axis=0
torch.cat([x, y], 1) | torch.cat | [T, T] 1 |
torch.norm(x, p=2) | torch.norm | T | p=2 dim=None keepdim=False out=None dtype=None
x.unique() | torch.Tensor.unique | T | sorted=True return_inverse=False return_counts=False dim=None
F.relu(x) | F.relu | T | inplace=False
F.elu(x, 0.5) | F.elu | T | alpha=0.5 inplace=False
F.dropout(x, 0.25) | F.dropout | T | p=0.25 training=True inplace=False
F.softmax(x, 1) | F.softmax | T | dim=1 _stacklevel=3 dtype=None
F.pad(x, (1, 1)) | F.pad | T (1, 1) | mode='constant' value=None
F.normalize(x) | F.normalize | T | p=2.0 dim=1 eps=1e-12 out=None
F.kl_div(x, y) | F.kl_div | T T | size_average=None reduce=None reduction='mean' log_target=False
torch.relu(x) | torch.relu | T |
F.linear(x, weight=y) | F.linear | T | weight=T
"""


@pytest.mark.parametrize("line", SPELLED.strip().splitlines())
def test_calls_are_seen_in_pytorch_s_spelling(line):
    class Seen(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            Seen.calls.append((func, args, kwargs or {}))
            return super().__torch_function__(func, types, args, kwargs or {})

    def word(value):
        if isinstance(value, list):
            return f"[{', '.join(map(word, value))}]"
        return "T" if isinstance(value, torch.Tensor) else repr(value)
    call, function, by_place, by_name = [part.strip() for part in line.split("|")]
    names = {"torch": torch, "F": F, **{k: torch.ones(2, 2).as_subclass(Seen) for k in "xy"}}
    Seen.calls = []
    eval(call, names)
    func, args, kwargs = Seen.calls[0]
    assert func is eval(function, names) or func == eval(function, names)
    assert " ".join(map(word, args)) == by_place
    assert sorted([f"{k}={word(v)}" for k, v in kwargs.items()]) == sorted(by_name.split())
