"""Defects found by random programs of several calls (`tests/parity/programs.py`), each as the class it belongs to."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch as mt
from minitorch.nn import functional as F

nan, inf = float("nan"), float("inf")


@pytest.mark.parametrize("write", [lambda x: x.T.view(-1).neg_(), lambda x: x[0].add_(1), lambda x: x[::2].fill_(2),
                                   lambda x: x.__setitem__(0, 1.0), lambda x: x.T.exp_()])
def test_views_of_a_leaf_that_is_itself_a_view_are_not_written_to(write):
    leaf = mt.randn(4, 3).transpose(0, 1).requires_grad_()
    before = leaf.tolist()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        write(leaf)
    assert leaf.is_leaf and leaf.tolist() == before
    with mt.no_grad():
        leaf[0] = 1.0
    leaf.sum().backward()
    assert leaf.grad.tolist() == [[1.0] * 4] * 3


def test_views_of_plain_tensors_are_written_to_and_recorded():
    base, w = mt.zeros(2, 3), mt.ones(3, requires_grad=True)
    base[0].add_(w)
    base[1].mul_(w)
    base.sum().backward()
    assert w.grad.tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.filterwarnings("ignore")
def test_gradients_without_degrees_of_freedom_have_the_dtype_of_their_leaf(name, dtype):
    x = mt.ones(1, dtype=getattr(mt, dtype), requires_grad=True)
    getattr(x, name)().backward()
    assert x.grad.dtype is x.dtype and x.grad.isnan().all()


def test_integers_never_require_grad_after_a_write():
    x = mt.ones(2, requires_grad=True)
    for dtype in (mt.bool, mt.int32, mt.int64):
        target = mt.zeros(2, 2, dtype=dtype)
        target[0].copy_(x)
        target[1] = x
        target[:, 0] = x[0]
        assert not target.requires_grad and not target[0].requires_grad and target.all()


@given(st.lists(st.booleans(), min_size=3, max_size=3), st.integers(0, 3), st.booleans())
def test_leading_dimensions_of_size_1_have_no_say_in_an_assignment(mask, lead, recorded):
    x, value = mt.zeros(3), mt.full((1,) * lead, 5.0)
    if recorded:
        value.requires_grad_()
    x[mt.tensor(mask)] = value
    assert x.tolist() == [5.0 if m else 0.0 for m in mask]
    rows = mt.zeros(3, 2)
    rows[mt.tensor([0, 2])] = mt.ones(1, 1, 2, 2)
    assert rows.tolist() == [[1, 1], [0, 0], [1, 1]]


def test_a_tensor_is_written_to_its_own_elements_under_another_shape():
    x = mt.tensor([[1.0, 2.0]])
    x[-1, None].copy_(x)
    one = mt.ones(2)[:1]
    one[-1] = one
    assert x.tolist() == [[1, 2]] and one.tolist() == [1]
    with pytest.raises(RuntimeError, match="single memory location"):
        x = mt.arange(4.0)
        x[1:] = x[:-1]


@pytest.mark.parametrize("bias", [None, mt.ones(2)])
@pytest.mark.parametrize("shape", [(3,), (4, 3), (2, 4, 3)])
def test_linear_takes_one_matrix_and_no_batch(shape, bias):
    with pytest.raises(RuntimeError, match="t\\(\\) expects a tensor with <= 2 dimensions, but self is 3D"):
        F.linear(mt.ones(shape), mt.ones(1, 2, 3), bias)
    with pytest.raises(RuntimeError, match="t\\(\\) expects"):
        F.linear(mt.ones(2, 3, 2), mt.ones(2, 3, 2), bias)


def test_equal_shapes_are_not_broadcast_to_another_tensor():
    x, y = mt.ones(2, 3, requires_grad=True), mt.ones(3)
    a, b = mt.broadcast_tensors(x, y)
    assert a is x and b.shape == (2, 3)


def test_cosine_similarity_of_a_mask_and_floats_is_computed_in_floats():
    mask, x = mt.tensor([True, False]), mt.tensor([3.0, 4.0])
    assert F.cosine_similarity(mask, x, 0).item() == pytest.approx(0.6)
    with pytest.raises(RuntimeError, match="common dtype is bool"):
        F.cosine_similarity(mask, mask, 0)


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
@pytest.mark.filterwarnings("ignore")
def test_losses_of_a_number_tensor_keep_its_digits(loss):
    x, y = mt.tensor(1.0, dtype=mt.float64), mt.ones(3, dtype=mt.bfloat16)
    assert loss(x, y).dtype is loss(y, x).dtype is mt.float64


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_a_value_that_is_not_finite_touches_only_the_windows_that_hold_it(bad):
    x = mt.arange(7.0).reshape(1, 1, 7)
    clean = F.adaptive_avg_pool1d(x, 3)
    x[0, 0, 0] = bad
    assert F.adaptive_avg_pool1d(x, 3)[0, 0, 1:].tolist() == clean[0, 0, 1:].tolist()
    image = mt.ones(1, 1, 9, 9)
    image[0, 0, 8, 8] = bad
    for out in (F.adaptive_avg_pool2d(image, 4), F.interpolate(image, size=(6, 6), mode="bilinear"),
                F.interpolate(image, size=(4, 4), mode="bilinear", antialias=True),
                F.interpolate(image, size=(7, 7), mode="bicubic")):
        assert out[0, 0, 0].isfinite().all() and not out[0, 0, -1, -1].isfinite()
        assert mt.allclose(out[0, 0, 0], mt.ones(1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_results_of_expanded_tensors_are_contiguous_in_every_float_type(dtype):
    x = mt.ones(3, dtype=getattr(mt, dtype)).expand(2, -1)
    for out in (x * x, 3 * x, x.sin(), mt.hypot(x, x), mt.where(x > 0, x, x), -x, x ** 2, x / 2):
        assert out.is_contiguous() and out.dtype is x.dtype


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize("order", [(1, 0, 2), (0, 2, 1), (2, 1, 0)])
def test_copy_shares_the_memory_of_results_in_any_order(order, dtype):
    x = mt.arange(24).reshape(2, 3, 4).to(getattr(mt, dtype)).permute(order) + 1
    twin = copy.copy(x)
    assert twin.tolist() == x.tolist() and twin.stride() == x.stride() and twin.data_ptr() == x.data_ptr()


def test_a_column_of_rows_is_negated_in_place_at_its_own_places():
    x = mt.arange(12.0).reshape(3, 4) + 1
    x[:2, :1].neg_()                                       # NumPy 2.4 negates the wrong elements through out=
    assert x[:, 0].tolist() == [-1, -5, 9] and x[0].tolist() == [-1, 2, 3, 4]


@pytest.mark.parametrize("size", [(4, 4), (5, 6)])
@pytest.mark.parametrize("pool", [lambda x: F.max_pool2d(x, 2), lambda x: F.max_pool2d(x, 3, 2, 1),
                                  lambda x: F.max_pool2d(x, 2, 1), lambda x: F.adaptive_max_pool2d(x, (2, 2))])
@pytest.mark.parametrize("bad", [nan, inf])
def test_a_gradient_of_max_pooling_reaches_the_place_of_the_maximum_only(pool, size, bad):
    x = mt.arange(float(size[0] * size[1])).view(1, 1, *size).requires_grad_()
    y = pool(x)
    g = mt.ones(y.shape)
    g[0, 0, 0, 0] = bad
    y.backward(g)
    expected = [y[0, 0, 0, 0].item()]
    assert x.detach()[~x.grad.isfinite()].tolist() == expected


@pytest.mark.parametrize("pool", [lambda x: F.max_pool2d(x, 2), lambda x: F.adaptive_max_pool2d(x, (1, 1)),
                                  lambda x: F.max_pool2d(x, 2, return_indices=True)[0],
                                  lambda x: F.max_pool2d(mt.cat([x, x], 3), 2)[..., :1]])
def test_the_last_nan_of_a_window_is_its_maximum(pool):
    x = mt.tensor([[[[nan, 1.0], [nan, 2.0]]]], requires_grad=True)
    y = pool(x)
    assert y.isnan().all()
    y.sum().backward()
    assert x.grad.tolist() == [[[[0, 0], [1, 0]]]]


def test_a_gradient_that_is_nan_moves_nothing_in_rprop():
    p = mt.ones(3, requires_grad=True)
    optimizer = mt.optim.Rprop([p], lr=0.1)
    p.grad = mt.tensor([nan, 1.0, -1.0])
    optimizer.step()
    assert p.tolist() == pytest.approx([1.0, 0.9, 1.1])


@pytest.mark.parametrize("shuffle", [lambda x: F.pixel_shuffle(x, 2), lambda x: F.pixel_unshuffle(x, 2),
                                     lambda x: F.channel_shuffle(x, 2)])
def test_shuffled_images_lie_as_their_inputs(shuffle):
    x = mt.randn(2, 8, 4, 4)
    last = shuffle(x.to(memory_format=mt.channels_last))
    assert shuffle(x).is_contiguous() and last.is_contiguous(memory_format=mt.channels_last)
    assert mt.equal(shuffle(x), last)


def test_an_empty_out_lies_as_the_result_would():
    x = mt.randn(3, 4).T
    out = mt.add(x, 1, out=mt.empty(0))
    assert out.stride() == (1, 4) and mt.equal(out, x + 1)
