"""The lock around syntax trees: Python 3.11 counts the depth of those of all threads together, and raises SystemError."""

import threading

__all__ = ["one_at_a_time"]

one_at_a_time = threading.RLock()
