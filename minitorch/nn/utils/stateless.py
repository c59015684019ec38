"""``functional_call``: a module run with other parameters than its own, for example updated ones in MAML."""

from contextlib import contextmanager

from ...core.tensor import Tensor
from ..hooks import note_change


def _slots(module, remove_duplicate):
    """``{path: (dict, name)}``: where each parameter and buffer is kept."""
    slots = {}
    for path, owner in module.named_modules(remove_duplicate=remove_duplicate):
        for place in (owner._parameters, owner._buffers):
            for name, value in place.items():
                if value is not None:
                    slots[f"{path}.{name}" if path else name] = (place, name)
    return slots


def _place_of(module, path):
    """(dict, name) for a path that is not a slot: an attribute, or one of the original's behind a
    compiled module."""
    owner, _, name = path.rpartition(".")
    owner = module.get_submodule(owner)
    owner = getattr(owner, "_orig_mod", owner)
    return next((place for place in (owner._parameters, owner._buffers) if name in place), owner.__dict__), name


def _check_names(module, slots, given):
    """RuntimeError unless the paths `given` are those of all slots."""
    lines = [f"\n\t{what} key(s): {', '.join(map(repr, paths))}."
             for what, paths in (("Unexpected", [path for path in given if path not in slots]),
                                 ("Missing", [path for path in slots if path not in given])) if paths]
    if lines:
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{''.join(lines)}")


def _untied(slots, places, given):
    """The tensors `given`, under all names that the module has for each."""
    names, found = {}, dict(given)
    for path, (place, name) in slots.items():
        names.setdefault(id(place[name]), []).append(path)
    for path in given:
        place, name = places[path]
        tied = names.get(id(place.get(name)), ())
        if len({id(given[other]) for other in tied if other in given}) > 1:
            raise ValueError(f"functional_call got multiple values for keys {sorted(tied)}, which are tied. Consider "
                             f"using tie_weights=False")
        found.update(dict.fromkeys(tied, given[path]))
    return found


@contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False):
    """Inside, ``module`` has the given tensors in place of its own."""
    slots, new = _slots(module, remove_duplicate=False), parameters_and_buffers
    for value in new.values():
        if not isinstance(value, (Tensor, type(None))):
            raise TypeError(f"{value} is not an instance of torch.Tensor")
    places = {**slots, **{path: _place_of(module, path) for path in new if path not in slots and not strict}}
    if tie_weights:
        new = _untied({path: places[path] for path in slots}, places, {k: v for k, v in new.items() if k in places})
    if strict:
        _check_names(module, slots, {**parameters_and_buffers, **new})
    missing = object()
    old = {path: places[path][0].get(places[path][1], missing) for path in new}
    try:
        for path, value in new.items():
            place, name = places[path]
            place[name] = value
        note_change()
        yield
    finally:
        note_change()
        for path, value in old.items():
            place, name = places[path]
            if path in parameters_and_buffers and place.get(name) is not new[path]:
                parameters_and_buffers[path] = place.get(name)      # put there by forward: that is the caller's
            if value is missing:
                place.pop(name, None)
            else:
                place[name] = value


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """``module(*args, **kwargs)`` with the tensors of ``parameters_and_buffers``, a dict by path, in place of its own.

    Gradients flow to the given tensors. ``args`` that is not a tuple is one argument.
    ``tie_weights``: a tensor that occurs under several names is replaced everywhere. ``strict``:
    every name must be given, and no other; else names that are none of parameters and buffers are
    attributes for the time of the call. Several dicts are one.

    >>> import minitorch
    >>> from minitorch import nn
    >>> layer = nn.Linear(2, 1)
    >>> new = {"weight": minitorch.ones(1, 2), "bias": minitorch.zeros(1)}
    >>> functional_call(layer, new, minitorch.tensor([[3.0, 4.0]])).tolist()
    [[7.0]]
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    given = parameters_and_buffers
    if not isinstance(given, dict):
        if not isinstance(given, (tuple, list)):
            raise ValueError(f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
                             f"{type(given)}")
        if not all([isinstance(d, dict) for d in given]):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for d in given for name in d]
        repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1]
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {name: value for d in given for name, value in d.items()}
    with _reparametrize_module(module, given, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))
