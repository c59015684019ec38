"""Arguments of a wrong type are named in the error, whose class is PyTorch's, wherever the call fails of them."""

import inspect
import subprocess
import sys

import pytest

import minitorch
from minitorch.core.registry import FUNCTIONS

F = minitorch.nn.functional


@pytest.mark.parametrize("call, words", [
    (lambda x: x.view_as(None), "view_as(): argument 'other'"),
    (lambda x: F.cosine_similarity(x, "a"), "argument 'x2' (position 2) must be Tensor, not str"),
    (lambda x: x.flatten(1.5), "flatten(): argument 'start_dim'"),
    (lambda x: F.max_pool2d(x[None, None], minitorch.long), "not torch.dtype"),
    (lambda x: minitorch.abs_("a"), "abs_(): argument"),
    (lambda x: minitorch.ones_like(3.5), "must be Tensor, not float"),
    (lambda x: minitorch.narrow(x, "a", 0, 1), "argument 'dim'"),
    (lambda x: minitorch.aminmax([1]), "must be Tensor, not list"),
    (lambda x: minitorch.addcmul(x, x, x, value="a"), "addcmul(): argument 'value' must be Number, not str")])
def test_the_argument_of_a_wrong_type_is_named(call, words):
    for _ in range(2):                                     # the first call compiles the function
        with pytest.raises(TypeError) as caught:
            call(minitorch.ones(2, 2))
        assert words in str(caught.value)


@pytest.mark.parametrize("wrong", ["a", None, 3.5, [1], minitorch.float32])
@pytest.mark.filterwarnings("ignore")
def test_no_function_of_one_tensor_raises_an_attribute_error(wrong):
    for (namespace, name), public in list(FUNCTIONS.items()):
        parameters = list(inspect.signature(public.call).parameters.values())
        if [p.name for p in parameters if p.default is p.empty] != ["input"] or name == "detach_":
            continue
        try:
            public.call(wrong)
        except AttributeError as error:
            raise AssertionError(f"{namespace}.{name}({wrong!r}) raises {error!r}") from error
        except Exception as error:
            assert "ufunc" not in str(error) and "numpy" not in str(error), (name, error)


def test_functions_keep_their_signature_and_source():
    before = inspect.signature(minitorch.flatten), str(minitorch.flatten.source)
    minitorch.flatten(minitorch.ones(2, 2))
    assert (inspect.signature(minitorch.flatten), str(minitorch.flatten.source)) == before
    assert list(inspect.signature(minitorch.Tensor.flatten).parameters)[0] == "self"


def test_a_first_call_warns_at_the_line_of_the_caller():
    program = "import minitorch\nminitorch.meshgrid(minitorch.ones(2), minitorch.ones(3))"   # overrides are off
    shown = subprocess.run([sys.executable, "-W", "always", "-c", program], capture_output=True, text=True).stderr
    assert shown.startswith("<string>:2: UserWarning: torch.meshgrid")


@pytest.mark.parametrize("shape", [(), (3,), (2, 2, 2)])
def test_a_transpose_of_what_is_no_matrix_warns(shape):
    with pytest.warns(UserWarning, match="deprecated"):
        assert minitorch.ones(shape).T.shape == shape[::-1]


def test_equal_shapes_are_broadcast_to_the_tensors_themselves():
    x, y = minitorch.ones(2), minitorch.ones(1)
    first, second = minitorch.broadcast_tensors(x, y)
    assert first is x and second.shape == (2,)


def test_places_in_a_sequence_of_another_dtype():
    x = minitorch.bucketize(minitorch.tensor([1, 2, 3]), minitorch.tensor([1.5, 2.5]))
    assert x.tolist() == [0, 1, 2]


def test_one_sample_takes_a_target_of_one_element():
    x = minitorch.tensor([-1.0, -2.0])
    assert F.nll_loss(x, minitorch.tensor([1])).item() == 2
    assert F.cross_entropy(x, minitorch.tensor([1])).shape == ()
    with pytest.raises(ValueError, match="must have size 1"):
        F.cross_entropy(x, minitorch.tensor([1, 0, 1]))
