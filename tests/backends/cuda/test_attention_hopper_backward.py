"""The backward kernels of attention for compute capability 9.0: lengths, what is taken, waits, machine code."""

import re

import pytest

import minitorch
from minitorch.backends.cuda.ops import attention, attention_hopper
from minitorch.backends.cuda.runtime.kernel import Kernel
from tests.backends.cuda.kernel_checks import DEVICE, device, put, same_in_every_order
from tests.backends.cuda.test_attention import BACKWARD as OTHERS
from tests.backends.cuda.test_attention import bf16, check, check_autograd, f16, inputs, run
from tests.backends.cuda.test_attention_hopper import BACKWARD, HOPPER, few

assert few                                                 # used for every test here: two multiprocessors


def test_keys_that_no_query_sees():
    """Their gradients are zero; blocks have several parts, some without a tile. Then more queries than keys."""
    arrays, how = inputs(bf16, (3, 70, 64), (3, 300, 64), None), dict(scale=0.2, causal=True)
    got, names = check(arrays, **how)
    assert names == HOPPER + BACKWARD
    assert all((x[:, 70:] == 0).all() and (x[:, :70] != 0).any() for x in got[2:])
    same_in_every_order(lambda: run(arrays, **how)[0], got)
    assert check(inputs(bf16, (2, 300, 64), (2, 70, 64), None), **how)[1] == HOPPER + BACKWARD


def test_large_scores_and_values_of_fewer_features():
    arrays = inputs(f16, (2, 3, 104), (2, 67, 104), None, features=80)
    assert check(arrays, scale=8.0, causal=False)[1] == HOPPER + BACKWARD


def test_through_autograd():
    assert check_autograd(minitorch.bfloat16, 40) == HOPPER + BACKWARD


def test_which_arrays_are_taken(monkeypatch):
    """Gradients in rows at multiples of 16 bytes; and each kernel only where it has work for most multiprocessors."""
    def taken(query, key, multiprocessors, layout="dense"):
        found = []
        g, q, k, v, _ = inputs(bf16, query, key, None)
        arrays = put(g, layout), put(q), put(k), put(v), None, put(q), device.xp.zeros(query[:2], "float32")
        with monkeypatch.context() as patch:
            patch.setattr(attention_hopper, "multiprocessors", lambda machine: multiprocessors)
            for where, name in [(attention, "DELTA"), *[(x, f"{n}_GRAD") for x in (attention, attention_hopper)
                                                        for n in ("QUERY", "KEY")]]:
                patch.setattr(where, name, lambda *args, x=getattr(where, name), **how: found.append(x.entry))
            attention.scaled_dot_product_attention_backward(device, *arrays, scale=0.2)
        return found
    one, two = (2, 5, 64), (2, 130, 64)                    # parts of two places
    assert taken(one, one, 4) == BACKWARD and taken(one, one, 4, "transposed") == OTHERS
    assert taken(two, one, 8) == [*BACKWARD[:2], OTHERS[2]] and taken(one, two, 8) == [*OTHERS[:2], BACKWARD[2]]


# ---- waits and machine code ----------------------------------------------------------------------------------
@pytest.mark.skipif(DEVICE != "sim", reason="a race may go unnoticed on a GPU")
def test_waits_are_needed(monkeypatch):
    """Each of them, left out by a number that is only used for dropout; short rings make producers wait.

    But for the first tiles of a part, which the simulator's copies, one after the other, bring before the next; and
    lanes wait for each other where they wait for products, which says nothing of what they have read.
    """
    from minitorch.backends.sim import SimulatorError
    monkeypatch.setattr(attention_hopper, "multiprocessors", lambda machine: 1)
    monkeypatch.setattr(attention_hopper, "BACKWARD_STAGES", 2)
    original, waits = attention_hopper.KEY_GRAD, []

    def left_out(match):
        waits.append(match[0])
        return f"if (p.seed != {len(waits)}) {{ {match[0]} }}"
    of_both = r"if \(OF_KEYS\) wait_products<0>\(value_sums.at\);\s*wait_products<0>\(sums.at\);"
    text = re.sub(of_both + r"|(?:wait(?:_products<.*?>)?\(.*?|__syncwarp\()\);", left_out, original.source.text)
    kernel = Kernel(original.source._replace(text=text), original.entry, attention_hopper.KEY_SIGNATURE, "90a")
    monkeypatch.setattr(attention_hopper, "KEY_GRAD", kernel)
    g, q, k, v = [put(x) for x in inputs(f16, (2, 520, 64), (2, 4, 64), None)[:4]]
    results, numbers = [device.xp.zeros_like(k), device.xp.zeros_like(v)], device.xp.zeros((2, 520), "float32")
    record, _ = attention.describe(q, 0.2, key=k, value=v, grad=g, key_grad=k, value_grad=v)
    how, unnoticed = attention.constants(q, v, None, False, False, g, q, k, v), []
    for number, wait in enumerate(["", *waits]):
        record["seed"] = number
        try:
            assert attention_hopper.launch_gradients(device, results, g, q, k, v, numbers, numbers, record, how)
            unnoticed.append(wait)
        except SimulatorError:
            pass
    assert len(waits) == 12 and unnoticed == ["", "__syncwarp();", "wait(shared.rows_there, turn % 2);"]


@pytest.mark.parametrize("head", [64, 128])
def test_machine_code(head):
    """Nothing spills, and the assembler does not make products wait for each other, as it does where registers would
    not do for all that is under way."""
    how = dict(HEAD=head, MASK=0, CAUSAL=1, DROPOUT=0, ALIGNED=1, OF_KEYS=1, OTHERS=attention_hopper.OTHERS[head],
               CONSUMERS=attention_hopper.BACKWARD_CONSUMERS, STAGES=attention_hopper.BACKWARD_STAGES)
    kernel = attention_hopper.KEY_GRAD
    found = kernel.resources("90a", (bf16,), V=bf16, **how)
    assert found.spills == found.stack == 0 and not found.serial and found.registers * 384 <= 65536
    assert attention_hopper.shared_bytes_backward(head) <= 227 * 1024
