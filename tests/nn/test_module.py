"""``Module`` without PyTorch beside it: registration, walking, state, hooks, converting, lazy shapes, containers."""

import copy
import gc
import pickle
import warnings
import weakref

import pytest

import minitorch
import minitorch.nn.functional as F
from minitorch import nn


def small_net():
    return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))


class Counter(nn.Module):
    """A parameter, a buffer and state that is not a tensor."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(minitorch.ones(2))
        self.register_buffer("seen", minitorch.zeros(1))
        self.register_buffer("scratch", minitorch.zeros(1), persistent=False)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        self.seen += 1
        return x * self.weight

    def get_extra_state(self):
        return self.calls

    def set_extra_state(self, state):
        self.calls = state


# ------------------------------------------------------------------------------------------------------ registration
def test_assignment_files_tensors_and_modules():
    m = Counter()
    assert [n for n, _ in m.named_parameters()] == ["weight"]
    assert [n for n, _ in m.named_buffers()] == ["seen", "scratch"]
    m.child = nn.Linear(1, 1)
    assert [n for n, _ in m.named_parameters()] == ["weight", "child.weight", "child.bias"]
    m.plain = minitorch.ones(1)             # a tensor that is neither parameter nor registered buffer
    assert "plain" not in m.state_dict() and "plain" in m.__dict__


@pytest.mark.parametrize("act, kind, words", [
    (lambda m: setattr(m, "weight", minitorch.ones(2)), TypeError, "as parameter 'weight'"),
    (lambda m: setattr(m, "seen", 3), TypeError, "as buffer 'seen'"),
    (lambda m: m.register_parameter("forward", None), KeyError, "already exists"),
    (lambda m: m.register_parameter("p", m.weight * 2), TypeError, "Parameter or None"),
    (lambda m: m.register_buffer("a.b", None), KeyError, "t contain"),
    (lambda m: m.add_module("", nn.ReLU()), KeyError, "empty string"),
    (lambda m: m.nothing, AttributeError, "'Counter' object has no attribute 'nothing'"),
    (lambda m: nn.Module()(1), NotImplementedError, 'missing the required "forward"'),
    (lambda m: nn.Parameter([1.0]), TypeError, "minitorch.tensor"),
    (lambda m: nn.Parameter(minitorch.ones(1, dtype=minitorch.int64)), RuntimeError, "can require gradients"),
    (lambda m: m.to(minitorch.int64), TypeError, "floating point or complex"),
])
def test_errors_say_what_is_wrong(act, kind, words):
    with pytest.raises(kind, match=words):
        act(Counter())


def test_a_module_that_forgot_init_is_told_so():
    class Forgetful(nn.Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    with pytest.raises(AttributeError, match=r"before Module.__init__\(\) call"):
        Forgetful()


def test_a_parameter_shares_the_memory_it_is_made_of():
    data = minitorch.zeros(3)
    p = nn.Parameter(data)
    data.add_(1)
    assert p.tolist() == [1, 1, 1] and p.requires_grad and p.is_leaf
    assert type(p + 1) is minitorch.Tensor and repr(p).startswith("Parameter containing:\ntensor(")
    assert not nn.Parameter(data, requires_grad=False).requires_grad


def test_a_module_is_freed_without_the_garbage_collector():
    m = small_net()
    m(minitorch.ones(1, 2)).sum().backward()
    ref = weakref.ref(m)
    gc.disable()
    try:
        del m
        assert ref() is None
    finally:
        gc.enable()


# ------------------------------------------------------------------------------------------------------------- state
def test_state_dict_round_trip():
    m, twin = Counter(), Counter()
    m(minitorch.ones(2))
    state = m.state_dict()
    assert list(state) == ["weight", "seen", "_extra_state"]
    assert repr(twin.load_state_dict(state)) == "<All keys matched successfully>"
    assert twin.calls == 1 and twin.seen.item() == 1
    assert state["weight"].data_ptr() == m.weight.data_ptr() and not state["weight"].requires_grad


def test_load_state_dict_lists_every_problem():
    with pytest.raises(RuntimeError) as info:
        small_net().load_state_dict({"0.weight": minitorch.ones(2, 2), "5.weight": minitorch.ones(1)})
    assert str(info.value) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "0.bias", "2.weight", "2.bias". \n'
        '\tUnexpected key(s) in state_dict: "5.weight". \n'
        "\tsize mismatch for 0.weight: copying a param with shape torch.Size([2, 2]) from checkpoint, "
        "the shape in current model is torch.Size([3, 2]).")


def test_loading_does_not_disturb_the_optimiser_unless_asked_to():
    m, other = small_net(), small_net()
    kept = list(m.parameters())
    m.load_state_dict(other.state_dict())
    assert all(a is b for a, b in zip(m.parameters(), kept))
    m.load_state_dict(other.state_dict(), assign=True)
    assert not any(a is b for a, b in zip(m.parameters(), kept))
    assert m[0].weight.data_ptr() == other[0].weight.data_ptr()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_keep_ties_and_are_independent(copied):
    m = small_net()
    m.tied = m[0].weight
    twin = copied(m)
    assert twin.tied is twin[0].weight and twin.tied is not m.tied
    with minitorch.no_grad():
        twin.tied.zero_()
    assert m.tied.abs().sum().item() > 0


# -------------------------------------------------------------------------------------------------------- converting
def test_converting_keeps_the_parameters_and_their_gradients():
    m = small_net()
    m(minitorch.ones(1, 2)).sum().backward()
    kept = list(m.parameters())
    m.double()
    assert all(a is b and a.dtype is a.grad.dtype is minitorch.float64 for a, b in zip(m.parameters(), kept))
    m.float()
    assert m(minitorch.ones(1, 2)).dtype is minitorch.float32
    norm = nn.BatchNorm1d(2).half()
    assert norm.running_mean.dtype is minitorch.float16 and norm.num_batches_tracked.dtype is minitorch.int64


def test_zero_grad_drops_or_clears():
    m = nn.Linear(1, 1)
    m(minitorch.ones(1, 1)).sum().backward()
    m.zero_grad(set_to_none=False)
    assert m.weight.grad.tolist() == [[0.0]]
    m.zero_grad()
    assert m.weight.grad is None


# ------------------------------------------------------------------------------------------------------------- hooks
def test_forward_hooks_change_what_goes_in_and_out_and_can_be_removed():
    m, x = nn.Identity(), minitorch.ones(1)
    before = m.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    after = m.register_forward_hook(lambda module, args, out: out + 10)
    assert m(x).item() == 12
    before.remove()
    assert m(x).item() == 11
    with after:
        pass
    assert m(x).item() == 1 and not m._forward_hooks


def test_backward_hooks_see_and_change_gradients():
    m, seen = nn.Linear(1, 1, bias=False), []
    nn.init.constant_(m.weight, 3.0)
    m.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 2,))
    m.register_full_backward_hook(
        lambda module, grad_input, grad_output: seen.append((grad_input[0].item(), grad_output[0].item())))
    m.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 0,))
    x = minitorch.ones(1, 1, requires_grad=True)
    m(x).sum().backward()
    assert seen == [(6.0, 2.0)] and x.grad.item() == 0.0 and m.weight.grad.item() == 2.0


def test_always_called_hooks_see_errors_pass():
    class Failing(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    m, log = Failing(), []
    m.register_forward_hook(lambda module, args, out: log.append(out), always_call=True)
    m.register_forward_hook(lambda module, args, out: log.append("not reached"))
    with pytest.raises(ValueError, match="no"):
        m(1)
    assert log == [None]


def test_global_hooks_apply_to_every_module_until_removed():
    log, m = [], small_net()
    with nn.modules.module.register_module_forward_hook(lambda module, args, out: log.append(type(module).__name__)):
        m(minitorch.ones(1, 2))
    m(minitorch.ones(1, 2))
    assert log == ["Linear", "ReLU", "Linear", "Sequential"]


# -------------------------------------------------------------------------------------------------------------- lazy
def test_lazy_layers_become_ordinary_ones():
    with pytest.warns(UserWarning, match="Lazy modules"):
        m = nn.LazyLinear(3)
    assert repr(m.weight) == "<UninitializedParameter>"
    with pytest.raises(ValueError, match="uninitialized parameter"):
        m.weight.sum()
    kept = m.weight
    m = m.double()
    assert m(minitorch.ones(2, 5, dtype=minitorch.float64)).shape == (2, 3)
    assert type(m) is nn.Linear and type(m.weight) is nn.Parameter and m.weight is kept
    assert m.weight.shape == (3, 5) and m.in_features == 5 and not m._forward_pre_hooks


@pytest.mark.filterwarnings("ignore:Lazy modules")
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_of_lazy_layers_learn_their_own_shapes(copied):
    m = nn.Sequential(nn.LazyLinear(3))
    twin = copied(m)
    assert twin(minitorch.ones(2, 5)).shape == (2, 3) and m(minitorch.ones(2, 7)).shape == (2, 3)
    assert type(twin[0]) is type(m[0]) is nn.Linear and (twin[0].in_features, m[0].in_features) == (5, 7)
    assert not twin[0]._forward_pre_hooks and not m[0]._load_state_dict_pre_hooks


# -------------------------------------------------------------------------------------------------------- containers
def test_sequential_is_a_list():
    s = nn.Sequential(*(nn.Linear(i + 1, i + 2) for i in range(4)))
    assert [m.in_features for m in s[1:3]] == [2, 3] and s[-1] is s[3]
    s.insert(0, nn.ReLU())
    del s[1]
    assert list(s._modules) == ["0", "1", "2", "3"] and isinstance(s.pop(0), nn.ReLU) and len(s) == 3
    with pytest.raises(IndexError, match="index 7 is out of range"):
        s[7]


def test_module_list_insert_counts_from_either_end():
    items = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    items.insert(-1, nn.GELU())             # PyTorch raises KeyError here
    assert [type(m).__name__ for m in items] == ["ReLU", "GELU", "Tanh"]
    assert repr(nn.ModuleList([nn.ReLU(), nn.ReLU()])) == "ModuleList(\n  (0-1): 2 x ReLU()\n)"


def test_modules_is_where_pytorch_keeps_its_files():
    from minitorch.nn.modules import Linear
    from minitorch.nn.modules.batchnorm import _BatchNorm
    from minitorch.nn.modules.utils import _pair
    assert Linear is nn.Linear and issubclass(nn.BatchNorm2d, _BatchNorm) and _pair(3) == (3, 3)


def test_memory_formats_are_for_images_only():
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.Linear(3, 2)).to(memory_format=minitorch.channels_last)
    assert model[0].weight.is_contiguous(memory_format=minitorch.channels_last) and model[1].weight.is_contiguous()


def test_hooks_of_all_modules_run_and_go():
    seen = []
    before = nn.modules.module.register_module_forward_pre_hook(lambda module, args: seen.append("before"))
    after = nn.modules.module.register_module_forward_hook(lambda module, args, out: seen.append("after"))
    layer = nn.Linear(1, 1)
    layer(minitorch.ones(1))
    again = nn.modules.module.register_module_forward_hook(lambda module, args, out: seen.append("again"))
    layer(minitorch.ones(1))
    before.remove(), after.remove(), again.remove()
    layer(minitorch.ones(1))
    assert seen == ["before", "after", "before", "after", "again"]
    seen[2:] = []
    layer.register_forward_hook(lambda *_: seen.append("first"))
    layer.register_forward_hook(lambda *_: seen.append("second"))
    layer.register_forward_hook(lambda *_: seen.append("zeroth"), prepend=True)
    layer(minitorch.ones(1))
    assert seen[2:] == ["zeroth", "first", "second"]


def test_modules_tell_their_own_and_all_parts():
    model = nn.Sequential(nn.BatchNorm1d(2))
    assert len(list(model.buffers())) == 3 and len(list(model.buffers(recurse=False))) == 0
    assert len(list(model.parameters())) == 2 and not list(model.parameters(recurse=False))
    assert not model.train(False)[0].training and model.train()[0].training


def test_a_tensor_under_two_names():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = self.b = nn.Parameter(minitorch.ones(1))
            self.same = self.a

        def forward(self, x):
            return x * self.a + self.b
    tied = Tied()
    assert [name for name, _ in tied.named_parameters()] == ["a"]
    assert [name for name, _ in tied.named_parameters(remove_duplicate=False)] == ["a", "b", "same"]
    changed = {"a": minitorch.tensor([5.0])}
    assert nn.utils.stateless.functional_call(tied, changed, (minitorch.ones(1),)).tolist() == [10]


def test_a_hooked_module_before_one_in_place_is_refused_as_in_pytorch():
    linear = minitorch.nn.Linear(2, 2)
    linear.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    with pytest.raises(RuntimeError, match="in-?place"):
        minitorch.nn.Sequential(linear, minitorch.nn.ReLU(inplace=True))(minitorch.ones(1, 2, requires_grad=True))


def test_a_state_copied_into_meta_parameters_is_noticed():
    state = nn.Linear(2, 1).state_dict()
    with minitorch.device("meta"):
        layer = nn.Linear(2, 1)
    with pytest.warns(UserWarning, match="for weight: copying from a non-meta parameter.*assign=True") as noted:
        layer.load_state_dict(state)
    assert len(noted) == 2 and noted[0].filename == __file__ and layer.weight.is_meta
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer.load_state_dict(state, assign=True)
        nn.Linear(2, 1).load_state_dict(state)
    assert minitorch.equal(layer.weight, state["weight"])


def leaf(data):
    return minitorch.tensor(data, dtype=minitorch.float64, requires_grad=True)


def test_N_19_a_module_saves_loads_trains_and_evaluates(tmp_path):
    model, twin = nn.Linear(2, 2), nn.Linear(2, 2)
    minitorch.save(model.state_dict(), tmp_path / "model.pt")
    twin.load_state_dict(minitorch.load(tmp_path / "model.pt"))
    assert minitorch.equal(twin.weight, model.weight) and not model.eval().training and model.train().training
    with pytest.raises(RuntimeError, match="Missing key.*bias"):
        twin.load_state_dict({"weight": model.weight})


def test_N_22_initial_weights_depend_on_the_fan_in_and_the_seed():
    minitorch.manual_seed(0)
    layer = nn.Linear(100, 50)
    assert layer.weight.abs().max() <= 0.1 and layer.bias.shape == (50,)
    assert layer(minitorch.ones(7, 100)).shape == (7, 50)
    minitorch.manual_seed(0)
    assert minitorch.equal(nn.Linear(100, 50).weight, layer.weight)


def test_N_25_a_shared_module_counts_once_and_writing_is_quiet():
    shared = nn.Linear(2, 2)
    assert len(list(nn.Sequential(shared, shared).parameters())) == 2
    x = leaf([1.0])
    calls = []
    x.register_hook(calls.append)
    x.anything, x.grad = 3, minitorch.ones(1, dtype=minitorch.float64)
    assert not calls, "hooks run in backward passes only"


def test_D_4_layers_can_be_used_twice_and_accumulate():
    layer, x = nn.Linear(2, 2).double(), minitorch.ones(1, 2, dtype=minitorch.float64)
    assert minitorch.autograd.gradcheck(lambda w: F.linear(F.linear(x, w), w), layer.weight)
    layer(x).sum().backward()
    first = layer.weight.grad.clone()
    layer(x).sum().backward()
    assert minitorch.equal(layer.weight.grad, 2 * first)


def test_D_7_optional_arguments():
    assert nn.Linear(2, 3, bias=False).bias is None
    assert nn.Linear(2, 3, bias=False)(minitorch.ones(1, 2)).shape == (1, 3)
    assert nn.MaxPool2d(2)(minitorch.rand(1, 1, 4, 4)).shape == (1, 1, 2, 2)
