"""Small helpers that several layer files share."""

from collections.abc import Iterable


def ntuple(n):
    """A function that makes an n-tuple: of ``n`` times a single value, or of the values of an iterable as they are."""
    def spread(value):
        return tuple(value) if isinstance(value, Iterable) else (value,) * n
    return spread


single, pair, triple, quadruple = map(ntuple, (1, 2, 3, 4))
_ntuple, _single, _pair, _triple, _quadruple = ntuple, single, pair, triple, quadruple      # PyTorch's spelling
same_for = {1: single, 2: pair, 3: triple}


def reverse_repeat(values, n):
    """The values in reverse order, each ``n`` times: from (d, h, w) to the order that ``F.pad`` takes."""
    return tuple(v for v in reversed(values) for _ in range(n))


_reverse_repeat_tuple = reverse_repeat


def _list_with_default(out_size, defaults):
    """Sizes with None replaced by the last of `defaults`, the sizes of the input."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [v if v is not None else d for v, d in zip(out_size, defaults[-len(out_size):])]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Take `prefix` off the keys that begin with it, in place: ``module.`` of a model behind `DataParallel`."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    for key in list(getattr(state_dict, "_metadata", ())):
        if key == prefix.replace(".", "") or key.startswith(prefix):
            state_dict._metadata[key[len(prefix):]] = state_dict._metadata.pop(key)


def inplace_repr(module, comma=True):
    """``, inplace=True`` for a module that works in place, else nothing."""
    return ("inplace=True" if not comma else ", inplace=True") if module.inplace else ""
