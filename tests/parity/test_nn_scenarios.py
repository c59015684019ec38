"""Modules and containers against PyTorch by scenarios: registering, hooks, saving and loading, converting."""

# ruff: noqa: B023  (the lambdas are called at once)

import collections
import copy
import pickle

import pytest

from .scenarios import error, message, plain, same_log


def net(T):
    return T.nn.Sequential(T.nn.Linear(2, 3), T.nn.BatchNorm1d(3), T.nn.Linear(3, 1))


# ---------------------------------------------------------------------------------------------------- registration
def registration_errors(T):
    nn = T.nn

    class NoInit(nn.Module):
        def __init__(self):
            pass

    linear, one = (lambda: nn.Linear(2, 3)), T.ones(1)
    calls = [
        lambda: setattr(NoInit(), "a", nn.ReLU()),
        lambda: setattr(NoInit(), "a", nn.Parameter(one)),
        lambda: setattr(NoInit(), "a", nn.Buffer(one)),
        lambda: NoInit().register_buffer("a", one),
        lambda: NoInit().register_parameter("a", nn.Parameter(one)),
        lambda: NoInit().a,
        lambda: linear().foo,
        lambda: nn.Module(1),
        lambda: nn.Module(a=2),
        lambda: nn.Module()(3),
        lambda: linear().register_buffer("a.b", one),
        lambda: linear().register_buffer("", one),
        lambda: linear().register_buffer("weight", one),
        lambda: linear().register_parameter("a.b", one),
        lambda: linear().register_parameter("", one),
        lambda: linear().register_parameter("forward", nn.Parameter(one)),
        lambda: linear().add_module("x", 3),
        lambda: linear().add_module("weight", nn.ReLU()),
        lambda: linear().add_module("a.b", nn.ReLU()),
        lambda: linear().add_module("", nn.ReLU()),
        lambda: linear().get_submodule("x.y"),
        lambda: linear().get_submodule("weight"),
        lambda: linear().get_parameter("q"),
        lambda: linear().get_parameter("in_features"),
        lambda: linear().get_buffer("q"),
        lambda: linear().get_buffer("weight"),
        lambda: linear().set_submodule("", nn.ReLU()),
        lambda: linear().set_submodule("a.b", nn.ReLU()),
        lambda: linear().set_submodule("a", 3),
        lambda: nn.Sequential(linear()).set_submodule("5", linear(), strict=True),
        lambda: nn.Sequential(linear()).set_submodule("0.weight", linear()),
        lambda: linear().train(3),
        lambda: linear().to(T.int32),
        lambda: setattr(nn.BatchNorm1d(2), "running_mean", 3),
    ]
    classes = [lambda: linear().register_buffer(3, one), lambda: linear().register_buffer("x", 3),
               lambda: linear().register_parameter("x", one), lambda: setattr(linear(), "weight", one),
               lambda: setattr(nn.Sequential(linear()), "0", one), lambda: linear().get_extra_state(),
               lambda: linear().add_module(3, nn.ReLU()), lambda: linear().to_empty("cpu"),
               lambda: nn.Parameter(T.ones(2, dtype=T.int64))]
    # The advice that follows a text of PyTorch's here is this library's own.
    texts = [message(call).partition(": write super().__init__()")[0] for call in calls]
    return texts + [error(call) for call in classes]


def attributes_find_their_place(T):
    nn = T.nn
    m, log = nn.Module(), []

    def note():
        log.append([list(m._parameters), list(m._buffers), list(m._modules), sorted(m._non_persistent_buffers_set),
                    list(m.state_dict()), "x" in m.__dict__])

    m.x = 3
    note()
    m.x = nn.Parameter(T.ones(2))
    note()
    m.x = None
    note()
    del m.x
    m.x = nn.ReLU()
    note()
    del m.x
    m.register_buffer("x", T.zeros(1), persistent=False)
    note()
    m.x = T.ones(3)
    note()
    m.x = nn.Parameter(T.ones(1))
    note()
    m.y = nn.Buffer(T.ones(1), persistent=False)
    m.z = nn.Buffer(T.ones(1))
    note()
    m.y = nn.Buffer(T.ones(2), persistent=True)
    note()
    m.register_parameter("p", None)
    m.register_module("q", None)
    log.append([repr(m), m.p, m.q, [n for n in ("x", "p", "q", "y") if n in dir(m)]])
    return log


def walking(T):
    nn = T.nn
    shared = nn.Linear(1, 1, bias=False)
    m = nn.Sequential(shared, nn.Sequential(shared, nn.BatchNorm1d(1)), shared)
    m.tied = m[0].weight
    log = [
        [n for n, _ in m.named_parameters()], [n for n, _ in m.named_parameters(remove_duplicate=False)],
        [n for n, _ in m.named_parameters("top", recurse=False)], [n for n, _ in m.named_buffers()],
        [n for n, _ in m.named_modules()], [n for n, _ in m.named_modules(prefix="a", remove_duplicate=False)],
        [n for n, _ in m.named_children()], len(list(m.modules())), len(list(m.modules(remove_duplicate=False))),
        len(list(m.parameters())), len(list(m.buffers(recurse=False))), list(m.state_dict()),
    ]
    order = []
    log.append(m.apply(lambda module: order.append(type(module).__name__)) is m)
    m.set_submodule("1.0", nn.ReLU())
    m.set_submodule("new", nn.Tanh())
    return [*log, order, repr(m), m.get_submodule("1.1") is m[1][1], m.get_submodule("") is m,
            m.get_parameter("1.1.weight").shape, m.get_buffer("1.1.running_mean")]


# ------------------------------------------------------------------------------------------------- state and copies
def load_messages(T):
    nn = T.nn
    one, linear = T.ones(1), (lambda: nn.Linear(2, 3))
    m = net(T)
    log = [message(lambda: linear().load_state_dict(state)) for state in (
        {}, {"weight": T.ones(2, 2), "foo": one}, {"weight": T.tensor(3.0), "bias": T.ones(3)})]
    log += [message(lambda: nn.Sequential(linear()).load_state_dict(
        {"0.weight": T.ones(2, 3), "0.bias": T.ones(3), "0.foo": one, "1.x": one}))]
    log += [error(lambda: linear().load_state_dict(3)), error(lambda: linear().load_state_dict({"weight": 3}))]
    log += [repr(linear().load_state_dict({"weight": T.ones(3, 2), "foo": one}, strict=False)),
            repr(m.load_state_dict(net(T).state_dict()))]
    scalar = nn.ParameterList([nn.Parameter(T.tensor(1.0))])
    scalar.load_state_dict({"0": T.full((1,), 7.0)})
    return [*log, scalar[0].item()]


def loading_copies_or_assigns(T):
    nn, log = T.nn, []
    for assign in (False, True):
        m = net(T)
        m[0].weight.requires_grad_(False)
        kept = dict(m.named_parameters())
        state = collections.OrderedDict((k, v.double() + 1 if v.is_floating_point() else v + 1)
                                        for k, v in net(T).state_dict().items())
        m.load_state_dict(state, assign=assign)
        log += [[n, p is kept[n], p.requires_grad, str(p.dtype), type(p).__name__] for n, p in m.named_parameters()]
        log += [m[0].weight.data_ptr() == state["0.weight"].data_ptr(), m[1].num_batches_tracked.item(),
                str(m[1].running_var.dtype)]
    linear = nn.Linear(1, 1)
    state = linear.state_dict(prefix="p.", keep_vars=True)
    log += [list(state), state["p.weight"] is linear.weight, linear.state_dict()["weight"].requires_grad,
            linear.state_dict()["weight"].data_ptr() == linear.weight.data_ptr(),
            [(k, dict(v)) for k, v in net(T).state_dict()._metadata.items()]]
    return log


def extra_state_and_hooks(T):
    nn, log = T.nn, []

    class WithExtra(nn.Module):
        def __init__(self):
            super().__init__()
            self.count = 5
            self.inner = nn.Linear(1, 1, bias=False)

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    m = WithExtra()
    state = m.state_dict()
    m.count = 0
    m.load_state_dict(state)
    log += [list(state), m.count, message(lambda: m.load_state_dict({"inner.weight": T.ones(1, 1)}))]
    log += [message(lambda: nn.Linear(1, 1).load_state_dict(
        {"weight": T.ones(1, 1), "bias": T.ones(1), "_extra_state": 3}))]

    m = nn.Sequential(nn.Linear(1, 1, bias=False))
    m.register_state_dict_pre_hook(lambda mod, prefix, keep: log.append(["pre", type(mod).__name__, prefix, keep]))
    post = m[0].register_state_dict_post_hook(
        lambda mod, state, prefix, meta: state.update({prefix + "more": T.ones(1)}))
    log.append(list(m.state_dict()))
    post.remove()
    log.append(list(m.state_dict(keep_vars=True)))

    def rename(mod, state, prefix, meta, strict, missing, unexpected, errors):
        log.append(["load", type(mod).__name__, prefix, strict, missing, unexpected, errors])
        if prefix + "old" in state:
            state[prefix + "weight"] = state.pop(prefix + "old")

    m[0].register_load_state_dict_pre_hook(rename)
    m.register_load_state_dict_post_hook(lambda mod, keys: log.append(["post", list(keys.missing_keys)]))
    m.load_state_dict({"0.old": T.full((1, 1), 3.0)})
    log.append(m[0].weight.item())
    m.register_load_state_dict_post_hook(lambda mod, keys: keys.missing_keys.clear())
    log.append(repr(m.load_state_dict({})))
    return log


def copies(T):
    m = net(T)
    m[0].register_forward_hook(print_nothing)
    m.tied = m[0].weight
    twin, thawed = copy.deepcopy(m), pickle.loads(pickle.dumps(m))
    log = []
    for other in (twin, thawed):
        x = T.ones(4, 2)
        log += [other.tied is other[0].weight, other[0].weight is m[0].weight, plain(other(x)) == plain(m(x)),
                [n for n, _ in other.named_parameters()], other[0].weight.requires_grad, len(other[0]._forward_hooks),
                type(other.tied).__name__]
    return log


def print_nothing(module, args, output):
    pass


# -------------------------------------------------------------------------------------------------------- converting
def converting(T):
    m, log = net(T), []
    kept = list(m.parameters())
    m(T.ones(4, 2)).sum().backward()

    def note():
        log.append([[str(p.dtype) for p in m.parameters()], [str(b.dtype) for b in m.buffers()],
                    [str(p.grad.dtype) for p in m.parameters() if p.grad is not None],
                    [a is b for a, b in zip(m.parameters(), kept)], [p.requires_grad for p in m.parameters()],
                    [p.is_leaf for p in m.parameters()]])

    for call in (lambda: m.double(), lambda: m.float(), lambda: m.half(), lambda: m.to(T.float64),
                 lambda: m.to("cpu"), lambda: m.to("cpu", T.float32), lambda: m.to(device="cpu", dtype=T.float64),
                 lambda: m.to(T.ones(1)), lambda: m.type(T.float64), lambda: m.cpu(),
                 lambda: m.to(T.device("cpu"), non_blocking=True), lambda: m.to_empty(device="cpu")):
        log.append(call() is m)
        note()
    m.float().requires_grad_(False)
    note()
    m.requires_grad_()
    m.zero_grad(set_to_none=False)
    log.append([p.grad for p in m.parameters()])
    m.zero_grad()
    return [*log, [p.grad for p in m.parameters()], m.share_memory() is m, m.train() is m, m.eval() is m,
            [x.training for x in m.modules()]]


# -------------------------------------------------------------------------------------------------------------- hooks
def forward_hooks(T):
    nn, log = T.nn, []

    class Scale(nn.Module):
        def forward(self, x, *, by=2.0):
            if by == 0:
                raise ValueError("by zero")
            return x * by

    m, x = Scale(), T.ones(2)
    pre = m.register_forward_pre_hook(lambda mod, args: log.append(["pre", plain(args)]))
    m.register_forward_pre_hook(lambda mod, args: args[0] + 1)
    m.register_forward_pre_hook(lambda mod, args, kwargs: (args, {"by": kwargs.get("by", 1.0) * 3}), with_kwargs=True)
    m.register_forward_pre_hook(lambda mod, args: log.append("first"), prepend=True)
    after = m.register_forward_hook(lambda mod, args, out: log.append(["after", plain(args), plain(out)]))
    m.register_forward_hook(lambda mod, args, kwargs, out: out + kwargs["by"], with_kwargs=True)
    always = m.register_forward_hook(lambda mod, args, out: log.append(["always", plain(out)]), always_call=True,
                                     prepend=True)
    log += [m(x), m(x, by=2.0), message(lambda: m(x, by=0))]
    pre.remove()
    after.remove()
    with always:
        log.append(m(x))
    log += [m(x), len(m._forward_hooks), len(m._forward_pre_hooks), len(m._forward_hooks_always_called)]
    m.register_forward_pre_hook(lambda mod, args, kwargs: 3, with_kwargs=True)
    return [*log, error(lambda: m(x))]


def backward_hooks(T):
    nn, log = T.nn, []

    class TwoInTwoOut(nn.Module):
        def forward(self, a, k, b):
            return a * b * k, "no tensor", a + b

    m = TwoInTwoOut()
    m.register_full_backward_hook(lambda mod, gi, go: log.append(["hook", plain(gi), plain(go)]))
    m.register_full_backward_hook(lambda mod, gi, go: tuple(None if g is None else g * 10 for g in gi))
    m.register_full_backward_pre_hook(lambda mod, go: log.append(["pre", plain(go)]))
    for use in ("both", "first", "second"):
        a, b = T.tensor([2.0, 3.0], requires_grad=True), T.tensor([5.0, 7.0], requires_grad=True)
        p, _, q = m(a, 3, b)
        {"both": lambda: p.sum() + (2 * q).sum(), "first": lambda: p.sum(), "second": lambda: q.sum()}[use]().backward()
        log += [use, a.grad, b.grad]

    linear = nn.Linear(2, 1)
    nn.init.ones_(linear.weight)
    linear.register_full_backward_hook(lambda mod, gi, go: log.append(["linear", plain(gi), plain(go)]))
    linear.register_full_backward_pre_hook(lambda mod, go: (go[0] * 2,))
    linear(T.ones(1, 2)).sum().backward()           # no input requires grad
    log += [linear.weight.grad, linear.bias.grad]
    x = T.ones(1, 2, requires_grad=True)
    linear(x).sum().backward()
    log.append(x.grad)
    with T.no_grad():
        linear(x)
    linear.register_full_backward_hook(lambda mod, gi, go: (gi[0], gi[0]))
    return [*log, error(lambda: linear(x).sum().backward())]


def global_hooks(T):
    nn, log = T.nn, []
    g = nn.modules.module
    handles = [
        g.register_module_forward_pre_hook(lambda mod, args: log.append(["pre", type(mod).__name__])),
        g.register_module_forward_hook(lambda mod, args, out: log.append(["after", type(mod).__name__])),
        g.register_module_full_backward_hook(lambda mod, gi, go: log.append(["back", type(mod).__name__, plain(go)])),
        g.register_module_full_backward_pre_hook(lambda mod, go: log.append(["prebk", type(mod).__name__])),
        g.register_module_parameter_registration_hook(lambda mod, name, p: log.append(["param", name])),
        g.register_module_buffer_registration_hook(lambda mod, name, b: log.append(["buffer", name])),
        g.register_module_module_registration_hook(lambda mod, name, m: log.append(["module", name])),
    ]
    try:
        m = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm1d(1))
        m.eval()
        m(T.ones(2, 1, requires_grad=True)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    n = len(log)
    m(T.ones(2, 1))
    return [*log, len(log) == n]


# --------------------------------------------------------------------------------------------------------- containers
def sequential(T):
    nn = T.nn
    OD = collections.OrderedDict
    named = nn.Sequential(OD(a=nn.ReLU(), b=nn.Tanh(), c=nn.GELU()))
    plainly = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.GELU())
    log = [repr(named), repr(named[1:]), repr(named[-1]), repr(named + plainly), len(named),
           [type(m).__name__ for m in named], named.a is named[0], repr(plainly * 2), repr(2 * plainly)]
    plainly.append(nn.SiLU()).insert(1, nn.Mish()).extend([nn.ELU(), nn.CELU()])
    log.append(repr(plainly))
    log += [repr(plainly.pop(1)), repr(plainly)]
    del plainly[-1], plainly[0:2]
    plainly[0] = nn.Sigmoid()
    plainly += nn.Sequential(nn.GLU())
    plainly *= 2
    named.append(nn.SiLU())
    named[0] = nn.Softsign()
    return [*log, repr(plainly), repr(named), repr(nn.Sequential()), "0" in dir(plainly)]


def module_list_and_dict(T):
    nn = T.nn
    items = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])
    log = [repr(items), repr(items + [nn.GELU()]), repr(items[1:]), repr(items[-1]), len(items)]
    items.insert(0, nn.SiLU())
    items.extend([nn.ELU()])
    items.append(nn.ELU())
    items += [nn.Mish()]
    del items[1]
    log += [repr(items.pop(-2)), repr(items), list(items._modules)]
    d = nn.ModuleDict({"b": nn.ReLU(), "a": nn.Tanh()})
    d.update([("c", nn.GELU()), ("b", nn.SiLU())])
    d["d"] = nn.ELU()
    del d["a"]
    log += [repr(d), list(d), list(d.keys()), len(d), "c" in d, repr(d.pop("c")), [k for k, _ in d.items()]]
    d.clear()
    return [*log, repr(d), repr(nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.Linear(1, 2)]))]


def parameter_list_and_dict(T):
    nn = T.nn
    items = nn.ParameterList([T.ones(2), nn.Parameter(T.zeros(1, 3)), "x"])
    items.append(T.ones(1))
    items.extend([T.ones(1)])
    items += [nn.Parameter(T.ones(3))]
    items[0] = T.zeros(4)
    log = [repr(items), len(items), repr(items[1:3]), items[-1], [n for n, _ in items.named_parameters()],
           type(items[0]).__name__, list(items.state_dict())]
    d = nn.ParameterDict({"b": T.ones(2), "a": T.zeros(1), "s": "text"})
    d["c"] = T.ones(1)
    log += [repr(d), list(d), len(d), "a" in d, d.get("zz"), d.get("zz", 3), list(reversed(d)), d.pop("a"), list(d)]
    log += [plain(d.setdefault("q", T.ones(1))), d.popitem()[0], list(d | {"n": 1}), list({"n": 1} | d),
            list(d.copy()), list(d.fromkeys(["x", "y"], T.ones(1))), [k for k, _ in d.items()], list(d.state_dict())]
    d |= {"z": T.ones(1)}
    log.append(list(d.keys()))
    d.clear()
    return [*log, len(d), list(nn.ParameterDict(collections.OrderedDict(b=1, a=2))), error(lambda: d[3])]


SCENARIOS = [registration_errors, attributes_find_their_place, walking, load_messages, loading_copies_or_assigns,
             extra_state_and_hooks, copies, converting, forward_hooks, backward_hooks, global_hooks, sequential,
             module_list_and_dict, parameter_list_and_dict]


@pytest.mark.parametrize("run", SCENARIOS, ids=lambda fn: fn.__name__)
def test_same_log(run):
    same_log(run)
