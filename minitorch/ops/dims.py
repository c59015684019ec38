"""Index notation: which dimensions of an op's inputs and results go together (the column `dims`).

| written | read |
|---|---|
| ``*`` | all other dimensions, aligned from the right and broadcast; alone: elementwise |
| ``n k, k m -> n m`` | a letter is one dimension, which is summed where the result lacks it |
| ``* 2`` | a number is a dimension of that size |
| ``n -> by max`` | it is combined otherwise: "max", "min", "avg" or "product" |
| ``[n]`` | the op needs this dimension whole: it may be neither cut nor joined with another |
| ``* dim -> *`` | an attribute's name stands where it says: an int, several, or None for all |
| ``dim=k`` | a dimension of a new size, here an attribute's |
| ``+ m`` | this input is added to the result, and broadcast to it |

An op without this column is treated by the general ways: `vmap` runs its reference, a DTensor is
computed whole on each rank, nested and masked tensors refuse it. `tests/test_op_table.py` compares
each op with what its column says.
"""

__all__ = ["combination", "is_along", "is_elementwise", "is_leading", "terms"]


def terms(dims):
    """The words of each input and result: ``"* [dim] -> *"`` is ``[["*", "dim"]], [["*"]]``."""
    body, _, _ = dims.partition(" by ")
    inputs, arrow, results = body.partition("->")
    return words(inputs), words(results if arrow else "*")


def words(side):
    return [[word.strip("[]").partition("=")[0] for word in term.split() if word != "+"]
            for term in side.split(",")]


def combination(dims):
    """How the elements of a dimension that the result lacks are combined: "sum", "max", ..."""
    return dims.partition(" by ")[2] or "sum"


def is_elementwise(op):
    """True if an op or a public function says that it works element by element."""
    dims = getattr(op, "dims", None)                       # what is not published has none
    if dims is None or dims == "*":
        return dims == "*"
    return all(term == ["*"] for side in terms(dims) for term in side)


def is_along(op):
    """True for an op of one array along the dimensions that its attribute `dim` names."""
    if op.dims is None or len(op.inputs) != 1 or not any(name == "dim" for name, _ in op.attrs):
        return False
    inputs, results = terms(op.dims)
    return inputs == [["*", "dim"]] and all(term in (["*"], ["*", "dim"]) for term in results)


def is_leading(op):
    """True if one more leading dimension is one more of ``*`` in the only input and all results."""
    if op.dims is None or len(op.inputs) != 1 or op.attrs:
        return False
    return all(term[:1] == ["*"] for side in terms(op.dims) for term in side)
