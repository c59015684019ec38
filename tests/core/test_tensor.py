"""Tensor: memory, strides and views, Python's protocols, NumPy and DLPack, casts, copies, counts of writes."""

import copy
import ctypes
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch as torch
from minitorch import nn
from minitorch.testing import strategies

few = settings(max_examples=60, deadline=None, database=None, derandomize=True)


# ---- strides and storage -----------------------------------------------------------------------------------
def test_strides_and_storage_of_the_article():
    t = torch.arange(0, 24).reshape(2, 3, 4)
    new = t.transpose(0, 1)
    assert t.shape == torch.Size([2, 3, 4]) and t.stride() == (12, 4, 1) and t.is_contiguous()
    assert new.shape == (3, 2, 4) and new.stride() == (4, 12, 1) and not new.is_contiguous()
    assert t.data_ptr() == new.data_ptr() and t.untyped_storage() == new.untyped_storage()
    dense = new.contiguous()
    assert dense.is_contiguous() and dense.stride() == (8, 4, 1) and dense.data_ptr() != new.data_ptr()
    assert t.contiguous() is t
    assert t.storage().nbytes() == t.untyped_storage().nbytes() == t.nbytes == 24 * 8
    assert dense.storage().tolist() == new.flatten().tolist() and new.storage().tolist() == list(range(24))
    assert t.size(-1) == 4 and t.size() == t.shape and t.stride(0) == 12 and t.stride(-1) == 1


def test_offsets_and_pieces():
    base = torch.arange(12).reshape(3, 4)
    piece = base[1:, 1:]
    assert piece.storage_offset() == 5 and piece.stride() == (4, 1) and not piece.is_contiguous()
    assert piece.data_ptr() == base.data_ptr() + 5 * 8 and piece.storage().nbytes() == 96
    assert len(piece.storage()) == 12 and piece.storage()[5] == 5 and piece.untyped_storage().size() == 96
    assert base[2].storage_offset() == 8 and base[2].is_contiguous()
    assert torch.zeros(2, 3).storage_offset() == 0


def test_data_ptr_is_the_address_of_the_first_element():
    x = torch.tensor([1.5, 2.5], dtype=torch.float64)
    assert ctypes.c_double.from_address(x.data_ptr()).value == 1.5
    assert ctypes.c_double.from_address(x[1:].data_ptr()).value == 2.5
    assert torch.zeros(0).data_ptr() == 0


def test_strides_of_empty_tensors_are_those_of_contiguous_ones():
    assert torch.zeros(2, 0, 3).stride() == (3, 3, 1) and torch.zeros(0).stride() == (1,)
    assert torch.zeros(2, 0).is_contiguous() and torch.zeros(2, 0).t().is_contiguous()


@given(strategies.draws())
@few
def test_element_i_j_lies_where_the_strides_say(d):
    x = torch.arange(24).reshape(2, 3, 4).permute(*d.choice([(0, 1, 2), (2, 0, 1), (1, 2, 0)]))
    x = x[d.int(0, 1):, ::d.int(1, 2)]
    storage = x.storage().tolist()
    for place in np.ndindex(*x.shape):
        offset = x.storage_offset() + sum(i * s for i, s in zip(place, x.stride()))
        assert storage[offset] == x[place].item()


VIEWS = {"transpose": lambda x: x.transpose(0, 1), "t": lambda x: x[0].t(), "T": lambda x: x[0].T,
         "permute": lambda x: x.permute(2, 0, 1), "view": lambda x: x.view(6, 4), "reshape": lambda x: x.reshape(-1),
         "unsqueeze": lambda x: x.unsqueeze(1), "squeeze": lambda x: x[:1].squeeze(0),
         "expand": lambda x: x.expand(5, 2, 3, 4),
         "int": lambda x: x[1], "slice": lambda x: x[:, 1:], "step": lambda x: x[..., ::2], "None": lambda x: x[None],
         "dots": lambda x: x[...], "one element": lambda x: x[1, 2, 3], "narrow": lambda x: x.narrow(1, 0, 2),
         "select": lambda x: x.select(2, 1), "flatten": lambda x: x.flatten(1), "detach": lambda x: x.detach(),
         "unbind": lambda x: x.unbind(1)[2], "split": lambda x: x.split(2, 2)[1], "chunk": lambda x: x.chunk(2)[1],
         "diagonal": lambda x: x.diagonal(0, 1, 2), "data": lambda x: x.data, "unfold": lambda x: x.unfold(2, 2, 1),
         "view_as": lambda x: x.view_as(torch.zeros(4, 6)), "movedim": lambda x: x.movedim(0, 2),
         "as_strided": lambda x: x.as_strided((2, 2), (1, 2), 3), "iter": lambda x: list(x)[1]}
COPIES = {"clone": lambda x: x.clone(), "list": lambda x: x[[0, 1]], "mask": lambda x: x[x > -1],
          "cast": lambda x: x.double(),
          "contiguous": lambda x: x.transpose(0, 1).contiguous(), "reshape": lambda x: x.transpose(0, 1).reshape(-1),
          "index": lambda x: x[torch.tensor([0])], "to copy": lambda x: x.to(torch.float32, copy=True),
          "add": lambda x: x + 0, "tensor": lambda x: x.clone().detach()}


@pytest.mark.parametrize("make", VIEWS.values(), ids=VIEWS)
def test_views_share_memory(make):
    x = torch.arange(24.0).reshape(2, 3, 4)
    view = make(x)
    assert np.shares_memory(view.numpy(), x.numpy())
    x.fill_(7)
    assert (view == 7).all()
    if view._base is not None:
        assert view._base is x or view._base is x._base


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_copies_do_not(make):
    x = torch.arange(24.0).reshape(2, 3, 4)
    made = make(x)
    assert not np.shares_memory(made.numpy(), x.numpy()) and made._base is None
    before = made.tolist()
    x.fill_(7)
    assert made.tolist() == before


def test_view_refuses_what_needs_a_copy():
    x = torch.zeros(2, 3).t()
    with pytest.raises(RuntimeError, match=r"use \.?reshape|Use .reshape"):
        x.view(6)
    assert x.reshape(6).shape == (6,)
    for wrong, words in (((4,), r"shape '\[4\]' is invalid for input of size 6"), ((-1, -1), "only one dimension"),
                         ((-2, 3), "invalid shape dimension -2"), ((-1, 4), "invalid for input of size 6")):
        with pytest.raises(RuntimeError, match=words):
            torch.zeros(2, 3).reshape(wrong)
    with pytest.raises(RuntimeError, match="ambiguous"):
        torch.zeros(0, 3).reshape(0, -1)


def test_memory_formats():
    x = torch.arange(120.0).reshape(2, 3, 4, 5)
    last = x.to(memory_format=torch.channels_last)
    assert last.stride() == (60, 1, 15, 3) and last.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(last, x) and last.clone().stride() == last.stride()
    assert last.contiguous().stride() == x.stride()
    assert x.contiguous(memory_format=torch.channels_last).stride() == last.stride()


# ---- Size --------------------------------------------------------------------------------------------------
def test_size_is_a_tuple():
    size = torch.zeros(2, 3, 4).shape
    assert isinstance(size, torch.Size) and isinstance(size, tuple) and size == (2, 3, 4)
    assert repr(size) == "torch.Size([2, 3, 4])" and size.numel() == 24 and torch.Size([]).numel() == 1
    assert isinstance(size[1:], torch.Size) and size[0] == 2 and size[-1] == 4
    for made in (size + (1,), (1,) + size, size * 2, 2 * size, copy.deepcopy(size), pickle.loads(pickle.dumps(size))):
        assert type(made) is torch.Size
    batch, *rest = size
    assert (batch, rest) == (2, [3, 4]) and {size: 1}[2, 3, 4] == 1
    assert torch.Size(torch.tensor([1, 2])) == (1, 2)
    with pytest.raises(TypeError, match="item 0 is 'float'"):
        torch.Size([2.5])


def test_sizes_that_are_no_ints():
    assert torch.zeros(np.int64(2), torch.tensor(3)).shape == torch.zeros([2, 3]).shape == torch.zeros((2, 3)).shape
    for wrong in ((2.0, 3), ("a",), (None,), ((2,), (3,)), (2, (3,))):
        with pytest.raises(TypeError):
            torch.zeros(*wrong)
        with pytest.raises(TypeError):
            torch.rand(*wrong)
    with pytest.raises(TypeError):
        torch.zeros()
    with pytest.raises(RuntimeError, match="negative"):
        torch.zeros(2, -1)


# ---- Python's protocols ------------------------------------------------------------------------------------
def test_item_and_tolist():
    for data, kind in ((1.5, float), (3, int), (True, bool), (1 + 2j, complex)):
        for x in (torch.tensor(data), torch.tensor([[data]])):
            assert type(x.item()) is kind and x.item() == data
    assert torch.tensor([[1, 2], [3, 4]]).tolist() == [[1, 2], [3, 4]]
    assert torch.tensor(2.5).tolist() == 2.5 and torch.zeros(2, 0).tolist() == [[], []]
    assert type(torch.tensor([1.5]).tolist()[0]) is float and type(torch.tensor([True]).tolist()[0]) is bool
    for n in (0, 2):
        with pytest.raises(RuntimeError, match=f"a Tensor with {n} elements cannot be converted to Scalar"):
            torch.zeros(n).item()


def test_numbers():
    x = torch.tensor([3.7])
    assert float(x) == pytest.approx(3.7) and int(x) == 3 and complex(x) == pytest.approx(3.7)
    assert round(torch.tensor(1.26).item(), 1) == 1.3
    assert bool(torch.tensor(0.5)) and not torch.tensor([[0]]) and torch.tensor(True)
    for n, words in ((0, "no values"), (2, "more than one value")):
        with pytest.raises(RuntimeError, match=f"Boolean value of Tensor with {words} is ambiguous"):
            bool(torch.zeros(n))
        with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
            float(torch.zeros(n))
    if torch.tensor(1.0) > 0.5 and not (torch.tensor(2) == 3):
        return
    raise AssertionError("comparisons decide branches")


def test_as_an_index():
    numbers = [10, 20, 30]
    assert numbers[torch.tensor(1)] == 20 and numbers[torch.tensor(0):torch.tensor([2])] == [10, 20]
    assert list(range(torch.tensor(3))) == [0, 1, 2] and "ab" * torch.tensor(2) == "abab"
    for wrong in (torch.tensor(1.0), torch.tensor([1, 2])):
        with pytest.raises(TypeError, match="only integer tensors of a single element can be converted to an index"):
            numbers[wrong]


def test_len_iter_unpacking_contains():
    x = torch.arange(6).reshape(3, 2)
    assert len(x) == 3 and [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    a, b, c = x
    assert b.tolist() == [2, 3] and max(torch.tensor([1, 5, 2])).item() == 5 and sum(torch.ones(3)).item() == 3
    assert 3 in x and torch.tensor(5) in x and 9 not in x
    assert list(reversed([1])) == [1] and [i for i, _ in enumerate(x)] == [0, 1, 2]
    for call in (len, iter, list):
        with pytest.raises(TypeError, match="0-d tensor"):
            call(torch.tensor(1))
    with pytest.raises(RuntimeError, match="only supports Tensor or scalar"):
        "a" in x                                           # noqa: B015


def test_format():
    assert f"{torch.tensor(3.14159):.2f}" == "3.14" and f"{torch.tensor(3):5d}|" == "    3|"
    assert f"{torch.tensor([1.0])}" == "tensor([1.])" and str(torch.tensor(2)) == "tensor(2)"
    with pytest.raises(TypeError):
        f"{torch.zeros(2):.2f}"                            # noqa: B018


def test_equality_hash_and_identity():
    x = torch.ones(2)
    assert x in {x} and len({x, x}) == 1 and {x: "a"}[x] == "a"
    assert (x == x).tolist() == [True, True] and (x == None) is False and (x != "a") is True     # noqa: E711
    assert torch.equal(x, torch.ones(2)) and not torch.equal(x, torch.ones(1))
    with pytest.raises(TypeError):
        x < None                                           # noqa: B015


@pytest.mark.parametrize("wrong", ["a", None, [1, 2], (1, 2), {}, object], ids=repr)
def test_operators_refuse_what_is_no_number(wrong):
    for compute in (lambda: torch.ones(2) + wrong, lambda: wrong + torch.ones(2), lambda: torch.ones(2) * wrong):
        with pytest.raises(TypeError):
            compute()


def test_operators_leave_other_types_to_themselves():
    class Ours:
        __array_ufunc__ = None
        __radd__ = __rmul__ = __rmatmul__ = __rsub__ = lambda self, x: "ours"
        __gt__ = lambda self, x: "greater"
    x = torch.ones(2)
    assert x + Ours() == x * Ours() == x @ Ours() == x - Ours() == "ours" and (x < Ours()) == "greater"


def test_attributes():
    x = torch.zeros(2, 3, dtype=torch.float64)
    assert (x.ndim, x.dim(), x.numel(), x.nelement(), x.element_size(), x.itemsize, x.nbytes) == (2, 2, 6, 6, 8, 8, 48)
    assert x.device == torch.device("cpu") and x.is_cpu and not x.is_cuda and x.layout == torch.strided
    assert x.is_floating_point() and not x.is_complex() and x.is_signed() and not x.is_sparse
    assert torch.is_tensor(x) and not torch.is_tensor(x.numpy()) and torch.numel(x) == 6
    with pytest.raises(IndexError, match=r"expected to be in range of \[-2, 1\], but got 2"):
        x.size(2)


def test_constructor():
    assert torch.Tensor([1, 2]).dtype is torch.float32 and torch.Tensor(2, 3).shape == (2, 3)
    assert torch.Tensor().shape == (0,) and torch.Tensor(torch.Size([2, 3])).shape == (2, 3)
    x = torch.ones(2)
    assert torch.Tensor(x).data_ptr() == x.data_ptr() and torch.Tensor(range(3)).tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="minitorch.tensor"):
        torch.Tensor(2.5)


# ---- data from elsewhere -----------------------------------------------------------------------------------
def test_tensor_copies_its_data():
    array = np.zeros(3)
    x = torch.tensor(array)
    array[0] = 5
    assert x.tolist() == [0, 0, 0]
    with pytest.warns(UserWarning, match="sourceTensor.detach"):
        y = torch.tensor(x)
    y[0] = 1
    assert x[0] == 0
    assert torch.tensor([torch.tensor(1.0), torch.tensor(2.0)]).tolist() == [1, 2]


@pytest.mark.parametrize("data, error, words", [
    ([[1, 2], [3]], ValueError, "expected sequence of length 2 at dim 1"),
    (["a"], ValueError, "too many dimensions 'str'"), ("abc", TypeError, "invalid data type 'str'"),
    (None, RuntimeError, "Could not infer dtype of NoneType"),
    ([None], RuntimeError, "Could not infer dtype of NoneType"),
    ({1: 2}, RuntimeError, "Could not infer dtype of dict"), (2 ** 63, ValueError, "Overflow"),
    ([2 ** 70], ValueError, "Overflow"), (np.array(["a"]), TypeError, "can't convert")], ids=repr)
def test_data_that_is_none(data, error, words):
    with pytest.raises(error, match=words):
        torch.tensor(data)


def test_from_numpy_shares_memory():
    for array in (np.arange(6.0).reshape(2, 3), np.arange(6).reshape(2, 3).T, np.arange(10)[::2], np.array(3.0)):
        x = torch.from_numpy(array)
        assert x.shape == array.shape and x.stride() == tuple(s // array.itemsize for s in array.strides)
        x.zero_()
        assert not array.any()
        array[...] = 4
        assert (x == 4).all()
    for wrong, error in (([1, 2], TypeError), (np.float64(1), TypeError), (np.array(["a"]), TypeError),
                         (np.arange(3)[::-1], ValueError), (np.zeros(2, ">f4"), ValueError)):
        with pytest.raises(error):
            torch.from_numpy(wrong)


def test_read_only_arrays_are_not_written_through_views_of_them():
    array = np.zeros(3)
    array.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = torch.from_numpy(array)
    assert (x + 1).tolist() == [1, 1, 1] and torch.tensor(array).add_(1).tolist() == [1, 1, 1]


def test_numpy_and_array_protocol():
    x = torch.arange(3.0)
    array = x.numpy()
    array[0] = 9
    assert x[0] == 9 and np.asarray(x) is not None and np.shares_memory(np.asarray(x), array)
    assert np.array(x, dtype=np.int64).dtype == np.int64 and not np.shares_memory(np.array(x), array)
    assert isinstance(np.sin(x), torch.Tensor) and np.stack([x, x]).shape == (2, 3)
    w = torch.ones(2, requires_grad=True)
    for read in (lambda: w.numpy(), lambda: np.asarray(w), lambda: (w * 2).numpy()):
        with pytest.raises(RuntimeError, match=r"Use tensor.detach\(\).numpy\(\) instead"):
            read()
    assert w.detach().numpy().tolist() == w.numpy(force=True).tolist() == [1, 1]


def test_numpy_values_are_operands():
    x = torch.ones(2)
    assert (x + np.float32(1)).dtype is torch.float32 and (np.float64(2) * x).dtype is torch.float32
    assert isinstance(np.float64(2) * x, torch.Tensor) and isinstance(np.ones(2) + x, torch.Tensor)
    assert (x * np.array([2.0, 3.0])).tolist() == [2, 3]


def test_frombuffer_and_as_tensor():
    memory = bytearray(np.arange(4, dtype=np.int32).tobytes())
    x = torch.frombuffer(memory, dtype=torch.int32)
    memory[0] = 7
    assert x.tolist() == [7, 1, 2, 3]
    assert torch.frombuffer(memory, dtype=torch.int32, count=2, offset=4).tolist() == [1, 2]
    for wrong in (dict(offset=99), dict(count=9), dict(offset=1)):
        with pytest.raises(ValueError):
            torch.frombuffer(memory, dtype=torch.int32, **wrong)
    array = np.zeros(2)
    torch.as_tensor(array)[0] = 1
    assert array[0] == 1 and torch.as_tensor(x) is x
    assert torch.as_tensor([1, 2], dtype=torch.float64).dtype is torch.float64
    assert torch.asarray(array, copy=True).data_ptr() != array.ctypes.data


def test_dlpack_both_ways():
    x = torch.arange(6.0).reshape(2, 3)
    array = np.from_dlpack(x)
    assert np.shares_memory(array, x.numpy()) and array.tolist() == x.tolist()
    back = torch.from_dlpack(np.arange(3))
    assert back.dtype is torch.int64 and back.tolist() == [0, 1, 2]
    twin = torch.from_dlpack(x.t())
    assert twin.data_ptr() == x.data_ptr() and twin.stride() == (1, 3)
    if twin.array.flags.writeable:                         # what older releases of NumPy import is read-only
        twin[0, 0] = 5
        assert x[0, 0] == 5
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError, match="require gradient"):
        np.from_dlpack(torch.ones(1, requires_grad=True))


# ---- to ----------------------------------------------------------------------------------------------------
def test_to():
    x = torch.ones(2)
    assert x.to("cpu") is x and x.to(torch.float32) is x and x.cpu() is x and x.to(x) is x
    assert x.to(torch.float64).dtype is torch.float64 and x.to("cpu", torch.int8).dtype is torch.int8
    assert x.to(dtype=torch.int64, device="cpu").dtype is torch.int64
    assert x.to(torch.zeros(1).double()).dtype is torch.float64
    assert x.to("cpu", copy=True) is not x and x.to(torch.float32, copy=True).data_ptr() != x.data_ptr()
    with pytest.raises(RuntimeError, match="device"):
        x.to("nonsense")
    w = torch.ones(2, requires_grad=True)
    w.to(torch.float64).sum().backward()
    assert w.grad.tolist() == [1, 1] and w.grad.dtype is torch.float32 and not w.long().requires_grad


# ---- the graph's view of a tensor --------------------------------------------------------------------------
def test_is_leaf_and_requires_grad():
    w = torch.ones(2, requires_grad=True)
    y = w * 2
    assert w.is_leaf and not y.is_leaf and y.requires_grad and y.detach().is_leaf and not y.detach().requires_grad
    assert torch.ones(2).is_leaf and (torch.ones(2) * 2).is_leaf and w.grad_fn is None
    assert y.grad_fn.name() == "MulBackward0" and repr(y.grad_fn) == "<MulBackward0>"
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf"):
        y.requires_grad = False
    for wrong in (torch.arange(3), torch.tensor([True])):
        with pytest.raises(RuntimeError, match="floating point"):
            wrong.requires_grad_()
    assert torch.ones(2).requires_grad_().requires_grad


def test_grad_checks_what_it_is_given():
    w = torch.ones(2, requires_grad=True)
    w.grad = torch.ones(2)
    (w * 2).sum().backward()
    assert w.grad.tolist() == [3, 3]
    for wrong, error in ((3, TypeError), (torch.ones(3), RuntimeError), (torch.ones(2).double(), RuntimeError),
                         (torch.ones(1), RuntimeError)):
        with pytest.raises(error):
            w.grad = wrong
    del w.grad
    assert w.grad is None
    with pytest.warns(UserWarning, match="not a leaf"):
        (w * 2).grad                                       # noqa: B018


def test_version_counts_writes():
    x = torch.zeros(3)
    assert x._version == 0
    for write in (lambda: x.add_(1), lambda: x.__setitem__(0, 1), lambda: x.zero_(), lambda: x.copy_(torch.ones(3)),
                  lambda: x.fill_(2), lambda: x[1:].mul_(2), lambda: x.detach().add_(1), lambda: x.view(3).sub_(1),
                  lambda: torch.add(x, 1, out=x)):
        before = x._version
        write()
        assert x._version == before + 1 == x.detach()._version
    assert x.clone()._version == 0 and (x + 1)._version == 0


def test_data_can_be_exchanged():
    w = torch.ones(2, requires_grad=True)
    w.data = torch.zeros(3)
    assert w.shape == (3,) and w.requires_grad and w.is_leaf
    w.data -= 1
    assert w.tolist() == [-1, -1, -1]
    with pytest.raises(TypeError):
        w.data = [1, 2]


# ---- copies ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("twin", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies_and_pickles(twin):
    for x in (torch.arange(6).reshape(2, 3), torch.ones(2, requires_grad=True), torch.tensor(2.5), torch.zeros(0, 3),
              torch.arange(6.0).reshape(2, 3).t(), torch.tensor([1 + 2j]), torch.tensor([True]),
              torch.ones(2, dtype=torch.bfloat16), torch.arange(5)[1:3]):
        y = twin(x)
        assert y is not x and torch.equal(y, x) and y.dtype is x.dtype and y.requires_grad == x.requires_grad
        assert y.stride() == x.stride() and y.storage_offset() == x.storage_offset()
        with torch.no_grad():
            y.zero_()
        assert x.numel() == 0 or x.any()


def test_shared_memory_stays_shared():
    x = torch.zeros(4)
    for twin in (copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))):
        whole, part = twin([x, x[1:3]])
        part.fill_(5)
        assert whole.tolist() == [0, 5, 5, 0] and x.tolist() == [0, 0, 0, 0]


def test_deepcopy_keeps_the_gradient_and_refuses_computed_tensors():
    w = torch.ones(2, requires_grad=True)
    (w * 3).sum().backward()
    twin = copy.deepcopy(w)
    assert twin.grad.tolist() == [3, 3] and twin.grad is not w.grad
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(w * 2)


# ---- in place ----------------------------------------------------------------------------------------------
def test_in_place_operators_keep_the_object():
    x = torch.full((2,), 3.0)
    alias = x
    x += 1
    x -= 1
    x *= 2
    x /= 2
    x **= 2
    x //= 2
    x %= 3
    assert x is alias and alias.tolist() == [1, 1]
    m = torch.tensor([True, False])
    alias = m
    m &= True
    m |= torch.tensor([False, True])
    m ^= torch.tensor([True, True])
    assert m is alias and alias.tolist() == [False, False]
    y = x
    y = y + 1
    assert x.tolist() == [1, 1], "y + 1 is a new tensor"


def test_in_place_methods_chain_and_cast_nothing():
    x = torch.ones(3)
    assert x.mul_(2).sub_(1).div_(2).tolist() == [0.5] * 3
    assert x.add_(torch.ones(3, dtype=torch.float64)).dtype is torch.float32
    i = torch.arange(3)
    mask = torch.ones(3, dtype=torch.bool)
    for write in (lambda: i.add_(1.5), lambda: i.div_(2), lambda: i.sqrt_(), lambda: mask.add_(1)):
        with pytest.raises(RuntimeError, match="result type .* can't be cast to the desired output type"):
            write()
    assert i.tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.zeros(3).copy_(torch.ones(2, 3))


@given(st.sampled_from(["relu_", "exp_", "sin_", "neg_", "abs_", "sigmoid_", "tanh_", "square_", "floor_", "round_"]),
       strategies.tensors())
@few
def test_in_place_twins_agree_with_their_originals(name, x):
    expected = getattr(x, name[:-1])()
    assert getattr(x, name)() is x and torch.allclose(x, expected, equal_nan=True)


def test_sources_that_overlap_what_is_written_are_refused():
    x = torch.arange(5)
    for write in (lambda: x.__setitem__(slice(1, None), x[:-1]), lambda: x[1:].add_(x[:-1])):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            write()
    assert x.tolist() == [0, 1, 2, 3, 4]
    y = torch.arange(5)
    y[1:].add_(y[:-1].clone())
    assert y.tolist() == [0, 1, 3, 5, 7]


vector = torch.tensor([0.5, 1.0, 2.0])


def test_numbers_are_copied_and_formats_asked_for():
    assert vector.clone().copy_(3).tolist() == [3, 3, 3]
    found = torch.ones(1, 2, 3, 4).to(torch.float64, memory_format=torch.channels_last)
    assert found.dtype == torch.float64 and found.is_contiguous(memory_format=torch.channels_last)


def test_arrays_for_numpy_keep_their_type():
    assert np.asarray(vector).dtype == np.asarray(vector, np.float32).dtype == "float32"
    assert np.asarray(vector, np.float64).dtype == "float64"


def test_reversed_and_states():
    x = torch.arange(6).reshape(2, 3)
    assert reversed(x).tolist() == [[3, 4, 5], [0, 1, 2]] and reversed(torch.tensor(3)).item() == 3
    g = torch.Generator()
    assert g.set_state(g.get_state()) is g


def test_own_attributes_are_the_users():
    p = nn.Parameter(torch.ones(2))
    assert p.__dict__ == {} and vars(torch.ones(1)) == {}
    p.note = "kept"
    p.__dict__["other"] = 1
    assert p.__dict__ == {"note": "kept", "other": 1} and p.other == 1
    assert p.__dict__.pop("note") == "kept" and not hasattr(p, "note") and p.shape == (2,)
    kwargs = p.__dict__
    kwargs["requires_grad"] = False
    assert p.requires_grad                                 # the property's, as in PyTorch
    a, b = torch.ones(1), torch.zeros(2)
    torch.utils.swap_tensors(a, b)
    assert a.tolist() == [0.0, 0.0] and b.tolist() == [1.0]


def leaf(data):
    return torch.tensor(data, dtype=torch.float64, requires_grad=True)


def test_N_12_to_and_detach_leave_their_source_alone():
    x = leaf([1.0, 2.0])
    y = x * 2
    z, d = y.to(torch.float32), y.detach()
    assert y.grad_fn is not None and y.requires_grad and y.dtype is torch.float64 and z is not y and d is not y
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_D_5_reflected_operators():
    x = torch.tensor([3.0])
    assert (2 ** x).item() == 8 and (x ** 2).item() == 9 and (1 - x).item() == -2 and (6 / x).item() == 2
    assert (7 // x).item() == 2 and (7 % x).item() == 1 and (x @ x).item() == 9


def test_D_12_tensors_are_light_hashable_and_honest_about_truth():
    x = torch.ones(2)
    assert {x: 1}[x] == 1 and not isinstance(x, nn.Module) and bool(torch.tensor(0.5)) and not bool(torch.tensor(0.0))
    with pytest.raises(RuntimeError, match="ambiguous"):
        bool(x == x)
