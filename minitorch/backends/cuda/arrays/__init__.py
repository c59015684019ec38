"""NumPy's array and functions on a device, over our kernels.

- `array`: the array type. `namespace`: NumPy's names, each a function that launches one of our
  kernels (`ours`).
- `layout`: shapes and strides. `dtypes`: what kernels take and compute in. `launch`: elementwise launches.
- `ufunc`, `reduce`, `copy`, `random`: functions by shape of work.
- `library`: functions that have none of our kernels, by CuPy or NumPy.
"""
