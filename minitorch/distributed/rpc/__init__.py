"""Remote calls, which are not there: ``torch.distributed.rpc``, whose names refuse with what takes their place."""

from ..errors import absent

__all__ = ["BackendType", "RRef", "TensorPipeRpcBackendOptions", "WorkerInfo", "get_worker_info", "init_rpc",
           "is_available", "remote", "rpc_async", "rpc_sync", "shutdown"]

for _name in __all__:
    globals()[_name] = absent(f"rpc.{_name}", "send tensors by send() and recv(), objects by send_object_list(), and "
                                              "run stages of a model by distributed.pipelining")


def is_available():
    """False: there are no remote calls."""
    return False
