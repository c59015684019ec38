"""Kernels of ops, entered by ``@kernel("op name")`` (see `core/backend.py: Kernels`), one file a kind of op.

All modules here are imported when a device is first used. `supported` has the predicates that say which arguments
kernels take, `rows` how rows are distributed over threads, `product`, `hopper` and `sort` launches that several share.
"""
