"""Errors about names that are not there."""

import difflib


class NoAttribute:
    """The text of an AttributeError: names that are close are looked for when somebody reads it, not when `hasattr`
    asks. `known()` gives the names that are there."""

    def __init__(self, text, name, known):
        self.text, self.name, self.known = text, name, known

    def __str__(self):
        near = difflib.get_close_matches(self.name, [n for n in self.known() if not n.startswith("_")], 1)
        return self.text + "".join(f". Did you mean: '{n}'?" for n in near)

    def __repr__(self):
        return repr(str(self))

    def __reduce__(self):
        return str, (str(self),)
