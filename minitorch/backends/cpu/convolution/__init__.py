"""Convolution on the CPU: several methods, an estimate of what each costs, and the kernels that choose by it."""
