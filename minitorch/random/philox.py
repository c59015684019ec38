"""The generator of CUDA devices and the simulator: Philox, which computes any of its numbers at once.

Philox 4x32-10 turns a key and a counter of 128 bits into four 32-bit words by ten rounds of multiplications: J. Salmon,
M. Moraes, R. Dror and D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. The key is the seed; one half of
the counter is the generator's offset divided by 4, the other says which four words of a draw these are. So each thread
of a GPU finds its own words, and the whole state is (seed, offset), which a draw moves on by 4.

State, seed and offset mean what they mean in PyTorch's CUDA generator. Which word goes to which element does not: there
it depends on the number of multiprocessors, here on nothing, so that a seed gives the same numbers on every device.
`words` is the reference of the kernels (`backends/cuda/src/random.cu`).
"""

import operator
from typing import Any, NamedTuple

import numpy as np

from .generator import KINDS, Generator, unit_double

__all__ = ["PhiloxGenerator", "Place", "words"]

MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
WEYL = 0x9E3779B9, 0xBB67AE85                              # increments of the key after each round
LOW = np.uint64(0xFFFFFFFF)
STATE_BYTES = 16


def philox(key, counter):
    """Four words for each counter: `key` two ints, `counter` four arrays of 32-bit words in uint64.

    >>> [hex(int(x[0])) for x in philox((0, 0), [np.zeros(1, np.uint64)] * 4)]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    a, b, c, d = counter
    first, second = key
    for _ in range(10):
        p, q = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a, b, c, d = (q >> 32) ^ b ^ np.uint64(first), q & LOW, (p >> 32) ^ d ^ np.uint64(second), p & LOW
        first, second = (first + WEYL[0]) & 0xFFFFFFFF, (second + WEYL[1]) & 0xFFFFFFFF
    return a, b, c, d


def words(seed, offset, n):
    """The first `n` 32-bit words of the draw at `offset`, as a uint64 array."""
    index, call = np.arange(-(-n // 4), dtype=np.uint64), np.uint64(offset // 4)
    counter = [call & LOW, call >> np.uint64(32), index & LOW, index >> np.uint64(32)]
    counter = [np.broadcast_to(x, index.shape) for x in counter]
    return np.stack(philox((seed & 0xFFFFFFFF, seed >> 32), counter), -1).reshape(-1)[:n]


class Place(NamedTuple):
    """Position of a draw in the stream. `state`, if not None, is an array of the device of two uint64, seed and offset,
    to whose offset `offset` is added: so a captured graph finds other numbers each time it runs."""

    seed: int
    offset: int
    state: Any = None


class PhiloxGenerator(Generator):
    """A `Generator` for a CUDA device or the simulator; ``Generator(device="cuda")`` makes one."""

    def __init__(self, device="cuda"):
        self._state = None
        super().__init__(device)

    # ------------------------------------------------------------------ seeds and states
    def manual_seed(self, seed):
        """Start the stream of `seed`, an integer from -2**63 to 2**64 - 1; returns the generator."""
        self._seed, self._offset, self.spare = self.check_seed(seed), 0, None
        return self

    def state_bytes(self):
        """The state as 16 bytes: seed and offset, 64 bits each."""
        return np.frombuffer(bytearray(np.array([self._seed, self._offset], "<u8").tobytes()), np.uint8)

    def load_bytes(self, array):
        """Set the state from 16 bytes."""
        if array.dtype != np.uint8:
            raise TypeError(f"RNG state must be a minitorch.ByteTensor (uint8), got {array.dtype}")
        if array.size != STATE_BYTES:
            raise RuntimeError(f"RNG state is wrong size: a generator of {self.device} has {STATE_BYTES} bytes, seed "
                               f"and offset, got {array.size}")
        self._seed, offset = map(int, np.frombuffer(array.tobytes(), "<u8"))
        self.set_offset(offset)
        self.spare = None

    def clone_state(self):
        """A new generator in the same state."""
        other = PhiloxGenerator(self._device)
        other.load_bytes(self.state_bytes())
        return other

    graphsafe_get_state = clone_state

    def get_offset(self):
        """The offset of the stream: 4 for each draw."""
        return self._offset

    def set_offset(self, offset):
        """Go on from an offset, a multiple of 4."""
        offset = operator.index(offset)
        if offset < 0 or offset % 4:
            raise RuntimeError(f"offset must be a multiple of 4, and not negative, got {offset}")
        self._offset = offset

    # ------------------------------------------------------------------ draws
    def take(self):
        """The `Place` of the next draw, which may have any number of words."""
        place = Place(self._seed, self._offset - (self._captured_from if self._state is not None else 0), self._state)
        self._offset += 4
        return place

    def words(self, n):
        """The words of the next draw, as a uint64 array on the host."""
        place = self.take()
        return words(place.seed, place.offset, n)

    def doubles(self, n):
        """`n` numbers in [0, 1) of 53 bits, as a float64 array on the host."""
        return unit_double(self.words(2 * n))

    def blocks(self, n, words):
        """Yield ``(slice, words)`` for `n` numbers of so many `words` each."""
        yield slice(0, n), self.words(n * words)

    # ------------------------------------------------------------------ captured graphs
    def begin_capture(self, state):
        """From here on draws read seed and offset from `state`, an array of the device of two uint64."""
        self._state, self._captured_from = state, self._offset

    def end_capture(self):
        """Back to seed and offset of the host; how far one run of the captured graph moves the stream."""
        self._state, moved, self._offset = None, self._offset - self._captured_from, self._captured_from
        return moved

    def next_run(self, moved):
        """Seed and offset for the next run of a captured graph, to be copied into its `state`; then moves on."""
        now = np.array([self._seed, self._offset], np.uint64)
        self._offset += moved
        return now


KINDS.update(cuda=PhiloxGenerator, sim=PhiloxGenerator)
