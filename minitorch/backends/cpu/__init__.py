"""The CPU: NumPy, the settings that make it fast, and kernels that are faster than an op definition's reference."""
