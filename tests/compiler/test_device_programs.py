"""Random programs on the device beside the processor (`device_programs.py`), and what such programs found."""

import random

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from tests.backends.cuda.kernel_checks import DEVICE, device, launches
from tests.compiler.compiled_programs import Case, random_case
from tests.compiler.device_programs import check


@pytest.mark.parametrize("n", range(12))
def test_programs_are_the_same_on_both(n):
    """A sample of what ``python -m tests.compiler.device_programs`` runs for longer."""
    check(random_case(random.Random(f"sample {n}")), compiled=n % 3 == 2, device=DEVICE)


def test_an_element_is_copied_to_its_neighbour():
    """Two elements of one row are not the same memory, though the device cannot say so without their addresses."""
    check(Case((("first", 0, 0, 0), ("row", 2, 2, 1)), modes=("grad",)), device=DEVICE)
    x = torch.arange(1.0, 5, device=DEVICE)
    x[1] = x[0]
    x[-1] = x[2:3].reshape(())
    assert x.tolist() == [1, 1, 3, 3] and x._version == 2
    x[2] = x[2]                                            # nothing to do
    assert x.tolist() == [1, 1, 3, 3]


@pytest.mark.parametrize("compiled", [False, True])
def test_writes_through_data_are_not_counted(compiled):
    def square(x):
        y = x * x
        x.data.add_(1)
        x.data[0:1].zero_()
        return y.sum()
    run = torch.compile(square) if compiled else square
    x = torch.tensor([1.0, 2.0], device=DEVICE, requires_grad=True)
    for at in ([1, 2], [0, 3], [0, 4]):
        x.grad = None
        loss = run(x)
        assert loss.item() == sum(v * v for v in at) and x._version == 0
        loss.backward()                                    # with the new values, as PyTorch
        assert x.grad.tolist() == [0, 2 * (at[1] + 1)]
    with torch.autograd.detect_anomaly():
        y = x * x
        x.data.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_a_view_through_data_lends_its_memory():
    x, w = torch.arange(6.0, device=DEVICE), torch.zeros(1, device=DEVICE)
    w.data = x.data.view(2, 3).t()
    w.add_(1)                                              # counted for x, too: w lies in its memory
    assert x.tolist() == [1, 2, 3, 4, 5, 6] and x._version == w._version == 1 and w.stride() == (1, 3)
    assert w.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


def test_a_traced_gradient_is_added_to_one_of_the_device():
    """`array += wrapped`, where the other one wraps arrays and answers for them: of a trace, of a batch."""
    check(Case(aliased="view", needs_grad=(True, False), modes=("grad",) * 2, own_backward=True), compiled=True,
          device=DEVICE)


@pytest.mark.parametrize("call", [
    lambda x, i: x.index_select(0, i), lambda x, i: x.index_add(0, i, torch.ones(2, 3, device=x.device)),
    lambda x, i: x[i], lambda x, i: x.gather(0, i[:, None]), lambda x, i: x.scatter(0, i[:, None], 1.0),
    lambda x, i: x.index_copy(0, i, torch.ones(2, 3, device=x.device)), lambda x, i: x.take(i + 2)])
def test_indices_out_of_bounds_are_the_same_errors(call):
    """In the simulator; a GPU is not waited for."""
    if DEVICE != "sim":
        pytest.skip("kernels on a GPU write nothing for such an index")
    said = []
    for where in ("cpu", DEVICE):
        with pytest.raises((IndexError, RuntimeError)) as raised:
            call(torch.ones(1, 3, device=where), torch.tensor([1, 0], device=where))
        said.append((raised.type, str(raised.value)))
    assert said[0] == said[1]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 0, 2)])
def test_sorted_values_lie_in_memory_as_what_was_sorted(order):
    """As in PyTorch; `view` and `reshape` of them depend on it."""
    for where in ("cpu", DEVICE):
        x = torch.arange(24.0, device=where).reshape([(2, 3, 4)[d] for d in order])
        x = x.permute([order.index(d) for d in range(3)])
        for dim in range(3):
            assert {t.stride() for t in (*x.sort(dim, descending=True), x.argsort(dim))} == {x.stride()}
            assert torch.equal(x.sort(dim).values, x)


def test_compiled_passes_of_a_device_go_on_outside():
    """Kernels of the device meet what was recorded before the trace; and sums go on in the arena's memory."""
    check(Case((("atan2", 0, 0, 2),), "bfloat16", ("expanded", "non-leaf"), modes=("grad",) * 2, results="all",
               own_backward=True, seed=367), compiled=True, device=DEVICE)
    check(Case((("scatter_reduce", 3, 10, 4), ("last", 6, 2, 5), ("scatter_reduce", 3, 8, 5)), modes=("grad",),
               results="all", seed=268), compiled=True, device=DEVICE)


def test_a_number_bounds_beside_a_tensor_without_dimensions():
    x = torch.arange(4.0, requires_grad=True)
    for low, high in ((1, torch.tensor(2)), (torch.tensor(1), 2.0)):
        out = x.clamp(low, high)
        assert out.tolist() == [1, 1, 2, 2] and out.dtype == torch.float32
        assert torch.autograd.grad(out.sum(), x)[0].tolist() == [0, 1, 1, 0]
        assert x.detach().clone().clamp_(low, high).tolist() == out.tolist()
        assert x.detach().to(DEVICE).clamp(low, high).tolist() == out.tolist()
    with pytest.raises(TypeError, match="both be tensors or both be numbers"):
        x.clamp(1, torch.tensor([2.0]))
    assert torch.compile(lambda x, y: x.clamp(1, y) * 2)(torch.arange(4.0), torch.tensor(2.0)).tolist() == [2, 2, 4, 4]


def test_compiled_programs_draw_the_same():
    """A program calls the kernel, too; one that draws is run as it is."""
    q, k, v = torch.randn(3, 1, 2, 20, 64, device=device.device).unbind()
    for p in (0.0, 0.5):
        def twice(q, k, v, p=p):
            return F.scaled_dot_product_attention(q, k, v, dropout_p=p).sum(-1) * 2
        found = []
        for function in (twice, torch.compile(twice)):
            torch.manual_seed(3)
            with launches() as names:
                found.append([function(q, k, v).cpu().numpy() for _ in range(3)])
        assert names.count("attention_forward") == 3
        np.testing.assert_allclose(*found, rtol=1e-6)
