"""The device runtime: allocate, compile, launch, copy, capture. It knows memory and dtypes, not arrays' arithmetic.

- `machine`: the differences between a GPU and the simulator.
- `compile` and `kernel`: a launcher of a CUDA C++ source in `minitorch/backends/cuda/src`.
- `parameters` and `sizes`: the arguments of launches in one piece, the sizes that memory is rounded up to.
- `plans`: calls recorded as launches, and carried out from then on without their Python.
- `graphs`: captured graphs.
"""
