"""Small bugs planted in the library one at a time, and the tests that must notice: see `run`."""
