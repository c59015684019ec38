"""Containers: modules (and parameters) kept in lists and dicts, so that their parents register
them."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain, islice

from ...core.tensor import Tensor
from ..hooks import note_change
from ..parameter import Parameter
from .module import Module, indented

__all__ = ["Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"]


def position(index, length):
    """``index`` as a position in a sequence of ``length``; negative ones count from the end. IndexError if outside."""
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"index {index} is out of range")
    return index % length


def _pairs(owner, given):
    """``given``, a mapping or an iterable of pairs, as ``(key, value)`` pairs; the errors speak for ``owner``."""
    if not isinstance(given, Iterable):
        raise TypeError(f"{owner}.update should be called with an iterable of key/value pairs, "
                        f"but got {type(given).__name__}")
    if hasattr(given, "items"):
        yield from given.items()
        return
    for i, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{owner} update sequence element #{i} should be Iterable; is {type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{owner} update sequence element #{i} has length {len(pair)}; 2 is required")
        yield pair


def _check_iterable(owner, given):
    if not isinstance(given, Iterable) or isinstance(given, Tensor):       # nobody means the rows of a tensor
        raise TypeError(f"{owner}.extend should be called with an iterable, but got {type(given).__name__}")


class _ModuleSequence(Module):
    """Base of ``Sequential`` and ``ModuleList``: children named "0", "1", ... or, in ``Sequential``, otherwise."""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return self._slice(list(self._modules.items())[idx])
        return next(islice(self._modules.values(), position(idx, len(self)), None))

    def __setitem__(self, idx, module):
        setattr(self, list(self._modules)[position(idx, len(self))], module)

    def __delitem__(self, idx):
        names = list(self._modules)
        gone = names[idx] if isinstance(idx, slice) else [names[position(idx, len(self))]]
        for name in gone:
            delattr(self, name)
        self._renumber(self._modules.values())

    def _renumber(self, modules):
        self._modules = {str(i): module for i, module in enumerate(modules)}

    def _insert(self, index, module):
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def append(self, module):
        """Add ``module`` at the end; return the container."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        """Remove the module at position ``key`` and return it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_ModuleSequence):
    """Modules called one after the other, each on what the last one returned.

    Built from modules, or from an ``OrderedDict`` of name to module. Indexing, slicing, ``append``, ``insert``,
    ``extend``, ``pop``, ``del``, ``+`` and ``*`` work as on a list.

    >>> from minitorch import nn
    >>> nn.Sequential(nn.Linear(2, 3), nn.ReLU())[1]
    ReLU()
    """

    def __init__(self, *args):
        super().__init__()
        named = args[0] if len(args) == 1 and isinstance(args[0], OrderedDict) else None
        for name, module in named.items() if named is not None else enumerate(args):
            self.add_module(str(name) if named is None else name, module)

    def _slice(self, items):
        return type(self)(OrderedDict(items))

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(other)

    def __mul__(self, other):
        return Sequential(*list(self) * self._times(other))

    __rmul__ = __mul__

    def __imul__(self, other):
        return self.extend(list(self) * (self._times(other) - 1))

    def _times(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")
        return other

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def insert(self, index, module):
        """Put ``module`` before position ``index``; return the container."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        return self._insert(index, module)

    def extend(self, sequential):
        """Append every module of an iterable; return the container."""
        for module in list(sequential):
            self.append(module)
        return self


class ModuleList(_ModuleSequence):
    """A list of modules. It has no ``forward``: loop over it."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _slice(self, items):
        return type(self)(module for _, module in items)

    def __add__(self, other):
        return ModuleList(chain(self, other))

    def __iadd__(self, modules):
        return self.extend(modules)

    def insert(self, index, module):
        """Put ``module`` before position ``index``, as ``list.insert`` does."""
        self._insert(index, module)

    def extend(self, modules):
        """Append every module of an iterable; return the container."""
        _check_iterable(type(self).__name__, modules)
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self):
        """Equal neighbours are shown once, with their range: ``(0-2): 3 x Linear(...)``."""
        runs = []                           # [first, last, text]
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return self._get_name() + "()"
        lines = [f"\n  ({a}): {indented(text)}" if a == b else f"\n  ({a}-{b}): {b - a + 1} x {indented(text)}"
                 for a, b, text in runs]
        return f"{self._get_name()}({''.join(lines)}\n)"


class ModuleDict(Module):
    """A dict of modules, in order of insertion. It has no ``forward``."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        delattr(self, key)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Remove all modules."""
        note_change()
        self._modules.clear()

    def pop(self, key):
        """Remove the module ``key`` and return it."""
        note_change()
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """``(name, module)`` pairs."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Take in the modules of a mapping or of an iterable of ``(name, module)`` pairs."""
        for key, module in _pairs(type(self).__name__, modules):
            self[key] = module


def _as_parameter(value):
    """Plain tensors become parameters; everything else is kept as it is."""
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


def _described(value, type_name):
    if isinstance(value, Tensor):
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        size = "x".join(map(str, value.size()))
        where = "" if value.device.type == "cpu" else f" ({value.device})"
        return f"{kind} containing: [{type_name(value)} of size {size}{where}]"
    return f"Object of type: {type(value).__name__}"


class ParameterList(Module):
    """A list of parameters (tensors become parameters; other values are kept but are not
    parameters)."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __len__(self):
        return self._size

    def __iter__(self):
        return (getattr(self, str(i)) for i in range(self._size))

    def __getitem__(self, idx):
        if isinstance(idx, slice):
            return type(self)(getattr(self, str(i)) for i in range(*idx.indices(self._size)))
        return getattr(self, str(position(idx, self._size)))

    def __setitem__(self, idx, param):
        setattr(self, str(position(idx, self._size)), _as_parameter(param))

    def __iadd__(self, parameters):
        return self.extend(parameters)

    def append(self, value):
        """Add ``value`` at the end; return the list."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Append every value of an iterable; return the list."""
        _check_iterable(type(self).__name__, values)
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self):
        lines = (f"  ({i}): " + _described(value, lambda t: t.dtype) for i, value in enumerate(self))
        return "\n".join(lines)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dict of parameters, in order of insertion (tensors become parameters; other values are kept as they are)."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def _key_to_attr(self, key):
        if not isinstance(key, str):
            raise TypeError("Index given to ParameterDict cannot be used as a key as it is not a string "
                            f"(type is '{type(key).__name__}'). Open an issue on github if you need non-string keys.")
        return key

    def __getitem__(self, key):
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key, value):
        self._keys[key] = None
        setattr(self, self._key_to_attr(key), _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def __or__(self, other):
        merged = self.copy()
        merged.update(other)
        return merged

    def __ror__(self, other):
        merged = other.copy()
        merged.update(self)
        return merged

    def __ior__(self, other):
        self.update(other)
        return self

    def copy(self):
        """A new dict of the same parameters."""
        return ParameterDict(OrderedDict(self.items()))

    def setdefault(self, key, default=None):
        """The value of ``key``, which is first set to ``default`` if it is not there."""
        if key not in self:
            self[key] = default
        return self[key]

    def get(self, key, default=None):
        """The value of ``key``, or ``default``."""
        return self[key] if key in self else default

    def pop(self, key):
        """Remove ``key`` and return its value."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Remove the last pair and return it."""
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self):
        """Remove everything."""
        for key in list(self._keys):
            del self[key]

    def fromkeys(self, keys, default=None):
        """A new dict with ``default`` under each of ``keys``."""
        return ParameterDict((key, default) for key in keys)

    def keys(self):
        """The names."""
        return self._keys.keys()

    def items(self):
        """``(name, value)`` pairs."""
        return ((key, self[key]) for key in self._keys)

    def values(self):
        """The values."""
        return (self[key] for key in self._keys)

    def update(self, parameters):
        """Take in a mapping or an iterable of ``(name, value)`` pairs; a plain dict goes in sorted by name, as in
        PyTorch, an ``OrderedDict`` or ``ParameterDict`` in its own order."""
        pairs = list(_pairs("ParameterDict", parameters))
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs.sort(key=lambda pair: pair[0])
        for key, value in pairs:
            self[key] = value

    def extra_repr(self):
        lines = (f"  ({key}): " + _described(value, lambda t: t.type()) for key, value in self.items())
        return "\n".join(lines)

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")
