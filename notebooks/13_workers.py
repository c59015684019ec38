# %% [markdown]
# # 13. Memory, time and many workers
#
# Most training runs do not end because the mathematics is wrong. They end because the memory is full, or because three
# of four machines wait for the fourth. This notebook is about both: what autograd keeps alive and how to keep less, and
# how several workers compute *exactly* what one would have computed.
#
# **You will be able to**
# * find out why an array is still alive, and stop the most common leak;
# * trade time for memory with checkpoints, and say how much;
# * split a batch into parts without changing the gradient;
# * run ranks that talk to each other with `minitorch.distributed`, train with `DistributedDataParallel`, and read the
#   message when one of them fails;
# * run a ring all-reduce by hand, explain a deadlock, and predict what a straggler costs.
#
# You need: notebooks 2 and 5. Time: an hour and a half.

# %%
import copy
import time
import tracemalloc
from datetime import timedelta

import matplotlib.pyplot as plt
import numpy as np

import minitorch as torch
import minitorch.distributed as dist
from minitorch import check, memory, nn
from minitorch.datasets import Digits
from minitorch.distributed import threads
from minitorch.nn import functional as F
from minitorch.nn.parallel import DistributedDataParallel
from minitorch.utils.checkpoint import checkpoint
from minitorch.viz.pictures import show_figure

images, labels = Digits(train=True).tensors()
images = images.flatten(1)

# %% [markdown]
# ## Why is this still here?
#
# A graph keeps the arrays that its backward rules will read. As long as anyone holds the *result*, the graph stays, and
# with it everything that was saved on the way. Ask:

# %%
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 10))
hidden = model[:2](images[:500])
loss = F.cross_entropy(model[2](hidden), labels[:500])
memory.explain(hidden)

# %% [markdown]
# Now delete the variable. The memory stays: the loss remembers it, through two nodes.

# %%
saved = hidden.detach()
del hidden
memory.explain(saved)

# %% [markdown]
# ## The classical leak
#
# `losses.append(loss)` keeps every graph of the whole epoch. `losses.append(loss.item())` keeps a number. Watch the
# bytes:


# %%
def epoch(keep):
    """The bytes alive after each step, if keep(loss) is what the list gets."""
    tracemalloc.start()
    losses, alive = [], []
    for batch in torch.arange(1200).split(100):
        losses.append(keep(F.cross_entropy(model(images[batch]), labels[batch])))
        alive.append(tracemalloc.get_traced_memory()[0] / 1e6)
    tracemalloc.stop()
    return alive


leak, clean = epoch(lambda loss: loss), epoch(lambda loss: loss.item())
figure, axis = plt.subplots(figsize=(8, 3))
axis.plot(leak, "o-", label="losses.append(loss)")
axis.plot(clean, "s--", label="losses.append(loss.item())")
axis.set(xlabel="step", ylabel="megabytes alive", ylim=(0, None))
axis.legend()
show_figure(figure, f"""Megabytes alive after each of twelve steps: with losses.append(loss) a straight line up to
            {leak[-1]:.1f}, with losses.append(loss.item()) a flat one near {clean[-1]:.1f}.""")
assert leak[-1] > 5 * leak[0] and clean[-1] < 0.3 * leak[-1]

# %% [markdown]
# ## Exercise: the peak
#
# What counts is not how much memory a program takes in all, and not what it holds at the end, but the most it holds at
# any moment. Events are sizes: positive where memory is taken, negative where it is given back.


# %%
def peak_bytes(events):
    """The most that is alive at any time."""
    # <solution>
    live = peak = 0
    for size in events:
        live += size
        peak = max(peak, live)
    return peak
    # </solution>


check.nb13.peak_bytes(peak_bytes)

# %% [markdown]
# ## A mountain
#
# The forward pass of a deep network climbs: each layer leaves something for the backward pass. The backward pass walks
# down again. Checkpointing stores only the border of every segment, throws the inside away, and computes it once more
# when it is needed: a saw instead of a mountain.


# %%
def timeline(segment):
    """Megabytes alive at each layer of a 24-layer network, forward and backward; segments are checkpointed."""
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(128, 128), nn.Tanh()) for _ in range(24)]
    seen = []

    def look(*_):
        seen.append(tracemalloc.get_traced_memory()[0] / 1e6)
    for layer in layers:
        layer.register_forward_hook(look)
        layer[0].weight.register_post_accumulate_grad_hook(look)
    x = torch.randn(1000, 128)
    tracemalloc.start()
    h = x
    for start in range(0, 24, segment):
        part = nn.Sequential(*layers[start:start + segment])
        h = checkpoint(part, h, use_reentrant=False) if segment > 1 else part(h)
    h.square().mean().backward()
    tracemalloc.stop()
    return seen


figure, axis = plt.subplots(figsize=(9, 3.4))
peaks = []
for segment, style in ((1, "-"), (6, "--")):
    seen = timeline(segment)
    peaks.append(max(seen))
    axis.plot(seen, style, label="everything stored" if segment == 1 else f"checkpoints every {segment} layers")
    print(f"segments of {segment}: at most {max(seen):.0f} MB, {len(seen)} layer events")
axis.set(xlabel="layer events: forward, then backward (with what is computed again)", ylabel="megabytes",
         ylim=(0, None))
axis.legend()
show_figure(figure, f"""Megabytes alive over the layers, forward and then backward. Everything stored: one mountain,
            up to {peaks[0]:.0f}. Checkpoints every 6 layers: a low climb and four teeth of a saw, up to
            {peaks[1]:.0f}.""")
assert peaks[1] < 0.7 * peaks[0]

# %% [markdown]
# ## Exercise: how many?
#
# A chain of $n$ layers, every $k$-th activation stored. While a segment is computed again, its inside is alive, too.


# %%
def stored(n, k):
    """The most activations alive at a time."""
    # <solution>
    return -(-n // k) + min(k, n)
    # </solution>


check.nb13.stored(stored)

# %%
if check.passed("nb13.stored"):
    n = 144
    best = min(range(1, n + 1), key=lambda k: stored(n, k))
    print(f"{n} layers: {stored(n, 1)} with everything stored, {stored(n, best)} with segments of {best} = sqrt({n})")
    print("price: about one more forward pass, a third more time")

# %% [markdown]
# ## Exercise: a batch that does not fit
#
# Compute it in parts and add the gradients up. The parts need not be equal, so be careful: what you get from each is
# the gradient of its *mean* loss.


# %%
def accumulate(grads, sizes):
    """grads: of the mean loss of each part; sizes: their numbers of samples. The whole batch's gradient."""
    # <solution>
    return sum(n * g for g, n in zip(grads, sizes)) / sum(sizes)
    # </solution>


check.nb13.accumulate(accumulate)


# %%
def gradient(index):
    """All gradients of the model for some samples, in one row."""
    model.zero_grad()
    F.cross_entropy(model(images[index]), labels[index]).backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


if check.passed("nb13.accumulate"):
    whole = gradient(torch.arange(100))
    parts = torch.arange(100).split([50, 30, 20])
    together = accumulate([gradient(part) for part in parts], [len(part) for part in parts])
    print("largest difference:", (whole - together).abs().max().item())
    assert torch.allclose(whole, together, atol=1e-6)

# %% [markdown]
# That is already data parallelism: the parts may as well be computed by different machines. Four ranks with a quarter
# of the batch each take *the same step* as one rank with all of it, up to the last bits.
#
# ## Ranks
#
# A *rank* is one of several programs that run the same code at the same time and know their number. Usually each is a
# process, on one machine or on many. For a look at them, `threads.run` starts them as threads of this notebook: all
# calls between them are the same. Each rank calls the *same* collectives in the *same* order, and each waits for all.


# %%
def hello(rank):
    x = torch.tensor([10.0 + rank])
    dist.all_reduce(x)                                 # now the sum over all ranks, on each of them
    everyone = [torch.zeros(1) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, torch.tensor([float(rank)]))
    return x.item(), torch.cat(everyone).tolist()


for rank, (total, everyone) in enumerate(threads.run(hello, 4)):
    print(f"rank {rank}: the sum is {total}, the others have {everyone}")

# %% [markdown]
# `DistributedDataParallel` puts this behind a model: when `backward()` returns, the gradients are the means over all
# ranks. Each rank has its own model and its own quarter of the batch. If the four quarters have the same size, the mean
# of their gradients is that of the whole batch.


# %%
def quarter(rank):
    """The gradient of this rank's model, all in one row."""
    mine = DistributedDataParallel(copy.deepcopy(model))
    mine.zero_grad()
    F.cross_entropy(mine(images[rank:100:4]), labels[rank:100:4]).backward()
    return torch.cat([p.grad.flatten() for p in mine.parameters()])


found = threads.run(quarter, 4)
print("all ranks have the same bits:", all(torch.equal(found[0], other) for other in found))
whole = gradient(torch.arange(100))
print("largest difference from one rank with the whole batch:", (whole - found[0]).abs().max().item())
assert all(torch.equal(found[0], other) for other in found) and torch.allclose(whole, found[0], atol=1e-6)

# %% [markdown]
# What is left is how the gradients of all ranks are added up, on all ranks, without one machine that everybody talks
# to.
#
# ## The ring
#
# Cut the gradient into as many chunks as there are ranks. In each step every rank sends *one* chunk to its right
# neighbour, who adds it to its own. After `world - 1` steps each rank holds one chunk that is complete
# (*reduce-scatter*); in `world - 1` further steps the complete chunks go round (*all-gather*). Every link is busy all
# the time, and each rank sends only about twice the size of the gradient, however many ranks there are.
#
# ## Exercise: who sends what?
#
# In step 0, rank $r$ sends chunk $r$. What in step 1? The one that has just arrived: it carries two ranks' parts now.


# %%
def ring(rank, step, world):
    """The number of the chunk that `rank` sends in `step`."""
    # <solution>
    return (rank - step) % world
    # </solution>


check.nb13.ring(ring)


# %%
def ring_all_reduce(rank, choose):
    """Ring all-reduce by messages; this rank's result, and how many ranks' parts its chunks had in each step."""
    world, seen = dist.get_world_size(), []
    chunks = [c.clone() for c in (torch.arange(8.0) + 10 * rank).chunk(world)]
    parts = [1] * world                                # the number of ranks whose parts a chunk has
    for step in range(2 * world - 2):
        gather = step >= world - 1
        if gather:                             # what a rank has got last of reduce-scatter is complete: pass it on
            back = step - world + 2
            send, take = [choose((r - back) % world, world - 2, world) % world for r in (rank, rank - 1)]
        else:
            send, take = [choose(r % world, step, world) % world for r in (rank, rank - 1)]
        came, count = torch.zeros_like(chunks[take]), torch.zeros(1)
        sent = [dist.isend(x, (rank + 1) % world) for x in (chunks[send], torch.tensor([float(parts[send])]))]
        dist.recv(came, (rank - 1) % world)
        dist.recv(count, (rank - 1) % world)
        for work in sent:
            work.wait()
        chunks[take] = came if gather else chunks[take] + came
        parts[take] = int(count.item()) + (0 if gather else parts[take])
        seen.append(list(parts))
    return torch.cat(chunks), seen


if check.passed("nb13.ring"):
    world = 4
    found = threads.run(ring_all_reduce, world, args=(ring,))
    expected = sum(torch.arange(8.0) + 10 * r for r in range(world))
    print("all ranks agree:", all(torch.equal(result, expected) for result, _ in found), expected.tolist())
    figure, axes = plt.subplots(1, 2 * world - 2, figsize=(12, 2.4))
    for step, axis in enumerate(axes):
        counts = np.array([seen[step] for _, seen in found])
        axis.imshow(counts, cmap="cividis", vmin=0, vmax=world)
        for (r, c), n in np.ndenumerate(counts):
            axis.text(c, r, int(n), ha="center", va="center", color="white" if n < 3 else "black")
        axis.set(title=f"after step {step + 1}", xlabel="chunk", ylabel="" if step else "rank", xticks=[], yticks=[])
    show_figure(figure, """Six tables of 4 ranks by 4 chunks with the number of ranks whose parts a chunk has: ones at
                first, after three steps a diagonal of fours, after six steps fours everywhere.""")
    assert all(torch.equal(result, expected) for result, _ in found) and (counts == world).all()

# %% [markdown]
# Each number says how many ranks' parts a chunk contains. After three steps there is a 4 in every row; then the fours
# spread.
#
# ## Exercise: a deadlock
#
# A `send` waits until its partner receives, a `receive` until its partner sends. If all ranks begin with a send, nobody
# ever receives. Given each rank's list of operations, does everybody get to the end?


# %%
def finishes(programs):
    """programs[rank] is a list of ("send", peer) and ("receive", peer); they are done in order, each waits."""
    # <solution>
    left = [list(ops) for ops in programs]
    moved = True
    while moved:
        moved = False
        for rank, ops in enumerate(left):
            if ops and ops[0][0] == "send":
                peer = ops[0][1]
                if left[peer] and left[peer][0] == ("receive", rank):
                    ops.pop(0)
                    left[peer].pop(0)
                    moved = True
    return not any(left)
    # </solution>


check.nb13.finishes(finishes)

# %% [markdown]
# So in a ring, not everybody may send first. The usual cure: even ranks send first, odd ranks receive first (or one
# uses an exchange that does both at once).

# %%
if check.passed("nb13.finishes"):
    for name, first in (("all send first", lambda r: True), ("even ranks send first", lambda r: r % 2 == 0)):
        programs = []
        for r in range(4):
            both = [("send", (r + 1) % 4), ("receive", (r - 1) % 4)]
            programs.append(both if first(r) else both[::-1])
        print(f"{name}: {'finishes' if finishes(programs) else 'hangs'}")
        assert finishes(programs) == ("even" in name)

# %% [markdown]
# A real hang looks like this: two ranks that both receive first. After the timeout, here a second, every rank is told
# who waits for whom, in which call and line. The same message comes when a rank raises, is killed, sleeps, or calls
# something else than the others.


# %%
def told(program, size):
    """The message that the ranks get when they go wrong."""
    try:
        threads.run(program, size, timeout=timedelta(seconds=1))
    except (RuntimeError, KeyError) as error:
        print(f"{type(error).__name__}: {error}\n")


told(lambda rank: dist.recv(torch.zeros(3), 1 - rank), 2)
told(lambda rank: dist.broadcast(torch.zeros(5), 0) if rank == 1 else dist.all_reduce(torch.zeros(10)), 3)
told(lambda rank: time.sleep(1.5) if rank == 2 else dist.all_reduce(torch.zeros(10)), 3)

# %% [markdown]
# ## Exercise: the straggler
#
# All ranks must have their gradients before the exchange can begin. How long does a step take?


# %%
def step_time(compute, exchange):
    """compute: seconds of each rank; exchange: seconds of the all-reduce. Seconds of the step."""
    # <solution>
    return max(compute) + exchange
    # </solution>


check.nb13.step_time(step_time)

# %% [markdown]
# If each rank's time varies a little, the *maximum* grows with the number of ranks, though the mean does not. That is
# why large clusters care so much about slow machines:

# %%
if check.passed("nb13.step_time"):
    rng = np.random.default_rng(0)
    ranks = [1, 2, 4, 8, 16, 32, 64, 128, 256]
    times = [np.mean([step_time(rng.gamma(50, 1 / 50, n), 0.05) for _ in range(300)]) for n in ranks]
    figure, axis = plt.subplots(figsize=(8, 3))
    axis.semilogx(ranks, times, "o-", base=2)
    axis.set(xlabel="ranks", ylabel="seconds a step", title="each rank takes 1 s on average, give or take 0.14 s")
    show_figure(figure, f"""Seconds a step against the number of ranks, on a logarithmic axis: a line that rises from
                {times[0]:.2f} for one rank to {times[-1]:.2f} for 256.""")
    assert times[-1] > times[0] + 0.3

# %% [markdown]
# ## More ranks than you have
#
# `dist.plan` runs one step on the ranks of the job, records each call with its bytes and the
# computation in between, and simulates it for other numbers of ranks: a message of $B$ bytes takes
# $\alpha + B / \beta$ seconds. `spread` adds stragglers. It is a model, not a measurement: its use
# is to see *which* term grows.


# %%
def planned(rank):
    mine = DistributedDataParallel(copy.deepcopy(model))
    optimizer = torch.optim.SGD(mine.parameters(), 0.1)

    def step():
        optimizer.zero_grad()
        F.cross_entropy(mine(images[rank:400:2]), labels[rank:400:2]).backward()
        optimizer.step()
    return dist.plan(step, link="10GbE", spread=0.1)


print(threads.run(planned, 2)[0])

# %% [markdown]
# To run a script on several processes, and on several machines: `python -m minitorch.distributed.run --nproc-per-node 4
# train.py`; `docs/distributed.md` has the recipes.

# %% [markdown]
# ## In real PyTorch
#
# Checkpointing and accumulating change nothing but time and memory.


# %%
def same_gradient(torch):
    from importlib import import_module
    checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 2))
    x = torch.linspace(-1, 1, 30).reshape(6, 5)
    results = []
    for forward in (net, lambda x: checkpoint(net, x, use_reentrant=False)):
        net.zero_grad()
        forward(x).square().mean().backward()
        results.append(net[0].weight.grad.clone())
    net.zero_grad()
    for part in x.split(2):
        (net(part).square().mean() / 3).backward()
    return (*results, net[0].weight.grad)


check.in_pytorch(same_gradient)

# %%
check.report()

# %% [markdown]
# **Remember**
# * A result keeps its graph, a graph keeps what its rules will read. Store numbers, not losses.
# * Checkpoints every $\sqrt n$ layers: memory $2\sqrt n$ instead of $n$, for one more forward pass.
# * Weight parts by their sizes, and many workers take the same step as one.
# * In a ring every rank sends the same amount, and the slowest one sets the pace.
# * All ranks make the same calls in the same order; a rank that does not is named, with its line.
#
# **Go further.** Exchange the gradients of the last layers while the first ones are still being computed. How much of
# the exchange can be hidden?
#
# Next: [14. For teachers: autograder and mutation lab](14_teachers.ipynb)
