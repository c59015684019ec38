"""``torch.onnx``, so that programs that only import it run. Calls run at once and leave no graph to export."""

__all__ = ["export", "is_in_onnx_export"]


def is_in_onnx_export():
    """False: nothing is exported."""
    return False


def export(model, *args, **kwargs):
    """Raises NotImplementedError: minitorch has no traced graph to write as ONNX.

    PyTorch can: save ``model.state_dict()``, load it into the same module there, and export that.
    """
    raise NotImplementedError("minitorch runs eagerly and writes no ONNX files; torch.save(model.state_dict(), path), "
                              "load that into the same module in PyTorch, and export it there")
