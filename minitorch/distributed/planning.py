"""`plan`: how long a step would take on more ranks. A model, not a measurement.

One step is run on the ranks there are, and its calls are noted: what, how many bytes, how much was computed in between,
what was under way meanwhile. A call counts with what it gives to the transport: the tensors of a coalesced call one by
one, objects as they were pickled. Then the step is played again for other numbers of ranks, each with as much to
compute as here, with the time of a call by the alpha-beta model: a message of B bytes takes alpha + B / beta. Thakur,
Rabenseifner & Gropp (2005), "Optimization of collective communication operations in MPICH".
"""

import time
from typing import NamedTuple

import numpy as np

from .groups import current_world
from .transport import Proxy

__all__ = ["LINKS", "Link", "Plan", "plan"]


class Link(NamedTuple):
    """A network: `latency` of a message in seconds, `rate` in bytes per second."""

    latency: float
    rate: float


LINKS = {"1GbE": Link(50e-6, 0.117e9), "10GbE": Link(30e-6, 1.17e9), "25GbE": Link(20e-6, 2.9e9),
         "100GbE": Link(10e-6, 11.7e9), "ib200": Link(2e-6, 23e9), "ib400": Link(2e-6, 46e9),
         "memory": Link(1e-6, 10e9)}


def steps(n):
    """The depth of a binary tree of n ranks."""
    return max(n - 1, 0).bit_length()


def ring(n, size, link):
    """All-reduce around a ring: 2 (n - 1) messages of size / n."""
    return 2 * (n - 1) * (link.latency + size / n / link.rate)


def tree(n, size, link):
    """All-reduce up and down a tree: few messages, of the whole size; best for small ones."""
    return 2 * steps(n) * (link.latency + size / link.rate)


def hierarchical(n, size, link, per_node, local):
    """All-reduce within nodes, of each part around a ring of nodes, and within nodes again; a link for each rank."""
    k = min(n, per_node)
    return ring(k, size, local) + ring(-(-n // k), size / k, link)


def cost(name, size, n, link, per_node=1, local=LINKS["memory"]):
    """Seconds of one call of a transport among `n` ranks; `size` is the number of bytes of the array it gives."""
    if n == 1:
        return 0.0
    name = name.removeprefix("i")
    if name in ("send", "recv"):
        return link.latency + size / link.rate
    if name == "barrier" or size == 0:
        return 2 * steps(n) * link.latency
    if name.startswith("all_reduce"):
        return min(ring(n, size, link), tree(n, size, link), hierarchical(n, size, link, per_node, local))
    if name.startswith(("all_gather", "reduce_scatter", "gather", "scatter")):
        return (n - 1) * (link.latency + size / link.rate)
    if name.startswith("all_to_all"):
        return (n - 1) * (link.latency + size / n / link.rate)
    return steps(n) * link.latency + size / link.rate      # broadcast, reduce: in pieces along a tree


class Call(NamedTuple):
    """One call of a step: seconds of computation before it, its name, what it asked of the transport as a list of
    (name, bytes), and whether the step went on meanwhile."""

    before: float
    name: str
    parts: list
    asynchronous: bool

    @property
    def size(self):
        """The bytes of all parts."""
        return sum(size for _, size in self.parts)


SIZES = {"barrier": lambda: 0, "broadcast": lambda array, root: array.nbytes,
         "all_gather": lambda outs, array: array.nbytes, "gather": lambda outs, array, root: array.nbytes,
         "scatter": lambda out, arrays, root: out.nbytes,
         "all_to_all": lambda outs, arrays: sum(array.nbytes for array in arrays),
         "all_reduce": lambda array, op: array.nbytes, "all_reduce_shared": lambda arrays, op: arrays[0].nbytes,
         "reduce": lambda array, root, op: array.nbytes, "reduce_scatter": lambda out, arrays, op: out.nbytes,
         "send": lambda array, to, tag: array.nbytes, "recv": lambda array, source, tag: array.nbytes}


class Watched(Proxy):
    """A transport whose calls are noted in `parts`, with their bytes."""

    def __init__(self, transport, parts):
        super().__init__(transport)
        self.__dict__["parts"] = parts

    def __getattr__(self, name):
        found = super().__getattr__(name)
        if name not in SIZES:
            return found

        def noted(*arguments):
            self.parts.append((name, SIZES[name](*arguments)))
            return found(*arguments)
        return noted


class Trace:
    """Notes the calls of one step."""

    def __init__(self):
        self.calls, self.clock = [], time.perf_counter()

    def noted(self, name, asynchronous, body):
        """The `body` of a call, with what it asks of the transport noted."""
        now = time.perf_counter()
        call = Call(now - self.clock, name, [], asynchronous)
        self.calls.append(call)
        self.clock = now

        def watched(transport):
            found = body(Watched(transport, call.parts))
            if not asynchronous:
                self.clock = time.perf_counter()
            return found
        return watched


class Plan:
    """The calls of a step, and how long it would take: ``seconds(ranks)``, ``table()``. A model."""

    def __init__(self, calls, after, link, per_node, spread):
        self.calls, self.after, self.link, self.per_node, self.spread = calls, after, link, per_node, spread

    compute = property(lambda self: sum(c.before for c in self.calls) + self.after,
                       doc="Seconds of computation in the step.")

    def slowest(self, ranks):
        """By how much the slowest of the ranks computes longer than usual: the mean of the largest of `ranks` draws."""
        if not self.spread:
            return 1.0
        draws = np.random.default_rng(0).standard_normal((64, ranks)).max(1)
        return float(np.exp(self.spread * draws).mean())

    def seconds(self, ranks):
        """The time of a step."""
        now = network = 0.0                                # until when the rank computes, and calls are under way
        slow = self.slowest(ranks)
        for call in self.calls:
            now += call.before * slow
            network = max(now, network) + self.cost(call, ranks)
            if not call.asynchronous:
                now = network
        return max(now + self.after * slow, network)

    def communication(self, ranks):
        """Seconds of all calls, one after the other."""
        return sum(self.cost(call, ranks) for call in self.calls)

    def cost(self, call, ranks):
        """Seconds of one call."""
        return sum(cost(name, size, ranks, self.link, self.per_node) for name, size in call.parts)

    def table(self, ranks=(1, 2, 4, 8, 16, 64, 256, 1024, 4096)):
        """A table in Markdown: step, calls, how much of them is hidden behind computation, and efficiency."""
        rows = ["| ranks | step (model) | calls | hidden | efficiency |", "|---:|---:|---:|---:|---:|"]
        for n in ranks:
            whole, calls, alone = self.seconds(n), self.communication(n), self.compute * self.slowest(n)
            hidden = f"{max(0.0, 1 - (whole - alone) / calls):.0%}" if calls else "-"
            rows.append(f"| {n:,} | {whole * 1e3:.2f} ms | {calls * 1e3:.2f} ms | {hidden} | "
                        f"{self.compute / whole:.0%} |")
        return "\n".join(rows)

    __str__ = table


def plan(step, link="10GbE", per_node=1, spread=0.0, ranks=None):
    """Run `step()` twice on the ranks of the job, all of them, and model it for more; returns a `Plan`, or seconds.

    link: a name in `LINKS`, or a `Link`. per_node: ranks that share a node, within which messages cost as in memory.
    spread: the standard deviation of the logarithm of a rank's computing time, for stragglers. ranks: a number, for
    the seconds of a step on so many ranks.
    """
    if isinstance(link, str):
        if link not in LINKS:
            raise ValueError(f"there is no link {link!r}: give one of {', '.join(LINKS)}, or Link(latency, rate)")
        link = LINKS[link]
    world = current_world()
    step()
    world.default.meet("barrier")
    trace = world.trace = Trace()
    try:
        step()
    finally:
        world.trace = None
    found = Plan(trace.calls, time.perf_counter() - trace.clock, Link(*link), per_node, spread)
    return found if ranks is None else found.seconds(ranks)
