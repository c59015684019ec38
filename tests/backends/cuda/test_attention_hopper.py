"""The forward kernel of attention for compute capability 9.0: sizes, layouts, several parts a block, waits."""

import numpy as np
import pytest

from minitorch.backends.cuda.ops import attention, attention_hopper
from minitorch.backends.cuda.ops.product import capability
from minitorch.backends.cuda.runtime.kernel import Kernel
from tests.backends.cuda.kernel_checks import DEVICE, device, launches, put
from tests.backends.cuda.test_attention import bf16, check, f16, f32, inputs

if capability(device.machine) != 90:
    pytest.skip("wgmma is of compute capability 9.0", allow_module_level=True)

HOPPER = ["attention_hopper"]
BACKWARD = ["attention_delta", "attention_hopper_query_grad", "attention_hopper_key_grad"]


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """A device of two multiprocessors, so that small problems are worth it and blocks have several parts."""
    monkeypatch.setattr(attention_hopper, "multiprocessors", lambda machine: 2)


def forward(arrays, **attrs):
    """The result of arrays of the device, and what was launched."""
    with launches() as names:
        out, _ = attention.scaled_dot_product_attention(device, *arrays, **attrs)
    return device.to_host(out), names


@pytest.mark.parametrize(("dtype", "query", "key", "features", "causal"), [
    (bf16, (2, 2, 200, 64), (2, 1, 200, 64), None, True), (f16, (1, 130, 128), (1, 260, 128), 72, False)], ids=str)
def test_attention(dtype, query, key, features, causal):
    """Keys that several heads share; values of fewer features; logarithms as the backward kernels need them."""
    arrays = inputs(dtype, query, key, None, features=features)
    got, names = check(arrays, scale=0.2, causal=causal)
    assert names == HOPPER + BACKWARD
    if DEVICE == "sim" and causal:
        from minitorch.backends import sim
        with sim.settings(order="seeded", seed=7):
            again = forward([put(x) for x in arrays[1:4]], scale=0.2, causal=causal)[0]
        assert again.tobytes() == got[0].tobytes()


def test_one_tile_and_weights_of_zero_and_one():
    """Heads of 40 features; the first consumer's rows see none of the second tile of keys. Then one query."""
    arrays = inputs(bf16, (2, 193, 40), (2, 150, 40), None)
    assert check(arrays, scale=20.0, causal=True)[1] == HOPPER + BACKWARD
    assert check(inputs(bf16, (3, 1, 64), (3, 5, 64), None), scale=0.2, causal=True)[1] == HOPPER + BACKWARD


def test_strided_heads_are_not_copied():
    """Heads of (batch, place, head, feature), all three in one array, as a projection gives them."""
    rng = np.random.default_rng(0)
    packed = device.from_host(rng.normal(size=(2, 70, 3, 2, 64)).astype(f16))
    q, k, v = [packed[:, :, i].transpose(0, 2, 1, 3) for i in range(3)]
    got, names = forward([q, k, v], scale=0.2)
    wanted, others = forward([put(device.to_host(x)) for x in (q, k, v)], scale=0.2)
    assert names == others == HOPPER and got.tobytes() == wanted.tobytes()


def test_which_arrays_are_taken(monkeypatch):
    """Not float32, small heads, rows at no multiple of 16 bytes, masks, heads from the last to the first, keys that are
    one row, too little work; but one head for all of a batch."""
    def taken(dtype=f16, shape=(3, 5, 64), mask=None, change=lambda k: k):
        found = []
        for where, name in ((attention_hopper, "KERNEL"), (attention, "FORWARD")):
            monkeypatch.setattr(where, name, lambda *args, name=name, **how: found.append(name))
        q, k, v, mask = [put(x) for x in inputs(dtype, shape, shape, mask)[1:]]
        attention.scaled_dot_product_attention(device, q, change(k), v, mask, scale=0.2)
        return found == ["KERNEL"]
    monkeypatch.setattr(attention_hopper, "multiprocessors", lambda machine: 4)
    assert taken() and taken(bf16, (2, 5, 128)) and taken(change=lambda k: device.xp.broadcast_to(k[:1], k.shape))
    assert not (taken(f32) or taken(shape=(3, 5, 32)) or taken(shape=(3, 5, 60)) or taken(mask="bools"))
    assert not (taken(change=lambda k: k[::-1]) or taken(shape=(1, 5, 64)))
    assert not taken(change=lambda k: device.xp.broadcast_to(k[:, :1], k.shape))


WAITS = ("wait(shared.empty + ring.stage, ring.parity ^ 1);", "wait(shared.queries_read, turn % 2 ^ 1);",
         "wait(shared.full + ring.stage, ring.parity);", "wait_products<1>(weights.at);")


@pytest.mark.skipif(DEVICE != "sim", reason="a race may go unnoticed on a GPU")
@pytest.mark.parametrize("number", range(len(WAITS)))
def test_waits_are_needed(monkeypatch, number):
    """But that for queries, which the simulator's copies, one after the other, bring before the first keys."""
    from minitorch.backends.sim import SimulatorError
    monkeypatch.setattr(attention_hopper, "multiprocessors", lambda machine: 1)
    if number != 1:                                        # where the ring is short, it makes the producer wait
        monkeypatch.setitem(attention_hopper.STAGES, 64, 2)
    original = attention_hopper.KERNEL
    assert original.source.text.count(WAITS[number]) == 1
    source = original.source._replace(text=original.source.text.replace(WAITS[number], ""))
    monkeypatch.setattr(attention_hopper, "KERNEL", Kernel(source, original.entry, attention_hopper.SIGNATURE, "90a"))
    arrays = [put(x) for x in inputs(f16, (2, 4, 64), (2, 130, 64), None)[1:4]]
    with pytest.raises(SimulatorError):
        forward(arrays, scale=0.2)


def test_resources():
    """Registers of a block's warpgroups fit after they are redistributed, and none spills."""
    how = dict(HEAD=128, MASK=0, CAUSAL=1, DROPOUT=0, ALIGNED=1, KEYS=128, CONSUMERS=2, STAGES=6)
    found = attention_hopper.KERNEL.resources("90a", (bf16,), V=bf16, **how)
    assert found.spills == found.stack == 0 and found.registers * 384 <= 65536
    assert max(attention_hopper.shared_bytes(head) for head in (64, 128)) <= 227 * 1024
