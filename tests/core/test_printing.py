"""The text of tensors against stored texts of PyTorch 2.13, the print options, and the HTML table.

The parity test of the same name compares with PyTorch itself, over every dtype, shape and option.
"""

import math
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import minitorch
from minitorch.printing import (
    edges,
    format_array,
    get_printoptions,
    printoptions,
    set_printoptions,
    tensor_html,
    tensor_repr,
)

nan, inf = math.nan, math.inf


class Tensor(SimpleNamespace):
    """Stands in for a tensor: what printing reads of one, and nothing else."""


class Parameter(Tensor):
    pass


class Device(str):
    type = property(lambda self: self.split(":")[0])


def tensor(values, dtype=None, device="cpu", requires_grad=False, grad_fn=None, cls=Tensor):
    array = np.asarray(values, dtype)
    narrow = {"float64": "float32", "complex128": "complex64"}.get(str(array.dtype))
    array = array.astype(narrow) if narrow and dtype is None else array
    node = SimpleNamespace(name=lambda: grad_fn) if grad_fn else None
    words = {"dtype": f"torch.{array.dtype}", "device": Device(device), "grad_fn": node}
    return cls(array=array, requires_grad=requires_grad or node is not None, **words)


def text(t, default="torch.float32"):
    return tensor_repr(t, default_dtype=default)


# ---------------------------------------------------------------- the text

VALUES = {
    "a number": (3.14159, "tensor(3.1416)"),
    "a truth value": (True, "tensor(True)"),
    "whole floats": ([1.0, 2.0, -3.0], "tensor([ 1.,  2., -3.])"),
    "fractions": ([1.0, 2.5], "tensor([1.0000, 2.5000])"),
    "zeros of both signs": ([0.0, -0.0], "tensor([0., -0.])"),
    "bool": ([True, False], "tensor([ True, False])"),
    "integers": ([-1, 10, 100], "tensor([ -1,  10, 100])"),
    "not finite": ([1.0, nan, inf, -inf], "tensor([1., nan, inf, -inf])"),
    "not finite, padded": ([1.5, nan, -inf], "tensor([1.5000,    nan,   -inf])"),
    "1e8 is not large": ([1e8], "tensor([100000000.])"),
    "large": ([2e8], "tensor([2.0000e+08])"),
    "small": ([9e-5], "tensor([9.0000e-05])"),
    "a range of 1000": ([1.5, 1500.0], "tensor([   1.5000, 1500.0000])"),
    "a wide range": ([1.0, 1000.5], "tensor([1.0000e+00, 1.0005e+03])"),
    "complex, each part in its style": ([1 + 2j, -0.5 - 3j], "tensor([ 1.0000+2.j, -0.5000-3.j])"),
    "nothing": ([], "tensor([])"),
    "a matrix": ([[1.5, -2.0], [0.0, inf]], "tensor([[ 1.5000, -2.0000],\n        [ 0.0000,     inf]])"),
    "a stack": (
        np.arange(8).reshape(2, 2, 2),
        "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])",
    ),
    "a long row": (
        np.arange(25.0),
        "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
        "        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24.])",
    ),
    "a summary": (np.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    "a summary of a matrix": (
        np.arange(20000).reshape(100, 200),
        "tensor([[    0,     1,     2,  ...,   197,   198,   199],\n"
        "        [  200,   201,   202,  ...,   397,   398,   399],\n"
        "        [  400,   401,   402,  ...,   597,   598,   599],\n"
        "        ...,\n"
        "        [19400, 19401, 19402,  ..., 19597, 19598, 19599],\n"
        "        [19600, 19601, 19602,  ..., 19797, 19798, 19799],\n"
        "        [19800, 19801, 19802,  ..., 19997, 19998, 19999]])",
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_values(name):
    values, expected = VALUES[name]
    assert text(tensor(values)) == expected


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (tensor([1, 2], "float64"), "tensor([1., 2.], dtype=torch.float64)"),
        (tensor([1, 2], "float16"), "tensor([1., 2.], dtype=torch.float16)"),
        (tensor([1, 2], "int32"), "tensor([1, 2], dtype=torch.int32)"),
        (tensor([1, 2], "complex128"), "tensor([1.+0.j, 2.+0.j], dtype=torch.complex128)"),
        (tensor(np.zeros((0, 3))), "tensor([], size=(0, 3))"),
        (tensor(np.zeros((0, 3), int)), "tensor([], size=(0, 3), dtype=torch.int64)"),
        (tensor(np.zeros(0, bool)), "tensor([], dtype=torch.bool)"),
        (tensor([1.0], requires_grad=True), "tensor([1.], requires_grad=True)"),
        (tensor([1.0], grad_fn="MulBackward0"), "tensor([1.], grad_fn=<MulBackward0>)"),
        (tensor([1.0], grad_fn="torch::autograd::CopySlices"), "tensor([1.], grad_fn=<CopySlices>)"),
        (tensor([1.0], device="cuda:0"), "tensor([1.], device='cuda:0')"),
        (tensor([1.0], cls=Parameter), "Parameter containing:\ntensor([1.])"),
        (tensor([1.0], cls=type("Mine", (Tensor,), {})), "Mine([1.])"),
        (tensor([1.0], cls=type("Mine", (Parameter,), {})), "Parameter containing:\nParameter(Mine([1.]))"),
        (
            tensor([1001.25] * 8, "float64", grad_fn="AddBackward0"),
            "tensor([1001.2500, 1001.2500, 1001.2500, 1001.2500, 1001.2500, 1001.2500,\n"
            "        1001.2500, 1001.2500], dtype=torch.float64, grad_fn=<AddBackward0>)",
        ),
        (
            tensor([1.0], "float16", device="cuda:1", grad_fn="A" * 60),
            "tensor([1.], device='cuda:1', dtype=torch.float16,\n       grad_fn=<" + "A" * 60 + ">)",
        ),
    ],
)
def test_what_follows_the_values(described, expected):
    assert text(described) == expected


def test_the_default_dtype_goes_without_saying():
    assert text(tensor([1.0], "float64"), default="torch.float64") == "tensor([1.])"
    assert text(tensor([1.0], "float32"), default="torch.float64") == "tensor([1.], dtype=torch.float32)"
    assert text(tensor([1j], "complex64"), default="torch.float64") == "tensor([0.+1.j], dtype=torch.complex64)"
    assert text(tensor([1j], "complex128"), default="torch.float64") == "tensor([0.+1.j])"


def test_real_tensors():
    x = minitorch.tensor([1.0, 2.5], requires_grad=True)
    assert repr(x) == "tensor([1.0000, 2.5000], requires_grad=True)"
    assert str(x * 2) == "tensor([2., 5.], grad_fn=<MulBackward0>)"
    assert x.__repr__(tensor_contents="...") == "tensor(..., requires_grad=True)"
    assert "requires_grad=True" in x._repr_html_()
    before = minitorch.get_default_dtype()
    minitorch.set_default_dtype(minitorch.float64)
    try:
        assert repr(x.detach()) == "tensor([1.0000, 2.5000], dtype=torch.float32)"
    finally:
        minitorch.set_default_dtype(before)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")
    assert text(tensor([1.5, nan, -100], ml_dtypes.bfloat16)) == (
        "tensor([   1.5000,       nan, -100.0000], dtype=torch.bfloat16)"
    )


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(st.sampled_from(["int64", "float32", "bool"]), hnp.array_shapes(min_dims=0, max_dims=4)))
def test_all_values_in_order_and_untouched(array):
    before = array.copy()
    with printoptions(threshold=inf, precision=9, sci_mode=True):
        shown = format_array(array).translate(str.maketrans("[],", "   ")).split()
    read = [word == "True" if array.dtype == bool else array.dtype.type(word) for word in shown]
    np.testing.assert_array_equal(np.array(read, array.dtype), array.reshape(-1))
    np.testing.assert_array_equal(array, before)


def test_a_summary_reads_only_what_it_shows():
    # 8 TB of zeros: one element in memory, strides of nothing.
    vast = np.broadcast_to(np.float64(0.5), (1_000_000, 1_000_000))
    assert edges(vast, 3, [True, True]).shape == (6, 6)
    assert text(tensor_of(vast)).count("0.5000") == 36
    assert "1,000,000,000,000 elements" in tensor_html(tensor_of(vast), default_dtype="torch.float32")


def tensor_of(array):
    """`tensor` without a conversion of the array."""
    described = tensor([0], array.dtype)
    described.array = array
    return described


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        ([1.12345], {"precision": 2}, "tensor([1.12])"),
        (np.arange(10), {"threshold": 5}, "tensor([0, 1, 2,  ..., 7, 8, 9])"),
        (np.arange(10), {"threshold": 5, "edgeitems": 1}, "tensor([0,  ..., 9])"),
        (np.arange(10), {"threshold": 5, "edgeitems": 0}, "tensor([...], size=(10,))"),
        (np.arange(10), {"linewidth": 20}, "tensor([0, 1, 2, 3,\n        4, 5, 6, 7,\n        8, 9])"),
        ([1.0, 2.0], {"sci_mode": True}, "tensor([1.0000e+00, 2.0000e+00])"),
        ([1.5, 1e9], {"sci_mode": False}, "tensor([         1.5000, 1000000000.0000])"),
        ([0.123456], {"profile": "short"}, "tensor([0.12])"),
        (np.zeros(1001), {"profile": "full", "linewidth": inf}, "tensor([" + ", ".join(["0."] * 1001) + "])"),
    ],
)
def test_options_change_the_text(values, options, expected):
    with printoptions(**options):
        assert text(tensor(values)) == expected


def test_options_round_trip_and_come_back():
    start = get_printoptions()
    assert start == {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
    with pytest.raises(KeyError), printoptions(precision=2, sci_mode=True, html=False):
        inside = get_printoptions()
        assert inside == {**start, "precision": 2, "sci_mode": True}
        set_printoptions(**inside)
        assert get_printoptions() == inside
        set_printoptions(edgeitems=1)  # leaves the precision, but not sci_mode
        assert get_printoptions() == {**start, "precision": 2, "edgeitems": 1}
        raise KeyError
    assert get_printoptions() == start
    assert tensor_html(tensor([1.0]), default_dtype="torch.float32")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"profile": "long"}, ValueError, "'default', 'short', 'full', got 'long'"),
        ({"precision": -1}, ValueError, "precision must be 0 or more, got -1"),
        ({"precision": 2.0}, TypeError, "precision must be a whole number, got 2.0"),
        ({"edgeitems": "3"}, TypeError, "edgeitems must be a whole number, got '3'"),
        ({"threshold": nan}, ValueError, "math.inf"),
        ({"linewidth": "wide"}, TypeError, "linewidth must be a number, got 'wide'"),
    ],
)
def test_a_bad_option_is_refused_and_changes_nothing(options, error, words):
    start = get_printoptions()
    with pytest.raises(error, match=words):
        set_printoptions(**{"edgeitems": 1, **options})
    assert get_printoptions() == start


# ---------------------------------------------------------------- HTML


class Outline(HTMLParser):
    """Checks that tags are balanced, and collects them with the text of the table cells."""

    def __init__(self, source):
        super().__init__()
        self.open, self.tags, self.cells = [], [], []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


def html(t):
    source = tensor_html(t, default_dtype="torch.float32")
    return source, Outline(source)


@settings(max_examples=80, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from(["bool", "int64", "float16", "float32", "float64", "complex64"]),
        hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=24).filter(lambda shape: math.prod(shape) < 5000),
    )
)
def test_html_is_whole_small_and_self_contained(array):
    source, outline = html(tensor(array, array.dtype))
    assert len(source) < 200_000
    assert "http" not in source and "<script" not in source
    names = [tag for tag, _ in outline.tags]
    assert names.count("pre") == 1  # the text alternative
    assert bool(array.size) == ("table" in names)


def test_html_says_what_the_tensor_is():
    source, _ = html(tensor([1.0, -2.0, nan, inf], device="cuda:0", grad_fn="<b>Mul&Backward"))
    for words in (
        "shape=(4,)", "dtype=torch.float32", "device=cuda:0", "requires_grad=True",
        "grad_fn=&lt;&lt;b&gt;Mul&amp;Backward&gt;", "min -2, mean -0.5, max 1, 1 NaN, 1 infinite",
    ):
        assert words in source
    assert "<b>Mul" not in source


def test_html_table_of_a_matrix():
    _, outline = html(tensor([[1.0, -2.0], [0.0, nan]]))
    assert outline.cells == ["1.", "-2.", "0.", "nan"]
    styles = [attrs.get("style") for tag, attrs in outline.tags if tag == "td"][1:]  # the first is the corner
    backgrounds = [style.split("background:")[1] for style in styles]
    # half way to blue, fully orange, white, grey
    assert backgrounds == ["#b5d6ea", "#fdae61", "#ffffff", "#dddddd"]


def test_html_shades_floating_point_matrices_only():
    for values in (np.eye(3, dtype=int), np.eye(3) > 0, np.arange(3.0), np.float32(2), np.eye(2) * 1j):
        assert "background" not in html(tensor(values))[0]
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 of its own")
    assert "background" in html(tensor(np.eye(2), ml_dtypes.bfloat16))[0]


def test_html_leaves_out_the_middle():
    _, outline = html(tensor(np.arange(2100).reshape(21, 100)))
    assert outline.cells.count("...") == 20 + 20 + 1
    assert "99" in outline.cells and "1050" not in outline.cells
    _, whole = html(tensor(np.arange(400).reshape(20, 20)))
    assert whole.cells == [str(i) for i in range(400)]


def test_html_of_more_than_two_dimensions():
    source, outline = html(tensor(np.arange(3 * 3 * 2 * 2).reshape(3, 3, 2, 2)))
    captions = ["[0, 0, :, :]", "[0, 1, :, :]", "[2, 1, :, :]", "[2, 2, :, :]"]
    assert [caption for caption in captions if caption in source] == captions
    assert [tag for tag, _ in outline.tags].count("table") == 4
    assert "5 more matrices" in source


def test_html_survives_huge_values():
    source, _ = html(tensor([[1.7e308, 1.7e308], [-1.7e308, 5e-324]], "float64"))
    assert "mean 4.25e+307" in source


def test_html_can_be_turned_off():
    with printoptions(html=False):
        assert tensor_html(tensor([1.0]), default_dtype="torch.float32") is None
