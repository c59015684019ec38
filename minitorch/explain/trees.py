"""The lock around syntax trees: Python 3.11 counts their depth in all threads as one, and raises SystemError."""

import threading

__all__ = ["one_at_a_time"]

one_at_a_time = threading.RLock()
