"""The steps of optimisers and schedules, as `compile` sees them: each one as a whole.

An observer is called as ``observer(self, run, has_arguments)`` instead of the step of `self` and returns ``run()``.
While it runs there is no observer: steps within a step are part of it. It is one for all threads.
"""

import functools

__all__ = ["Stepping", "seen", "tell"]

observer = None


def tell(stepper, step, args, kwargs):
    """``step(stepper, *args, **kwargs)`` by way of the observer."""
    before = Stepping.observe(None)
    try:
        run = functools.partial(step, stepper, *args, **kwargs)
        return before(stepper, run, bool(args or kwargs))
    finally:
        Stepping.observe(before)


def seen(step):
    """A method `step` that tells the observer; one that is called through ``super()`` is part of the step it is in."""
    @functools.wraps(step)
    def told(self, *args, **kwargs):
        if observer is None or type(self).step is not told:
            return step(self, *args, **kwargs)
        return tell(self, told, args, kwargs)
    return told


class Stepping:
    """Base class of optimisers and schedules."""

    @staticmethod
    def observe(function):
        """Make a function the observer of all steps, None for none; returns the one before."""
        global observer
        before, observer = observer, function
        return before
