"""The profiler with its older arguments, as ``torch.autograd.profiler`` has it."""

from .averages import EventList
from .profile import ProfilerActivity, emit_nvtx, record_function
from .profile import profile as current

__all__ = ["EventList", "emit_nvtx", "profile", "record_function"]


class profile(current):
    """Profiles what runs in its block: `minitorch.profiler.profile` without schedules, with the results' old names.

    With `enabled` False nothing is recorded, and ``with`` gives None. `record_shapes`, `profile_memory` and
    `with_stack` as there; the other arguments are accepted.
    """

    __module__ = "minitorch.autograd.profiler"

    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False, with_flops=False,
                 profile_memory=False, with_stack=False, with_modules=False, use_kineto=False, use_cpu=True,
                 experimental_config=None, acc_events=False, custom_trace_id_callback=None,
                 post_processing_timeout_s=None, activity_filters=None):
        activities = [ProfilerActivity.CPU]
        if use_cuda or use_device == "cuda":
            activities.append(ProfilerActivity.CUDA)
        super().__init__(activities=activities, record_shapes=record_shapes, profile_memory=profile_memory,
                         with_stack=with_stack)
        self.enabled = enabled

    def __enter__(self):
        return super().__enter__() if self.enabled else None

    @property
    def function_events(self):
        """The recorded events, as `events` gives them."""
        return self.events()

    @property
    def self_cpu_time_total(self):
        """The time of all events in microseconds, each without those inside it."""
        return self.events().self_cpu_time_total

    def total_average(self):
        """All events as one."""
        return self.events().total_average()

    def table(self, *args, **kwargs):
        """The events as a table: see `EventList.table`."""
        return self.events().table(*args, **kwargs)

    def __repr__(self):
        return self.table() if self.events() else "<profile: no events>"
