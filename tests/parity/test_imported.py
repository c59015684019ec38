"""Names that libraries import stay importable: `imported.py` has read the libraries."""

import pytest

import minitorch as torch
from tests.parity import imported


def test_names_that_libraries_import_are_there():
    names = [line.split() for line in imported.FILE.read_text().splitlines()]
    lost = [row for row in names if not imported.has("minitorch", row[0], *(row[1:] or [None]))]
    assert not lost and len(names) > 600


def test_what_is_imported_by_name_says_what_to_write_instead():
    for call in (lambda: torch._ops.HigherOrderOperator("x"), lambda: torch.export.ExportedProgram(),
                 lambda: torch.export.export(None, ()), lambda: torch.jit._get_trace_graph(None),
                 lambda: torch.ao.quantization.ObserverBase(),
                 lambda: torch.utils.checkpoint.create_selective_checkpoint_contexts([])):
        with pytest.raises(NotImplementedError, match="[a-z]{3}"):
            call()


def test_modules_with_the_name_of_their_function_are_called():
    import minitorch.autograd.gradcheck as place
    assert torch.autograd.gradcheck(torch.sin, torch.ones(1, dtype=torch.float64, requires_grad=True))
    assert issubclass(place.GradcheckError, RuntimeError)


def test_helpers_of_libraries():
    from minitorch.utils._foreach_utils import _group_tensors_by_device_and_dtype as groups_of
    x, y = torch.ones(1), torch.ones(2, dtype=torch.float64)
    groups = groups_of([[x, y, x], [y, x, None]], with_indices=True)
    cpu = torch.device("cpu")
    assert groups[cpu, torch.float32][1] == [0, 2] and groups[cpu, torch.float64][0][0][0] is y
    grad, out = torch.randn(2, 3), torch.randn(2, 3).softmax(1)
    found = torch._softmax_backward_data(grad, out, 1, torch.float32)
    assert torch.allclose(found, out * (grad - (grad * out).sum(1, keepdim=True)))
    layer = torch.nn.Linear(1, 1)
    assert torch.nn.parallel.replicate(layer, [0]) == [layer]
    assert len(torch.nn.parallel.parallel_apply([layer, layer], [x, (x,)])) == 2
