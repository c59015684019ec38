"""Products with weights of 8 bits, whose rows have a scale each."""

from ...core.dtypes import int8
from ...core.errors import worded
from ...core.op import Other
from ..define import composite, op


@op(dims="n k, m k, m -> n m",
    promotion="same", refuses="iub", namespace=None, layout="contiguous",
    input=lambda F, g, mat2, scales, input_dtype: F.gemm(g * scales, F.to(mat2, dtype=input_dtype)),
    scales=lambda F, g, input, mat2, input_dtype: F.sum(
        g * F.gemm(input, F.transpose(F.to(mat2, dtype=input_dtype), dim0=0, dim1=1)), dim=0, keepdim=False),
    sample=lambda d: ([d.array((2, 4)), d.integers((3, 4), -127, 127).astype("int8"), d.array((3,))], {}))
def weight_int8pack_mm(F, input, mat2: Other, scales):
    """``input @ (mat2 * scales[:, None]).T``."""
    return F.xp.matmul(input, mat2.T.astype(input.dtype)) * scales


@composite(method=False)
def _weight_int8pack_mm(input, mat2, scales):
    """The product with a weight of 8 bits, ``input @ (mat2 * scales[:, None]).T``: (m, k), (n, k), (n,) -> (m, n).

    `mat2` is int8 and has no gradient. `input` and `scales` are floats of one dtype, that of the result. On the CPU the
    weight is made float a block at a time; with native kernels (`minitorch.backends.native.enable`) it is read as it
    is, for up to 16 rows of `input`.

    Raises:
        RuntimeError: shapes or dtypes are others.

    >>> import minitorch as torch
    >>> weight, scales = torch.tensor([[100, -50]], dtype=torch.int8), torch.tensor([0.01])
    >>> torch._weight_int8pack_mm(torch.tensor([[1.0, 2.0]]), weight, scales)
    tensor([[0.]])
    """
    if mat2.dtype != int8:
        raise worded(RuntimeError(f"_weight_int8pack_mm: expected mat2 to be torch.int8, got {mat2.dtype}"))
    if not input.is_floating_point() or scales.dtype != input.dtype:
        raise worded(RuntimeError(f"_weight_int8pack_mm: expected input and scales to be floats of one dtype, got "
                                  f"{input.dtype} and {scales.dtype}"))
    if input.ndim != 2 or mat2.ndim != 2 or input.shape[1] != mat2.shape[1] or scales.shape != mat2.shape[:1]:
        raise worded(RuntimeError(f"_weight_int8pack_mm: expected (m, k), (n, k), (n,), got {list(input.shape)}, "
                                  f"{list(mat2.shape)}, {list(scales.shape)}"))
    return weight_int8pack_mm(input, mat2, scales)
