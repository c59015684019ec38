"""The device runtime: allocate, compile, launch, copy, capture. It knows memory and dtypes, not arrays' arithmetic.

- `machine`: the differences between a GPU and the simulator.
- `compile` and `kernel`: a launcher of a CUDA C++ source in `minitorch/backends/cuda/src`.
- `graphs`: captured graphs.
"""
