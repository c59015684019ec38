"""The named tuples that some functions return, as ``torch.return_types`` has them: ``x.max(0).values``."""

from collections import namedtuple


def _named(name, *fields):
    made = namedtuple(name, fields)
    made.__doc__ = f"The result of `{name}`: {', '.join(fields)}."
    made.__repr__ = lambda self: (f"torch.return_types.{name}(\n"
                                  + ",\n".join(f"{f}={v!r}" for f, v in zip(self._fields, self)) + ")")
    return made


max = _named("max", "values", "indices")
min = _named("min", "values", "indices")
median = _named("median", "values", "indices")
nanmedian = _named("nanmedian", "values", "indices")
mode = _named("mode", "values", "indices")
kthvalue = _named("kthvalue", "values", "indices")
sort = _named("sort", "values", "indices")
topk = _named("topk", "values", "indices")
cummax = _named("cummax", "values", "indices")
cummin = _named("cummin", "values", "indices")
aminmax = _named("aminmax", "min", "max")
frexp = _named("frexp", "mantissa", "exponent")
histogram = _named("histogram", "hist", "bin_edges")
histogramdd = _named("histogramdd", "hist", "bin_edges")
slogdet = _named("slogdet", "sign", "logabsdet")
qr = _named("qr", "Q", "R")
svd = _named("svd", "U", "S", "V")
triangular_solve = _named("triangular_solve", "solution", "cloned_coefficient")
lu_unpack = _named("lu_unpack", "P", "L", "U")
linalg_slogdet = _named("linalg_slogdet", "sign", "logabsdet")
linalg_qr = _named("linalg_qr", "Q", "R")
linalg_svd = _named("linalg_svd", "U", "S", "Vh")
linalg_eig = _named("linalg_eig", "eigenvalues", "eigenvectors")
linalg_eigh = _named("linalg_eigh", "eigenvalues", "eigenvectors")
linalg_lstsq = _named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")
linalg_cholesky_ex = _named("linalg_cholesky_ex", "L", "info")
linalg_inv_ex = _named("linalg_inv_ex", "inverse", "info")
linalg_solve_ex = _named("linalg_solve_ex", "result", "info")
linalg_lu = _named("linalg_lu", "P", "L", "U")
linalg_lu_factor = _named("linalg_lu_factor", "LU", "pivots")
linalg_lu_factor_ex = _named("linalg_lu_factor_ex", "LU", "pivots", "info")
