"""C whose numbers are parameters, so that one text serves many shapes.

Sizes as constants make the best loops, but each shape then needs a separate text, and a compiler
takes 0.1 to 3 s for each. So after more than a `HANDFUL` of shapes, a function gets texts in which
every number is read from a table: it is traced and lowered for each shape as before, in some
milliseconds, but its C is built already. Nothing is assumed about how numbers depend on sizes: a
program that differs in more than numbers has another text.
"""

import re
import struct

__all__ = ["HANDFUL", "Numbers"]

HANDFUL = 4                # programs of a function with constants in their C
NUMBER = re.compile(r"(\w*[^\w]{0,3})(?<![\w.\[@])(\d+(?:\.\d*)?(?:e[+-]?\d+)?)(f|LL)?(?![\w.\]])")


class Numbers:
    """The numbers of a text, in order, as 64 bits each.

    Numbers that are equal and stand after the same word, such as strides of the same dimension, are
    one.
    """

    def __init__(self):
        self.values: list = []
        self.places: dict = {}

    def place(self, digits, suffix, after):
        """Where a number of C lies in the table, and its type."""
        kind = "float" if suffix == "f" else "i64" if digits.isdigit() else "double"
        if kind == "i64":
            bits = int(digits)
        else:
            bits = struct.unpack("q", struct.pack("d", float(digits)))[0]
        at = self.places.setdefault((bits, kind, after), len(self.values))
        if at == len(self.values):
            self.values.append(bits)
        return at, kind

    def of_function(self, text):
        """The text of functions that read their numbers from an argument `N` when they begin.

        0 and 1 stay constants.
        """
        kinds: dict = {}

        def turn(found):
            if float(found[2]) in (0, 1):
                return found[0]
            at, kind = self.place(found[2], found[3] or "", found[1])
            kinds[at] = kind
            return f"{found[1]}n{at}_"
        found = []
        lines = [line if line.startswith("#") else NUMBER.sub(turn, line)
                 for line in text.split("\n")]
        for line in lines:
            if line.startswith("static"):
                line = line.replace("static void", "static __attribute__((noinline)) void")
                found.append(line.replace(") {", ", const i64 *N) {"))
                found += [f"  const {kind} n{at}_ = " + (f"N[{at}];" if kind == "i64" else
                          f"({kind})as_double(N[{at}]);") for at, kind in kinds.items()]
            else:
                found.append(line)
        return "\n".join(found)

    def of_statement(self, line, first):
        """A statement that reads its numbers from the table `N`, where these begin at `first`."""
        def turn(found):
            if found[3]:
                return found[0]                    # a factor of a product, which no shape changes
            self.values.append(int(found[2]))
            return f"{found[1]}N[{first + len(self.values) - 1}]"
        return NUMBER.sub(turn, line.split("    //")[0])   # sizes in comments are of one shape
