"""Objects of Python and NumPy on their way to tensors: data, indices, numeric types. No op definitions.

The host is the processor that runs Python, as in "host memory": everything here is NumPy's, on every device.
"""
