"""Keys whose hashes were chosen to collide, found before a dictionary or a set spends hours on them.

The hash of a number, or of a tuple of numbers, is known to everybody, so a file can hold keys that follow one another
on the same path through CPython's hash table: a megabyte of them takes half a minute. `Table` follows the same paths
with NumPy, many keys at a time, and counts the steps.
"""

import numpy as np

__all__ = ["Table"]

STEPS = 64                                                 # of one key, on average; ordinary keys take 2 to 25
LONGEST = 1000                                             # of one key
ALLOWANCE = 10_000


class Table:
    """The hash table of a dict, or of a set, as CPython would fill it with keys of given hashes."""

    def __init__(self, is_set):
        self.is_set, self.window = is_set, 10 if is_set else 1      # a set looks at ten neighbours first
        self.steps = self.total = 0
        self.make(8)

    def make(self, size):
        self.size, self.used = size, 0
        self.room = -(-(size - 1) * 3 // 5) if self.is_set else size * 2 // 3
        self.slots, self.taken = np.zeros(size, np.int64), np.zeros(size, bool)

    def add(self, hashes):
        """Enter keys of these hashes; False if they take too many steps."""
        hashes = np.asarray(hashes, np.int64)
        self.total += len(hashes)
        times = np.ones(len(hashes), np.int64)
        if len(hashes) > self.room - self.used:            # keys that are there already take steps but no room
            _, first, times = np.unique(hashes, return_index=True, return_counts=True)
            order = np.argsort(first)
            hashes, times = hashes[first[order]], times[order]
            there = np.isin(hashes, self.slots[self.taken])
            if not self.enter(hashes[there], times[there]):
                return False
            hashes, times = hashes[~there], times[~there]
        while len(hashes):
            free = self.room - self.used
            if free > 0 and not self.enter(hashes[:free], times[:free]) or free <= 0 and not self.grow():
                return False
            hashes, times = hashes[max(free, 0):], times[max(free, 0):]
        return True

    def grow(self):
        old, wanted = self.slots[self.taken], 3 * self.used - 1
        if self.is_set:
            wanted = self.used * (2 if self.used > 50_000 else 4)
        self.make(1 << max(3, wanted.bit_length()))
        return self.enter(old, np.ones(len(old), np.int64))

    def enter(self, hashes, times):
        """All keys take a step at once, each `times`; those that find an empty place, or their equal, are done."""
        mask, perturb = np.uint64(self.size - 1), hashes.view(np.uint64)
        place = perturb & mask
        for _ in range(LONGEST):
            self.steps += int(times.sum())
            if self.steps > STEPS * self.total + ALLOWANCE:
                return False
            left = self.missed(place.astype(np.intp), hashes)
            if not len(left):
                self.used = int(self.taken.sum())
                return True
            hashes, times, perturb = hashes[left], times[left], perturb[left] >> np.uint64(5)
            place = place[left] * np.uint64(5) + perturb + np.uint64(1) & mask
        return False

    def missed(self, place, hashes):
        """Put keys into their places, or the next ones of the window; the indices of those that find none free."""
        left, open_ = np.arange(len(hashes)), np.ones(len(hashes), bool)
        for step in range(self.window):
            if step:                                       # near its end the table has no window
                left = left[place[left] + self.window <= self.size]
            at = place[left] + step
            empty = ~self.taken[at]
            self.slots[at[empty]] = hashes[left[empty]]    # of several the last one has it, and the others see that
            self.taken[at[empty]] = True
            done = self.slots[at] == hashes[left]
            open_[left[done]] = False
            left = left[~done]
        return np.flatnonzero(open_)
