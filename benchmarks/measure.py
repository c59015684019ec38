"""Timing two ways of doing the same thing so that the ratio can be trusted on a busy machine.

The contestants take turns, many short turns each, and the median of the pairwise ratios counts: what slows the machine
down for a while slows both.
"""

import gc
import statistics
import time


def turns(contestants, rounds=31, seconds=0.004):
    """Seconds per call of each contestant, a list for each: `rounds` interleaved turns of about `seconds`."""
    numbers = [calls_for(f, seconds) for f in contestants]
    found = [[] for _ in contestants]
    gc.collect()
    gc.disable()
    try:
        for r in range(rounds):
            order = range(len(contestants)) if r % 2 else reversed(range(len(contestants)))
            for i in order:
                found[i].append(one_turn(contestants[i], numbers[i]))
    finally:
        gc.enable()
    return found


def calls_for(f, seconds):
    """How many calls of f make a turn of about `seconds`; at least one."""
    f()
    n = 1
    while True:
        t = one_turn(f, n) * n
        if t > seconds / 2 or n >= 1 << 20:
            return max(1, int(n * seconds / max(t, 1e-9)))
        n *= 4


def one_turn(f, n):
    start = time.perf_counter()
    for _ in range(n):
        f()
    return (time.perf_counter() - start) / n


def compare(ours, theirs, **options):
    """(our seconds, their seconds, ratio ours/theirs): medians over interleaved turns."""
    a, b = turns([ours, theirs], **options)
    return statistics.median(a), statistics.median(b), statistics.median(x / y for x, y in zip(a, b))
