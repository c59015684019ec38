"""Checks of lesson 25, "Transfer, save, deploy": freezing, groups, loading what fits, eight bits."""

import numpy as np

from .. import int8, nn, round, zeros
from .exercise import Exercise, show

freeze = Exercise(
    "nb25.freeze", "All parameters but those of the last module that has any of its own get requires_grad=False.",
    ("`model.modules()` lists the containers, too. Which of them have parameters of their own?",
     "First switch off all; then find the last module with own parameters (recurse=False), and switch its on.",
     "owners = [m for m in model.modules() if ____]; for p in ____: p.requires_grad_(____), twice"))


def tree(kind):
    """Small networks."""
    if kind == "two layers":
        return nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
    if kind == "a relu at the end":
        return nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2), nn.ReLU())
    if kind == "a body and a head":
        return nn.Sequential(nn.Sequential(nn.Conv2d(1, 2, 1), nn.BatchNorm2d(2)), nn.Linear(2, 2, bias=False))
    if kind == "frozen before":
        model = nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1))
        model.requires_grad_(False)
        return model
    if kind == "nested at the end":
        return nn.Sequential(nn.Linear(1, 2), nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1)))
    return nn.Sequential(nn.Linear(2, 2))


freeze.cases(lambda: [(kind,) for kind in ("one layer", "two layers", "a relu at the end", "frozen before",
                                           "a body and a head", "nested at the end")])


@freeze.run
def _(solution, kind):
    model = tree(kind)
    solution(model)
    return [name for name, p in model.named_parameters() if p.requires_grad]


freeze.describe(lambda kind: f"{kind}: {' '.join(repr(tree(kind)).split())}. The names of the parameters that learn")


def switched(model, owners, *, others=False, last=True, biases=True):
    if others is not None:
        for p in model.parameters():
            p.requires_grad_(others)
    for name, p in owners[-1].named_parameters(recurse=False) if owners else ():
        p.requires_grad_(last if biases or name != "bias" else False)


def owning(model):
    return [m for m in model.modules() if list(m.parameters(recurse=False))]


freeze.truth(lambda model: switched(model, owning(model)))
freeze.slips(
    all_frozen=("everything is frozen: the last layer is to learn", lambda m: switched(m, owning(m), last=False)),
    nothing=("nothing is frozen", lambda m: m.requires_grad_(True)),
    last_frozen=("the wrong way round: the last is frozen, the others learn",
                 lambda m: switched(m, owning(m), others=True, last=False)),
    not_on=("what was frozen before stays frozen: switch the last layer's on",
            lambda m: [p.requires_grad_(False) for p in list(m.parameters())[:-len(list(owning(m)[-1].parameters()))]]),
    first=("the first layer learns, not the last", lambda m: switched(m, owning(m)[:1])),
    no_bias=("the last layer's bias is a parameter, too", lambda m: switched(m, owning(m), biases=False)),
    last_child=("the last child counts in your rule, even if it has no parameters (a relu) or several layers: ask for "
                "parameters of its own", lambda m: (m.requires_grad_(False), m[-1].requires_grad_(True))),
    two_tensors=("the last two *tensors* learn in your rule: a layer without bias has one only", lambda m: (
        m.requires_grad_(False), [p.requires_grad_(True) for p in list(m.parameters())[-2:]])))

groups = Exercise(
    "nb25.groups", "Two groups for an optimiser: the head's parameters with lr, the body's with lr / 10.",
    ("What is a group? A dictionary with \"params\" and options.",
     "[{\"params\": ..., \"lr\": ...}, {...}]: the order does not matter.",
     "[{\"params\": ____, \"lr\": ____}, {\"params\": ____, \"lr\": lr}]"), tries=6)
groups.draw(lambda d: (d.choice([0.1, 0.01, 1.0]), d.bool()))


@groups.run
def _(solution, lr, deep):
    """The learning rate of each parameter, by its name."""
    body = nn.Sequential(nn.Linear(1, 2), nn.Linear(2, 2)) if deep else nn.Linear(1, 2)
    head = nn.Linear(2, 1)
    rates = {id(p): group.get("lr", "the default") for group in solution(body, head, lr) for p in group["params"]}
    return {name: rates.get(id(p), "not there") for part, model in (("body", body), ("head", head))
            for name, p in model.named_parameters(part)}


groups.describe(lambda lr, deep: f"lr = {lr}, a body of {1 + deep} layers. The learning rate of each parameter")


def two(body, head, lr, *, of=10.0, first=lambda m: list(m.parameters()), heads=1.0):
    return [{"params": first(body), "lr": lr / of}, {"params": list(head.parameters()), "lr": lr / heads}]


groups.truth(two)
groups.slips(
    exchanged=("the body gets the large steps, the head the small ones",
               lambda b, h, lr: two(b, h, lr, of=1, heads=10)),
    same=("both have the same rate", lambda b, h, lr: two(b, h, lr, of=1)),
    ten_times=("the body's rate is ten *times* as large", lambda b, h, lr: two(b, h, lr, of=0.1)),
    no_body=("the body does not learn: that is freezing", lambda b, h, lr: two(b, h, lr)[1:]),
    no_head=("the head is missing", lambda b, h, lr: two(b, h, lr)[:1]),
    weights_only=("only the body's first parameter is there", lambda b, h, lr: two(
        b, h, lr, first=lambda m: list(m.parameters())[:1])),
    hundredth=("a hundredth, where a tenth is asked for", lambda b, h, lr: two(b, h, lr, of=100)),
    no_rate=("the head has no rate of its own: it gets the optimiser's default", lambda b, h, lr: [
        two(b, h, lr)[0], {"params": list(h.parameters())}]))

load_fitting = Exercise(
    "nb25.load_fitting", "Tensors of `state` are loaded where name and shape fit; the sorted names of the others come "
    "back.",
    ("What does the model itself give when it is saved? There are its names and shapes.",
     "Keep the entries whose name the model has with the same shape; load these with strict=False.",
     "fits = {name: value for ____ in state.items() if name in ____ and ____}; then load, and sorted(____)"))
STATES = {
    "all fit": ((2, 2), (2,)), "another head": ((2, 2), (3,)), "another body": ((4, 2), (2,)),
    "nothing fits": ((1,), (1,)), "turned": ((2, 1, 2), (2,)), "more": ((2, 2), (2,))}
load_fitting.cases(lambda: [(kind,) for kind in STATES])


@load_fitting.run
def _(solution, kind):
    """The value that was returned, and the model's values afterwards."""
    model = nn.Linear(2, 2).double()
    nn.init.zeros_(model.weight)
    nn.init.zeros_(model.bias)
    weight, bias = STATES[kind]
    state = {"weight": zeros(*weight).double() + 5, "bias": zeros(*bias).double() + 7}
    if kind == "more":
        state |= {"head.weight": zeros(1).double(), "a": zeros(2).double()}
    found = solution(model, state)
    return [found if found is None else list(found), model.weight, model.bias]


load_fitting.describe(lambda kind: (
    f"a Linear(2, 2) of zeros, and a state ({kind}) with weight {list(STATES[kind][0])} of fives, bias "
    f"{list(STATES[kind][1])} of sevens{' and two other names' if kind == 'more' else ''}. What comes back; the model"))


def taken(model, state, *, fits=None, load=True, back=lambda state, fits: sorted(set(state) - set(fits))):
    own = model.state_dict()
    fits = fits or (lambda name, value: name in own and own[name].shape == value.shape)
    found = {name: value for name, value in state.items() if fits(name, value)}
    if load:
        model.load_state_dict(found, strict=False)
    return back(state, found)


load_fitting.truth(taken)
load_fitting.slips(
    strict=("`load_state_dict(state)` alone: it raises an error if anything does not fit",
            lambda m, s: (m.load_state_dict(s), [])[1]),
    not_strict=("strict=False passes over *names*, not over wrong shapes: these raise an error",
                lambda m, s: (m.load_state_dict(s, strict=False), sorted(set(s) - set(m.state_dict())))[1]),
    not_loaded=("nothing is loaded", lambda m, s: taken(m, s, load=False)),
    taken_names=("the names of those that *were* taken", lambda m, s: taken(m, s, back=lambda s, f: sorted(f))),
    nothing_back=("the names are missing: somebody has to notice", lambda m, s: taken(m, s, back=lambda s, f: None)),
    by_size=("the same number of elements is not the same shape", lambda m, s: taken(m, s, fits=lambda n, v: (
        n in m.state_dict() and m.state_dict()[n].numel() == v.numel()) and not s.update({n: v.reshape(
            m.state_dict()[n].shape)}), load=False, back=lambda s, f: (m.load_state_dict(
                {n: s[n] for n in f}, strict=False), sorted(set(s) - set(f)))[1])),
    all_or_nothing=("if one does not fit, nothing is loaded in your rule", lambda m, s: (
        lambda others: (others, taken(m, s) if not others else None)[0])(taken(m, dict(s), load=False))),
    in_order=("in the order of the state: sorted is asked for", lambda m, s: taken(
        m, s, back=lambda s, f: [n for n in s if n not in f])),
    missing_names=("the names that the model has and the state lacks: the other way round is asked for",
                   lambda m, s: taken(m, s, back=lambda s, f: sorted(set(m.state_dict()) - set(f)))))

quantise = Exercise(
    "nb25.quantise", "int8 values and a scale for each row (n, 1), so that the row's largest absolute value is 127.",
    ("Of a row 0.4, -1.0: the scale is 1 / 127. Which integers come out?",
     "scales = the largest absolute value of each row / 127; the values are weight / scales, *rounded*, as int8.",
     "scales = weight.abs().amax(____, keepdim=____) / ____; (____).round().to(____), scales"),
    parts=("values", "dtype", "scales"))
quantise.cases(lambda: [(np.array([[0.4, -1.0]]),), (np.array([[1.0, 0.1], [-8.0, 3.0]]),)])
quantise.draw(lambda d: (d.array((d.int(1, 3), d.int(2, 3))) * d.choice([0.1, 1.0, 30.0]),))


@quantise.run
def _(solution, weight):
    found = solution(weight)
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        return found
    return [found[0].double() if hasattr(found[0], "double") else found[0],
            str(getattr(found[0], "dtype", "")).split(".")[-1], found[1]]


quantise.describe(lambda weight: f"quantise({show(weight)}). The values, their dtype, the scales")


def eight(weight, *, top=127, by=lambda w: w.abs().amax(1, keepdim=True), to=round):
    scales = by(weight) / top
    return to(weight / scales).clamp(-128, 127).to(int8), scales


quantise.truth(eight)
quantise.slips(
    cut=("cut off, not rounded: the error is twice as large, and always towards zero",
         lambda w: eight(w, to=lambda x: x.trunc())),
    one_scale=("one scale for the whole matrix: a row of small numbers keeps few digits",
               lambda w: eight(w, by=lambda w: w.abs().max().reshape(1, 1).expand(len(w), 1))),
    columns=("a scale for each column: each *row* has one", lambda w: eight(w, by=lambda w: w.abs().amax(
        0, keepdim=True))),
    no_absolute=("the largest value, not the largest absolute one: -8 would become more than 127",
                 lambda w: eight(w, by=lambda w: w.amax(1, keepdim=True))),
    top_128=("128 does not fit into int8: 127 is the largest", lambda w: eight(w, top=128)),
    top_255=("255 is for uint8, which has no negative numbers", lambda w: eight(w, top=255)),
    floats=("rounded, but not int8: that saves nothing", lambda w: (eight(w)[0].double(), eight(w)[1])),
    inverse=("the scales are inverted: values * scales should be nearly the weight", lambda w: (
        eight(w)[0], 1 / eight(w)[1])),
    flat=("the scales need the shape (n, 1), or values * scales lines them up with the columns",
          lambda w: (eight(w)[0], eight(w)[1].flatten())),
    exchanged=("values first, then scales", lambda w: eight(w)[::-1]))
