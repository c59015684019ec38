"""`Generator`: the source of random numbers, the same words in the same order as PyTorch's on the CPU.

PyTorch's generator is the Mersenne Twister MT19937, seeded as its authors' ``init_genrand`` does, of whose 32-bit
words a 64-bit draw takes two, the high half first. NumPy has the same engine in C. A generator's state also has one
normal number: they come in pairs, and an odd one is kept for the next call.

How words become numbers of a distribution is in `minitorch.random.sampling`.
"""

import operator
import os

import numpy as np

from ..core.device import device as make_device
from ..core.device import host
from ..core.tensor import wrap

__all__ = ["Generator", "default_generator"]

DEFAULT_SEED = 67280421310721          # of a new Generator; the default generator starts unpredictably
UNIT = np.float32(2.0**-24)
KINDS: dict = {}                       # type of device -> another kind of generator; filled by `philox`
BLOCK = 1 << 15                        # words drawn at a time: results stay in the cache

# PyTorch's serialised state, 5056 bytes: the words of the engine in 64 bits each, relics of an older generator,
# the spare normal number in float64 and (of use on other devices) in float32.
STATE = np.dtype(
    {
        "names": ["seed", "left", "seeded", "next", "words", "spare", "has_spare", "spare32", "has_spare32"],
        "formats": ["u8", "i4", "i4", "u8", ("u8", 624), "f8", "i4", "f4", "?"],
        "offsets": [0, 8, 12, 16, 24, 5024, 5040, 5048, 5052],
        "itemsize": 5056,
    }
)


class Generator:
    """A pseudo-random stream of its own: ``rand(3, generator=Generator().manual_seed(0))``.

    The same seed gives the same numbers as in PyTorch on the CPU, and a state saved by one can be loaded into the
    other. A generator is picklable and copyable. `device` says where the numbers are wanted. CUDA devices and the
    simulator have a generator of another kind (`minitorch/random/philox.py`), as in PyTorch.
    """

    def __new__(cls, device="cpu"):
        if cls is Generator:
            cls = KINDS.get(make_device(device).type, Generator)
        return super().__new__(cls)

    def __init__(self, device="cpu"):
        self._device = make_device(device)
        self._bits = np.random.MT19937(0)
        self._seeder = np.random.RandomState(self._bits)     # the public way to init_genrand
        self.spare = None                                    # the second of a pair of normal numbers
        self._spare32 = None                                 # never used here; kept for whoever gave it
        self.manual_seed(DEFAULT_SEED)

    @property
    def device(self):
        """The device whose tensors it serves."""
        return self._device

    # ------------------------------------------------------------------ seeds and states
    def manual_seed(self, seed):
        """Start the stream of `seed`, an integer from -2**63 to 2**64 - 1; returns the generator.

        A negative seed counts from 2**64; the engine uses the low 32 bits.
        """
        self._seed = self.check_seed(seed)
        self._seeder.seed(self._seed & 0xFFFFFFFF)
        self.spare = self._spare32 = None
        return self

    @staticmethod
    def check_seed(seed):
        """A seed as a number from 0 to 2**64 - 1."""
        if isinstance(seed, (bool, float)) or not hasattr(seed, "__index__"):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        seed = operator.index(seed)
        if not -(1 << 63) <= seed < 1 << 64:
            raise ValueError(f"Overflow when unpacking long long: a seed lies from -2**63 to 2**64 - 1, got {seed}")
        return seed % (1 << 64)

    def seed(self):
        """Seed from the operating system's randomness; returns the seed."""
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self):
        """The seed that the stream started from."""
        return self._seed

    def get_state(self):
        """The state as a uint8 tensor of 5056 elements, laid out as PyTorch's."""
        return wrap(self.state_bytes(), host())

    def set_state(self, new_state):
        """Continue from a state that `get_state`, here or in PyTorch, has returned."""
        array = getattr(new_state, "array", None)
        if array is None:
            raise TypeError(f"expected a minitorch.ByteTensor (uint8), as get_state returns, "
                            f"but got {type(new_state).__name__}")
        self.load_bytes(array)
        return self

    def state_bytes(self):
        """The state as a NumPy array of 5056 bytes."""
        engine = self._bits.state["state"]
        words, position = engine["key"], int(engine["pos"])
        # The engine is at the end of its words both when they are used up and when they are a seed's, yet unused.
        # PyTorch tells these apart, though nothing else depends on it.
        if position == 624 and np.array_equal(words, seeded_words(self._seed)):
            position = 0
        state = np.zeros((), STATE)
        state["seed"], state["seeded"], state["words"] = self._seed, 1, words
        state["next"], state["left"] = position, 625 - position if position else 1
        for name, spare in (("spare", self.spare), ("spare32", self._spare32)):
            state[name], state["has_" + name] = (0, 0) if spare is None else (spare, 1)
        return np.frombuffer(bytearray(state.tobytes()), np.uint8)

    def load_bytes(self, array):
        """Set the state from a NumPy array of 5056 bytes."""
        if array.dtype != np.uint8:
            raise TypeError(f"RNG state must be a minitorch.ByteTensor (uint8), got {array.dtype}")
        if array.size != STATE.itemsize:
            raise RuntimeError(f"Expected a CPUGeneratorImplState of size {STATE.itemsize} but found the input RNG "
                               f"state size to be {array.size}")
        state = np.frombuffer(array.tobytes(), STATE)[0]
        left, position = int(state["left"]), int(state["next"])
        unused = (left, position) == (1, 0)
        if not state["seeded"] or not (unused or 1 <= position == 625 - left):
            raise RuntimeError(f"Invalid mt19937 state: {left} words left at position {position} of 624")
        self._seed = int(state["seed"])
        self._bits.state = {"bit_generator": "MT19937", "state": {
            "key": state["words"].astype(np.uint32), "pos": 624 if unused else position}}
        self.spare = float(state["spare"]) if state["has_spare"] else None
        self._spare32 = float(state["spare32"]) if state["has_spare32"] else None

    def clone_state(self):
        """A new generator in the same state."""
        other = Generator(self._device)
        other.load_bytes(self.state_bytes())
        return other

    graphsafe_get_state = clone_state

    def graphsafe_set_state(self, state):
        """Continue from the state of another generator."""
        self.load_bytes(state.state_bytes())

    def get_offset(self):
        """Error: only counter-based generators have an offset."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset):
        """Error: only counter-based generators have an offset."""
        raise RuntimeError("CPU Generator does not use offset")

    # ------------------------------------------------------------------ draws
    def words(self, n):
        """The next `n` 32-bit words, as a uint64 array."""
        return self._bits.random_raw(n)

    def blocks(self, n, words):
        """Yield ``(slice, words)`` for `n` numbers of so many `words` each, a cache-sized block at a time."""
        step = BLOCK // words
        draw = self._bits.random_raw
        for start in range(0, n, step):
            stop = min(start + step, n)
            yield slice(start, stop), draw((stop - start) * words)

    def doubles(self, n):
        """The next `n` numbers in [0, 1) of 53 bits, as a float64 array; two words each."""
        return unit_double(self._bits.random_raw(2 * n))


def seeded_words(seed):
    """The 624 words that the engine starts from."""
    return np.random.RandomState(seed & 0xFFFFFFFF).get_state()[1]


def unit_float(words):
    """Numbers in [0, 1) of 24 bits, as float32, from one word each."""
    return (words & 0xFFFFFF).view(np.int64).astype(np.float32) * UNIT


def unit_double(words):
    """Numbers in [0, 1) of 53 bits, as float64, from two words each."""
    bits = words[0::2] & 0x1FFFFF
    bits <<= 32
    bits |= words[1::2]
    return bits.view(np.int64) * 2.0**-53


default_generator = Generator()
default_generator.seed()
defaults = {"cpu": default_generator}  # by device


def default_of(device):
    """The generator that is drawn from for a device where none is given.

    CUDA devices and the simulator have one each, which starts from the seed of the CPU's; the other devices share the
    CPU's.
    """
    if device.type not in KINDS:
        return default_generator
    found = defaults.get(str(device))
    if found is None:
        found = defaults[str(device)] = Generator(device).manual_seed(default_generator.initial_seed())
    return found


def default_states():
    """The states of all default generators, for `restore_defaults`."""
    return {name: g.state_bytes() for name, g in defaults.items()}


def restore_defaults(states):
    """Bring default generators back to the states that they had."""
    for name, state in states.items():
        defaults[name].load_bytes(state)
