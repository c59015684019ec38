"""Which calls are refused for the dtype or the form of their input, by each function of a kind: planted bugs that let
one of them through went unnoticed.
"""

import pytest

import minitorch as t

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
