"""The passes of a kernel over each row: the values that each pass computes, and those that it keeps
for later ones.

A value that depends on a reduction of the row belongs to a later pass than the reduction. A value
that a later pass needs again is computed again if that is cheap, read from memory if it was stored,
or else kept in an array by the pass that made it.
"""

from __future__ import annotations

from .loops import AT, REDUCTIONS

__all__ = ["COLLECT", "Schedule"]

# effects that gather values in arrays of their own
COLLECT = (*REDUCTIONS, "rowsum")
DEAR = 5               # cost from which on a value is kept for a later pass, and not computed again
NEVER = 99                 # the cost of a value that cannot be computed again


class Schedule:
    """The passes of a kernel; `own_cost(node)` is the cost of a scalar function alone."""

    def __init__(self, kernel, own_cost):
        self.nodes, self.dims, self.own_cost = kernel.nodes, kernel.dims, own_cost
        self.stage = self.stages()
        self.effects = [(e, self.is_wide(e), max(self.stage.get(x, 0) for x in values_of(e)))
                        for e in kernel.effects]           # (effect, over all columns?, pass)
        self.passes = 1 + max([s for _, wide, s in self.effects if wide]
                              + [self.stage[n] - 1 for n in self.reductions()], default=-1)
        self.overwritten: dict = {}                    # root -> the first pass that stores there
        for e, _, stage in self.effects:
            self.overwritten[e.ref.root] = min(stage, self.overwritten.get(e.ref.root, stage))
        self.stored = {e.x: e.ref for e, wide, _ in self.effects if e.kind == "store" and wide
                       and e.x.level == "e" and e.x.op not in ("load", "column")}
        self.carried: dict = {}                            # values that are kept for later passes
        self.choose_carried()

    # -- questions of the printer ------------------------------------------------------------------
    def reductions(self, at=None):
        """The reductions of rows that pass `at` makes, or all of them."""
        return [n for n in self.nodes if n.op in REDUCTIONS and at in (None, self.stage[n] - 1)]

    def row_values(self, at):
        """The values that are the same for a whole row, and known before pass `at`."""
        return [n for n in self.nodes
                if n.level != "e" and n.op not in REDUCTIONS and self.stage[n] == at]

    def effects_in(self, at, wide):
        """The effects of pass `at` on all columns, or those once a row in front of it."""
        return [e for e, is_wide, stage in self.effects if stage == at and is_wide == wide]

    def carried_from(self, at):
        """The values that pass `at` keeps for later ones."""
        return [n for n in self.carried if self.stage[n] == at]

    # -- the analysis ------------------------------------------------------------------------------
    def stages(self):
        """The pass in which each value is known: of a reduction, the pass after its loop."""
        stage: dict = {}
        for n in self.nodes:
            at = max([stage.get(a, 0) for a in n.args], default=0)
            stage[n] = at + 1 if n.op in REDUCTIONS else at
        return stage

    def is_wide(self, e):
        """True if an effect happens for each column, not once a row."""
        if e.x.level == "e" or e.kind in AT:
            return True
        return self.dims[-1] > 1 and (e.ref.strides[-1] != 0 or e.kind == "sum")

    def choose_carried(self):
        """Keep expensive values that are used later; then drop those that no later pass looks up
        itself."""
        uses = self.last_uses()
        for n in self.nodes:
            late = n.level == "e" and uses.get(n, 0) > self.stage[n] and n not in self.stored
            if late and self.cost(n, uses[n]) >= DEAR:     # those before it count as kept
                self.carried[n] = None
        again = self.read_again()
        self.carried = {n: None for n in self.carried if n in again}

    def last_uses(self):
        """The last pass that needs each value of elements."""
        uses: dict = {}

        def use(x, at):
            if x.level == "e":
                uses[x] = max(at, uses.get(x, 0))
        for e, wide, stage in self.effects:
            for x in values_of(e) if wide else ():
                use(x, stage)
        for n in reversed(self.nodes):
            at = self.stage[n] - 1 if n.op in REDUCTIONS else uses.get(n)
            for a in n.args if at is not None else ():
                use(a, at)
        return uses

    def read_again(self):
        """The values that a later pass looks up, and not only values made of them."""
        found, seen = set(), set()
        todo = [(x, at) for e, wide, at in self.effects if wide for x in values_of(e)]
        todo += [(a, self.stage[n] - 1) for n in self.reductions() for a in n.args]
        while todo:
            n, at = todo.pop()
            if n.level != "e" or n.op == "const" or (n, at) in seen:
                continue
            seen.add((n, at))
            if self.stage[n] < at and self.is_at_hand(n):
                found.add(n)
            else:
                todo += [(a, at) for a in n.args]
        return found

    def is_at_hand(self, n):
        """True if a pass after the one that makes a value can look it up."""
        return n in self.stored or n in self.carried

    def cost(self, n, at):
        """The cost of computing a value again in pass `at`."""
        if n.level != "e" or n.op == "column":
            return 0
        if self.is_at_hand(n):
            return 1
        if n.op in ("load", "gather"):
            return NEVER if self.overwritten.get(n.ref.root, at) < at else 1
        if n.op in ("running", "across"):
            return NEVER
        return self.own_cost(n) + sum(self.cost(a, at) for a in dict.fromkeys(n.args))


def values_of(e):
    """The values that an effect needs."""
    return [x for x in (e.x, e.row) if x is not None]
