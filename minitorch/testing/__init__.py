"""Checks for gradients and values, public: for the library's own tests, for users' functions, for students.

`gradcheck`, `gradgradcheck` and `assert_close` are PyTorch's; `check` gives a function, or a `Function` class, the
whole battery in one line; `doctor` watches a training run and names its faults; `strategies` draws inputs, with
Hypothesis or without.
"""

from .battery import check
from .compare import assert_close, make_tensor
from .gradcheck import GradcheckError, gradcheck, gradgradcheck
from .runs.watch import doctor

__all__ = ["GradcheckError", "assert_close", "check", "doctor", "gradcheck", "gradgradcheck", "make_tensor"]
