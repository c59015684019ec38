"""``functional_call``: a module run with other parameters than its own, for example updated ones in MAML."""

from contextlib import contextmanager

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


@contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False):
    """Inside, ``module`` has the given tensors in place of its own."""
    slots = _slots(module, remove_duplicate=False)
    if strict:
        missing = [path for path in slots if path not in parameters_and_buffers]
        unexpected = [path for path in parameters_and_buffers if path not in slots]
        if missing or unexpected:
            raise RuntimeError("Error(s) in reparametrizing for {}:{}{}".format(
                type(module).__name__,
                f"\n\tMissing key(s): {', '.join(map(repr, missing))}." if missing else "",
                f"\n\tUnexpected key(s): {', '.join(map(repr, unexpected))}." if unexpected else ""))
    new = {path: value for path, value in parameters_and_buffers.items() if path in slots}
    if tie_weights:
        # A tensor that the module has under several names is replaced under all of them.
        by_tensor = {}
        for path, value in new.items():
            place, name = slots[path]
            by_tensor[id(place[name])] = value
        for path, (place, name) in slots.items():
            if path not in new and id(place[name]) in by_tensor:
                new[path] = by_tensor[id(place[name])]
    old = {path: slots[path][0][slots[path][1]] for path in new}
    try:
        for path, value in new.items():
            place, name = slots[path]
            place[name] = value
        note_change()
        yield
    finally:
        note_change()
        for path, value in old.items():
            place, name = slots[path]
            if place.get(name) is not new[path]:        # forward has put something else there: that is the caller's
                parameters_and_buffers[path] = place.get(name)
            place[name] = value


def functional_call(module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """``module(*args, **kwargs)`` with the tensors of ``parameters_and_buffers``, a dict by path, in place of its own.

    Gradients flow to the given tensors. ``args`` that is no tuple is one argument. ``tie_weights``: a tensor that
    occurs under several names is replaced everywhere. ``strict``: every name must be given, and no other.

    >>> import minitorch
    >>> from minitorch import nn
    >>> layer = nn.Linear(2, 1)
    >>> new = {"weight": minitorch.ones(1, 2), "bias": minitorch.zeros(1)}
    >>> functional_call(layer, new, minitorch.tensor([[3.0, 4.0]])).tolist()
    [[7.0]]
    """
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    dicts = parameters_and_buffers if isinstance(parameters_and_buffers, (tuple, list)) else (parameters_and_buffers,)
    if len(dicts) == 1:
        merged = dicts[0]
    else:
        merged = {}
        for d in dicts:
            repeated = merged.keys() & d.keys()
            if repeated:
                raise ValueError(f"{sorted(repeated)} appear in multiple dictionaries; behavior of functional call is "
                                 "ambiguous")
            merged.update(d)
    with _reparametrize_module(module, merged, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))
