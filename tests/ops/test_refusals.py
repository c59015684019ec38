"""Which calls are refused for the dtype or the form of their input, by each function of a kind."""

import pytest

import minitorch as t
import minitorch.nn.functional as F
from minitorch import nn

L = t.linalg
SQUARE = {"eigh": L.eigh, "eigvalsh": L.eigvalsh, "eig": L.eig, "eigvals": L.eigvals, "cholesky": L.cholesky,
          "det": L.det, "slogdet": L.slogdet, "inv": L.inv, "matrix_exp": L.matrix_exp,
          "matrix_power": lambda a: L.matrix_power(a, 3), "solve": lambda a: L.solve(a, t.ones(2, 1))}
ANY = {"qr": L.qr, "svd": L.svd, "svdvals": L.svdvals, "pinv": L.pinv, "lu_factor": L.lu_factor}
each_square = pytest.mark.parametrize("f", SQUARE.values(), ids=SQUARE)
each_of_all = pytest.mark.parametrize("f", [*SQUARE.values(), *ANY.values()], ids=[*SQUARE, *ANY])


@each_square
def test_matrices_that_are_not_square(f):
    with pytest.raises(RuntimeError, match="square"):
        f(t.ones(2, 3))


@each_of_all
def test_fewer_than_two_dimensions(f):
    with pytest.raises(RuntimeError, match="at least 2|2 dim|2 or more dim"):
        f(t.ones(3))


@pytest.mark.parametrize("name", [name for name in (*SQUARE, *ANY) if name != "matrix_power"])     # which takes them
def test_whole_numbers(name):
    f = (SQUARE | ANY)[name]
    with pytest.raises((RuntimeError, NotImplementedError), match="not implemented|[Ff]loating|Long|int64|same dtype"):
        f(t.tensor([[2, 0], [0, 2]]))


@pytest.mark.parametrize("f", [L.eigh, L.eigvalsh])
def test_triangles_are_lower_or_upper(f):
    with pytest.raises(RuntimeError, match="'L' or 'U', but got M"):
        f(t.eye(2), UPLO="M")


@pytest.mark.parametrize("f", [t.argmax, t.argmin, lambda x: x.argmax(0), lambda x: x.argmin(1, keepdim=True)])
def test_places_of_booleans(f):
    with pytest.raises(RuntimeError, match="not implemented for 'Bool'"):
        f(t.tensor([[True, False]]))


def test_functions_of_two_numbers_need_a_tensor():
    for call in (lambda: t.pow(2.0, 3.0), lambda: t.exp(1.0), lambda: t.maximum(1, 2)):
        with pytest.raises(TypeError, match="Tensor"):
            call()


def test_what_does_not_fit_is_refused():
    with pytest.raises(RuntimeError, match="bool"):
        t.trapezoid(t.tensor([True, False]))
    with pytest.raises(RuntimeError, match="linalg.cond.*square"):
        t.linalg.cond(t.ones(2, 3), 1)
    for options in ({"momentum": -1}, {"weight_decay": -1}, {"lr": -1}, {"nesterov": True}):
        with pytest.raises(ValueError):
            t.optim.SGD([nn.Parameter(t.ones(1))], **options)
    layer = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), use_trivialization=False,
                                                 orthogonal_map="matrix_exp")
    with pytest.raises(NotImplementedError, match="use_trivialization=False"):
        layer.weight = t.eye(2)


@pytest.mark.parametrize("f", [F.softmax, F.log_softmax, F.gelu, F.softplus])
def test_whole_numbers_have_no_softmax(f):
    with pytest.raises(NotImplementedError, match="not implemented for"):
        f(t.tensor([1, 2]), *((0,) if f in (F.softmax, F.log_softmax) else ()))


def test_N_17_mistakes_of_the_user_are_exceptions():
    for mistake, words in ((lambda: t.ones(2, 3) + t.ones(2, 4), "size of tensor a .3. must match .* b .4."),
                           (lambda: t.ones(2, 3) @ t.ones(2, 3), r"cannot be multiplied \(2x3 and 2x3\)"),
                           (lambda: t.ones(2, 3).reshape(5), "invalid for input of size 6"),
                           (lambda: t.ones(2).transpose(0, 5), "Dimension out of range"),
                           (lambda: nn.Linear(3, 2)(t.ones(2, 4)), r"\(2x4 and 3x2\)")):
        with pytest.raises((RuntimeError, IndexError), match=words):
            mistake()
