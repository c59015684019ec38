"""``torch.distributed._tensor.experimental``: a name that libraries import."""

__all__ = ["implicit_replication"]


def implicit_replication():
    """NotImplementedError: in PyTorch, a block in which plain tensors beside DTensors count as
    replicated."""
    raise NotImplementedError("plain tensors are not replicated by themselves: write "
                              "distribute_tensor(x, mesh, [Replicate()]) for each of them")
