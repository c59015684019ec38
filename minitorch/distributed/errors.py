"""The errors of distributed programs, by PyTorch's names."""

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(RuntimeError):
    """The base of the errors of distributed programs."""


class DistBackendError(DistError):
    """A collective cannot be carried out: a rank failed, ended, is late, or called something else."""


class DistNetworkError(DistError):
    """A store or a rank cannot be reached."""


class DistStoreError(DistError):
    """A key did not arrive in time, or a store is not usable."""


class QueueEmptyError(DistStoreError):
    """Nothing waits in a queue of a store."""


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _error.__module__ = "torch.distributed"


def absent(name, instead):
    """A class in the place of ``torch.distributed.<name>``, which is missing: calling it raises an
    error that names `instead`."""
    def refuse(cls, *args, **kwargs):
        raise NotImplementedError(f"torch.distributed.{name} is not supported: {instead}")
    return type(name.rpartition(".")[2], (), {
        "__new__": refuse, "__doc__": f"Not supported: {instead}.",
        "__module__": "torch.distributed"})
