"""Checkpoints in sharded safetensors files by several ranks, which are not written or read here yet.

Libraries import these names where they only may be needed; whoever makes one is told what there is instead.
"""

__all__ = ["HuggingFaceStorageReader", "HuggingFaceStorageWriter"]


class HuggingFaceStorageWriter:
    """Refused: NotImplementedError names what writes a checkpoint."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("safetensors files are not written by several ranks: use distributed.checkpoint."
                                  "save, or gather the state (full_tensor) and write it with save_file on one rank")


class HuggingFaceStorageReader:
    """Refused: NotImplementedError names what reads a checkpoint."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("safetensors files are not read by several ranks: read them with load_file, and give "
                                  "each rank its part by distribute_tensor")
