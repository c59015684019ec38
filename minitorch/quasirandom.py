"""Sobol' sequences, as PyTorch's ``torch.quasirandom``: points that fill the unit cube more evenly than random ones.

The direction numbers are those of S. Joe and F. Y. Kuo, "Constructing Sobol sequences with better two-dimensional
projections" (2008), from SciPy's table; the order of points is that of Gray codes (I. A. Antonov and V. M. Saleev,
1979). A seed gives PyTorch's points.
"""

import io
import pkgutil
from functools import lru_cache

import numpy as np

from . import Generator, from_numpy, get_default_dtype, int64, randint, zeros

__all__ = ["SobolEngine"]

BITS = 30


class SobolEngine:
    """Draws points of the Sobol' sequence in `dimension` (1 to 21,201) dimensions, in [0, 1). Needs SciPy.

    With `scramble` each dimension's numbers go through a random lower triangular matrix of bits and a shift, Matousek's
    scrambling; `seed` makes them reproducible, else they come from the default generator.
    ``SobolEngine(2).draw(3)`` is [[0, 0], [0.5, 0.5], [0.75, 0.25]].
    """

    MAXBIT, MAXDIM = BITS, 21201

    def __init__(self, dimension, scramble=False, seed=None):
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        numbers, self.shift = direction_numbers(dimension), zeros(dimension, dtype=int64)
        if scramble:
            numbers = self._scramble(numbers)
        self.sobolstate = from_numpy(numbers)
        self.reset()

    def reset(self):
        """Start from the beginning; returns the engine."""
        self.num_generated, self.quasi = 0, self.shift.clone()
        return self

    def fast_forward(self, n):
        """Leave out the next `n` points; returns the engine."""
        self.num_generated += n
        if self.num_generated:
            self.quasi = self._integers(self.num_generated - 1, self.num_generated)[0]
        return self

    def draw(self, n=1, out=None, dtype=None):
        """The next `n` points, (n, dimension), of the default dtype."""
        points = self._integers(self.num_generated, self.num_generated + n)
        self.num_generated += n
        if n:
            self.quasi = points[-1].clone()
        result = points.to(dtype or get_default_dtype()) / 2**BITS
        return result if out is None else out.resize_as_(result).copy_(result)

    def draw_base2(self, m, out=None, dtype=None):
        """The next ``2**m`` points; ValueError unless the number of all drawn is then a power of 2."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(f"The balance properties of Sobol' points require n to be a power of 2. "
                             f"{self.num_generated} points have been previously generated, then: "
                             f"n={self.num_generated}+2**{m}={total}. If you still want to do this, please use "
                             f"'SobolEngine.draw()' instead.")
        return self.draw(2**m, out=out, dtype=dtype)

    def _integers(self, start, stop):
        """Points as integers of 30 bits: the sum without carry of the numbers that the index's Gray code chooses."""
        if stop > 2**BITS:
            raise ValueError(f"a Sobol' sequence has 2**{BITS} points, {stop} were asked for")
        index = np.arange(start, stop)
        gray, numbers = index ^ index >> 1, self.sobolstate.numpy()
        points = np.tile(self.shift.numpy(), (len(index), 1))
        for bit in range(max(stop - 1, 0).bit_length()):
            points[(gray >> bit & 1).astype(bool)] ^= numbers[:, bit]
        return from_numpy(points)

    def _scramble(self, numbers):
        """Direction numbers through random matrices; draws the shift, too."""
        generator = None if self.seed is None else Generator().manual_seed(self.seed)
        powers = 2 ** np.arange(BITS, dtype=np.int64)
        shifts = randint(2, (self.dimension, BITS), generator=generator)
        self.shift = from_numpy(shifts.numpy() @ powers)
        below = randint(2, (self.dimension, BITS, BITS), generator=generator).numpy()
        rows = np.tril(below, -1) + np.eye(BITS, dtype=np.int64)
        bits = numbers[:, :, None] >> np.arange(BITS)[::-1] & 1     # (dimension, numbers, bits), the highest first
        return (bits @ rows.swapaxes(1, 2) % 2) @ powers[::-1]

    def __repr__(self):
        words = [f"dimension={self.dimension}", *["scramble=True"] * bool(self.scramble)]
        words += [] if self.seed is None else [f"seed={self.seed}"]
        return f"{type(self).__name__}({', '.join(words)})"


@lru_cache(maxsize=8)
def direction_numbers(dimension):
    """(dimension, 30) integers of 30 bits, by the recurrence of each dimension's primitive polynomial."""
    try:
        table = np.load(io.BytesIO(pkgutil.get_data("scipy.stats", "_sobol_direction_numbers.npz")))
    except (ImportError, OSError) as error:
        raise ImportError("SobolEngine reads its table of direction numbers from SciPy: pip install scipy") from error
    numbers = np.ones((dimension, BITS), np.int64)         # the first dimension: van der Corput's sequence
    for d in range(1, dimension):
        polynomial = int(table["poly"][d])
        degree = polynomial.bit_length() - 1
        row = [int(x) for x in table["vinit"][d, :degree]]
        for j in range(degree, BITS):
            new = row[j - degree]
            for k in range(1, degree + 1):
                if polynomial >> degree - k & 1:
                    new ^= row[j - k] << k
            row.append(new)
        numbers[d] = row
    return numbers << np.arange(BITS)[::-1]
