"""Python values as they were, to compare with what they are: attributes, items, contents."""

from itertools import chain
from operator import attrgetter, getitem, is_

__all__ = ["PLAIN", "Contents", "Given", "Items", "Registries", "Slots"]

PLAIN = (type(None), bool, int, float, complex, str, bytes)


def is_same(now, value):
    """True for the same object, and for equal numbers and strings of one type."""
    return now is value or (type(now) is type(value) and type(value) in PLAIN
                            and repr(now) == repr(value))


def attribute(x, name):
    """An attribute, or None if it has no value, as the contents of an empty cell."""
    try:
        return getattr(x, name, None)
    except ValueError:
        return None


class Slots:
    """Places in dicts and lists, and attributes of objects, with their values; and keys that are
    absent."""

    def __init__(self):
        self.places, self.keys, self.values = [], [], []
        self.objects, self.names, self.given, self.shown = [], [], [], []
        self.absent = []                                   # (keys of a dict, what it lacks)

    def add(self, place, keys):
        """Note ``place[key]``; for a key that is not there, that it is absent."""
        absent = {k for k in keys if k not in place}
        if absent:
            self.absent.append((place.keys(), absent))
        for k in keys:
            if k not in absent:
                self.places.append(place)
                self.keys.append(k)
                self.values.append(place[k])

    def add_attribute(self, x, name, shown=None):
        """Note ``getattr(x, name)``, which messages call `shown`."""
        self.objects.append(x)
        self.names.append(name)
        self.given.append(attribute(x, name))
        self.shown.append(shown or name)

    def __len__(self):
        return len(self.places) + len(self.objects) + len(self.absent)

    def same(self):
        try:
            if (all(map(is_, map(getitem, self.places, self.keys), self.values))
                    and all(map(is_, map(getattr, self.objects, self.names), self.given))
                    and all([keys.isdisjoint(names) for keys, names in self.absent])):
                return True
        except (LookupError, AttributeError, ValueError):
            return False
        return self.changed() is None

    def changed(self):
        """The name of the first place whose value has changed, or None."""
        for n, (place, key, value) in enumerate(zip(self.places, self.keys, self.values)):
            try:
                now = place[key]
            except LookupError:
                return key
            if not is_same(now, value):
                return key
            self.values[n] = now
        for n, (x, name, value) in enumerate(zip(self.objects, self.names, self.given)):
            now = attribute(x, name)
            if not is_same(now, value):
                return self.shown[n]
            self.given[n] = now
        return next((k for keys, names in self.absent for k in names if k in keys), None)


class Contents:
    """The contents of a list, a deque, the keys or values of a dict, in their order."""

    def __init__(self, x, name):
        self.x, self.name, self.values = x, name, list(x)

    def same(self):
        """True if it has the same objects, or equal numbers and strings."""
        x, values = self.x, self.values
        if len(x) == len(values) and all(map(is_, x, values)):
            return True
        if len(x) != len(values) or not all(map(is_same, x, values)):
            return False
        self.values = list(x)
        return True


class Items:
    """The contents of a set or a buffer, compared by value: ``look(x)`` is a copy."""

    def __init__(self, x, name, look):
        self.x, self.name, self.look, self.value = x, name, look, look(x)

    def same(self):
        return self.look(self.x) == self.value


class Given:
    """Which tensors have a gradient. A program reads this in each run, and gives them others."""

    name = "grad"

    def __init__(self):
        self.tensors, self.none = [], []

    def __len__(self):
        return len(self.tensors)

    def add(self, x):
        self.tensors.append(x)
        self.none.append(x._grad is None)

    def same(self):
        return [g is None for g in map(grad_of, self.tensors)] == self.none


class Registries:
    """The dicts in which modules have their parameters, buffers and children: that they are as long
    as they were, and have the same values."""

    name = None

    def __init__(self):
        self.empty, self.views, self.values = [], [], []

    def __len__(self):
        return len(self.views) + len(self.empty)

    def add(self, places):
        for place in places:
            if place:
                self.views.append(place.values())
                self.values += place.values()
            else:
                self.empty.append(place)

    def end(self):
        """Mark the end of the values, so that fewer or more of them differ."""
        self.views.append([self])
        self.values.append(self)

    def same(self):
        return (not any(self.empty)
                and all(map(is_, chain.from_iterable(self.views), self.values)))


grad_of = attrgetter("_grad")
