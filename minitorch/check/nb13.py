"""Checks of lesson 13, "Memory, time and many workers": peaks, checkpoints, micro-batches, the ring, deadlocks."""

import numpy as np

from .exercise import Exercise, show
from .naming import variants

peak_bytes = Exercise(
    "nb13.peak_bytes", "The most bytes alive at a time; events are sizes, positive where memory is taken, negative "
    "where it is given back.",
    ("Walk through the events and keep a running total. When is it largest?", "The peak is the largest running total, "
     "not the last one.",
     "live = peak = 0; for size in events: live ____ size; peak = max(____, ____)"), tensors=False)
peak_bytes.cases(lambda: [([3],), ([3, -3, 2],), ([1, 2, -1, 4, -6],), ([],), ([5, -5, 4, 4],), ([2, 2, -4, 3, -3],),
                          ([1, 5, -1],)])
peak_bytes.truth(lambda events: max([0, *np.cumsum(events).tolist()]))
peak_bytes.slips(
    at_the_end=("that is what is alive at the *end*: the peak may be long over", lambda events: sum(events)),
    all_taken=("all bytes ever taken: what was given back in between is counted again",
               lambda events: sum(e for e in events if e > 0)),
    largest=("the largest single piece: several are alive at once", lambda events: max([0, *events])),
    first_run=("stopped at the first byte given back: the peak may come later",
               lambda events: sum(events[:next((i for i, e in enumerate(events) if e < 0), len(events))])),
    minimum=("the smallest running total, not the largest", lambda events: min([0, *np.cumsum(events).tolist()])),
    count=("the number of pieces, not their bytes", lambda events: sum(e > 0 for e in events)),
    mean=("the average of what is alive", lambda events: float(np.cumsum(events).mean()) if events else 0),
    absolute=("giving back is counted as taking", lambda events: sum(map(abs, events))))

stored = Exercise(
    "nb13.stored", "How many activations a chain of n layers holds at most, if only every k-th is stored and each "
    "segment of k is computed again in the backward pass.",
    ("Two kinds are alive in the backward pass: the stored ones, and those of the one segment that is being redone.",
     "ceil(n / k) stored ones. And how many in a segment?",
     "return -(-n // k) + min(____, ____)"), tensors=False)
stored.cases(lambda: [(16, 4), (16, 1), (16, 16), (10, 3), (100, 10), (7, 2), (5, 5), (12, 6), (3, 8)])
stored.describe(lambda n, k: f"n = {n} layers, every {k}th stored")


def kept(n, k, borders=lambda n, k: -(-n // k), inside=min, more=0):
    """Stored activations and those of one segment, with every decision as an option."""
    return borders(n, k) + inside(k, n) + more


kept_but = variants(kept)
stored.truth(kept)
stored.slips(
    checkpoints=("only the stored ones: the segment that is being redone needs memory, too",
                 kept_but(inside=lambda k, n: 0)),
    segment=("only the segment: the stored activations are alive all the time",
             kept_but(borders=lambda n, k: 0)),
    rounded_down=("n / k has to be rounded *up*: the last, shorter segment has a beginning as well",
                  kept_but(borders=lambda n, k: n // k)),
    product=("a sum, not a product: segments are redone one after the other", lambda n, k: -(-n // k) * min(k, n)),
    everything=("that is what it holds without checkpoints", lambda n, k: n),
    too_long=("a segment is never longer than the chain", kept_but(inside=lambda k, n: k)),
    exchanged=("k stored ones and segments of n / k: it is the other way round, though the sum is often the same",
               lambda n, k: k + n // k),
    off=("one too many", kept_but(more=1)))

accumulate = Exercise(
    "nb13.accumulate", "The gradient of the mean loss over a whole batch, from the mean gradients of its parts and the "
    "parts' sizes.",
    ("If the parts have different sizes, do their means count the same?",
     "Undo the division by each part's size, add up, divide by the whole.",
     "return sum(____ * g for g, n in zip(grads, sizes)) / ____"))
accumulate.cases(lambda: [([np.array([1.0, 2.0])], [3]), ([np.array([4.0]), np.array([1.0])], [1, 3]),
                          ([np.array([1.0]), np.array([3.0]), np.array([8.0])], [2, 2, 1])])


@accumulate.draw
def _(d):
    parts = d.int(2, 4)
    return [d.integers((2,), -4, 4).astype(float) for _ in range(parts)], [d.int(1, 5) for _ in range(parts)]




def joined(grads, sizes, weigh=lambda g, n: n * g, total=lambda sizes: sum(sizes)):
    """The gradient of the whole, with every decision as an option."""
    return sum(weigh(g, n) for g, n in zip(grads, sizes)) / total(sizes)


joined_but = variants(joined)
accumulate.truth(joined)
accumulate.slips(
    mean_of_means=("a mean of means: a part of 1 then counts as much as a part of 100",
                   lambda grads, sizes: sum(grads) / len(grads)),
    summed=("the gradients are added and not divided: the step grows with the number of parts",
            lambda grads, sizes: sum(grads)),
    last=("only the last part's gradient: `=` for `+=`", lambda grads, sizes: grads[-1]),
    first=("only the first part's gradient", lambda grads, sizes: grads[0]),
    not_weighted=("the parts count the same: weigh each by its size", joined_but(weigh=lambda g, n: g)),
    not_divided=("weighted by the sizes, but not divided by the whole: that is the gradient of the *sum* of the losses",
                 joined_but(total=lambda sizes: 1)),
    divided_by_parts=("divided by the number of parts, it should be by the number of samples", joined_but(total=len)),
    divided_by_sizes=("divided by each part's size again: they are means already",
                      lambda grads, sizes: sum(g / n for g, n in zip(grads, sizes))),
    averaged_by_sizes=("divided by each part's size (they are means already) and by the number of parts",
                       joined_but(weigh=lambda g, n: g / n, total=len)))

ring = Exercise(
    "nb13.ring", "Which chunk a rank sends to its right neighbour in a step of reduce-scatter, so that after world - 1 "
    "steps each rank holds one chunk that is complete.",
    ("In step 0 let rank r send chunk r. What has it just *received* before step 1? Send that on.",
     "In each step, the chunk that arrived in the step before. Your left neighbour's numbers are one lower than "
     "yours.",
     "return (____ - ____) % world"),
    tensors=False, parts=("parts in the fullest chunk of each rank", "and these are"))
ring.cases(lambda: [(2,), (3,), (4,), (5,), (7,)])
ring.describe(lambda world: f"a ring of {world} ranks. Below: for each rank, how many of the {world} ranks' parts its "
                            "fullest chunk has, and how many different chunks these are")


def reduce_scatter(choose, world):
    """Run the steps; for each rank the number of parts in its fullest chunk, and the chunk's number."""
    held = [[{rank} for _ in range(world)] for rank in range(world)]
    for step in range(world - 1):
        sent = [(rank, int(choose(rank, step, world)) % world) for rank in range(world)]
        parts = [set(held[rank][chunk]) for rank, chunk in sent]
        for (rank, chunk), part in zip(sent, parts):
            held[(rank + 1) % world][chunk] |= part
    fullest = [max(range(world), key=lambda c, row=row: len(row[c])) for row in held]
    return [len(row[c]) for row, c in zip(held, fullest)], len(set(fullest))


@ring.run
def _(choose, world):
    counts, different = reduce_scatter(choose, world)
    return [counts, f"{different} different chunks"]


ring.truth(lambda rank, step, world: (rank - step) % world)
ring.slips(
    always_own=("each rank sends its own chunk again and again: nothing travels further than one neighbour",
                lambda rank, step, world: rank),
    forwards=("(rank + step): that chunk has not arrived yet. Send on what came in: the number goes *down*",
              lambda rank, step, world: (rank + step) % world),
    by_step=("all ranks send the same chunk: only one chunk at a time moves, the other links carry nothing new",
             lambda rank, step, world: step),
    always_first=("chunk 0 always: it gets complete, the others never", lambda rank, step, world: 0),
    half_as_fast=("every second step the same chunk again: what has just arrived is not passed on",
                  lambda rank, step, world: (rank - step // 2) % world),
    too_fast=("twice as far in each step: chunks are skipped", lambda rank, step, world: (rank - 2 * step) % world))

finishes = Exercise(
    "nb13.finishes",
    "True if all ranks get to the end, if a send waits for its receive and a receive for its send.",
    ("Look at the *first* open operation of each rank. Which of them can happen now?",
     "A send of rank a to b can happen if b's first open operation is to receive from a. Then both move on. Repeat.",
     "Repeat: if ops[0] is ('send', peer) and left[peer][0] is (____, ____), take both away; stop when ____; "
     "finished if ____"),
    tensors=False)
S, R = "send", "receive"
finishes.cases(lambda: [
    ([[(S, 1)], [(R, 0)]],), ([[(S, 1), (R, 1)], [(S, 0), (R, 0)]],), ([[(S, 1), (R, 1)], [(R, 0), (S, 0)]],),
    ([[], []],), ([[(R, 1)], [(R, 0)]],), ([[(S, 1)], []],),
    ([[(S, 1), (R, 2)], [(S, 2), (R, 0)], [(S, 0), (R, 1)]],),
    ([[(S, 1), (R, 2)], [(R, 0), (S, 2)], [(R, 1), (S, 0)]],),
    ([[(S, 1), (S, 2)], [(R, 0)], [(R, 0)]],), ([[(S, 2), (S, 1)], [(R, 0), (S, 2)], [(R, 1), (R, 0)]],),
    ([[(R, 1), (S, 1)], [(R, 0), (S, 0)]],), ([[(S, 1)], [(R, 2)], []],)])
finishes.describe(lambda programs: "; ".join(
    f"rank {i}: {', '.join(f'{kind} {peer}' for kind, peer in ops) or 'nothing'}" for i, ops in enumerate(programs)))


def simulate(programs):
    """The operations that are left when no rank can go on."""
    left = [list(ops) for ops in programs]
    moved = True
    while moved:
        moved = False
        for rank, ops in enumerate(left):
            if ops and ops[0][0] == S and left[ops[0][1]][:1] == [(R, rank)]:
                left[ops[0][1]].pop(0)
                ops.pop(0)
                moved = True
    return left


def counts(programs, kind):
    return sorted((rank, peer) if kind == S else (peer, rank) for rank, ops in enumerate(programs)
                  for found, peer in ops if found == kind)


def buffered(programs):
    """As if sends never waited."""
    left, sent = [list(ops) for ops in programs], []
    moved = True
    while moved:
        moved = False
        for rank, ops in enumerate(left):
            if ops and ops[0][0] == S:
                sent.append((rank, ops.pop(0)[1]))
                moved = True
            elif ops and (ops[0][1], rank) in sent:
                sent.remove((ops.pop(0)[1], rank))
                moved = True
    return not any(left)


finishes.truth(lambda programs: not any(simulate(programs)))
finishes.slips(
    counted=("every send has its receive, but their *order* can still make all wait for each other",
             lambda programs: counts(programs, S) == counts(programs, R)),
    buffered=("as if a send never waited: with large messages it does",
              lambda programs: buffered(programs)),
    always=("it can hang: two ranks that both send first wait for ever", lambda programs: True),
    never=("some of these do finish", lambda programs: False),
    one_round=("one round is not enough: after one pair has moved on, look again",
               lambda programs: all(len(ops) <= 1 for ops in programs) and not any(simulate(programs))),
    someone_done=("all ranks have to finish, not only one",
                  lambda programs: any(not ops for ops in simulate(programs))),
    first_only=("only the first operations were looked at",
                lambda programs: all(not ops or any(o[:1] == [(R if ops[0][0] == S else S, i)] and j == ops[0][1]
                                                    for j, o in enumerate(programs))
                                     for i, ops in enumerate(programs))))

step_time = Exercise(
    "nb13.step_time", "The time of a synchronous step: all ranks compute, wait for each other, then share gradients.",
    ("Who decides when the exchange can begin?", "The slowest one: all others wait for it.",
     "return ____(compute) + ____"), tensors=False)
step_time.cases(lambda: [([1.0, 1.0], 0.5), ([1.0, 3.0, 1.0], 0.5), ([2.0], 0.0), ([1.0, 1.0, 1.0, 5.0], 1.0),
                         ([0.5, 0.25], 2.0)])
step_time.describe(lambda compute, exchange: f"the ranks compute for {show(compute)} s, the exchange takes "
                                             f"{exchange:g} s")


def waiting(compute, exchange, who=max, share=lambda exchange, ranks: exchange, join=lambda a, b: a + b):
    """The time of a step, with every decision as an option."""
    return join(who(compute), share(exchange, len(compute)))


waiting_but = variants(waiting)
step_time.truth(waiting)
step_time.slips(
    mean=("the average: the fast ones cannot lend their time to the slow one",
          waiting_but(who=lambda compute: sum(compute) / len(compute))),
    fastest=("the fastest one has to wait for the others", waiting_but(who=min)),
    summed=("they compute at the same time, not one after the other", waiting_but(who=sum)),
    no_exchange=("the exchange takes time, too", waiting_but(share=lambda exchange, ranks: 0)),
    exchange_each=("all ranks share in one exchange, not one after the other",
                   waiting_but(share=lambda exchange, ranks: exchange * ranks)),
    overlapped=("here the exchange begins when all are done; to overlap the two is the next improvement",
                waiting_but(join=max)),
    median=("the slowest rank counts, not the middle one",
            waiting_but(who=lambda compute: sorted(compute)[len(compute) // 2])))
