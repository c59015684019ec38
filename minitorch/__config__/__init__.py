"""The libraries and threads that computing rests on: `show` and `parallel_info`, as texts."""

import numpy as np

from ..settings import get_num_interop_threads, get_num_threads


def show():
    """NumPy's version and the libraries that it was built with."""
    libraries = np.show_config(mode="dicts").get("Build Dependencies", {})
    lines = [f"{kind}: {found.get('name')} {found.get('version')}" for kind, found in libraries.items()]
    return "\n".join(["minitorch built with:", f"  - NumPy {np.__version__}", *[f"  - {line}" for line in lines], ""])


def parallel_info():
    """The numbers of threads."""
    return (f"minitorch parallel info:\n  threads of products and elementwise work: {get_num_threads()}\n"
            f"  calls at a time: {get_num_interop_threads()}\n")
