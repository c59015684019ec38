"""Names and behaviours that programs of others were found to need (docs/programs.md)."""

import struct

import numpy as np
import pytest

import minitorch
from minitorch import datasets
from minitorch.autograd import Variable


def write_idx(path, array):
    magic = 0x800 + array.ndim
    path.write_bytes(struct.pack(f">i{array.ndim}i", magic, *array.shape) + array.astype(np.uint8).tobytes())


def test_old_names_of_mnist(tmp_path):
    (raw := tmp_path / "MNIST" / "raw").mkdir(parents=True)
    write_idx(raw / "t10k-images-idx3-ubyte", np.zeros((2, 28, 28)))
    write_idx(raw / "t10k-labels-idx1-ubyte", np.arange(2))
    data = datasets.MNIST(tmp_path, train=False)
    for old, new in (("test_data", "data"), ("train_data", "data"), ("test_labels", "targets"),
                     ("train_labels", "targets")):
        with pytest.warns(UserWarning, match=f"{old} has been renamed {new}") as noted:
            assert getattr(data, old) is getattr(data, new)
        assert noted[0].filename == __file__
    assert data.processed_folder == str(tmp_path / "MNIST" / "processed")


def test_variables_are_tensors():
    x = minitorch.ones(2)
    for v in (Variable(x), Variable(x, True), Variable(x, requires_grad=True)):
        assert isinstance(v, Variable) and isinstance(x, Variable) and v.is_leaf and v.data_ptr() == x.data_ptr()
    assert Variable(x, True).requires_grad and not Variable((x * 2).requires_grad_()).requires_grad
    with pytest.warns(UserWarning, match="volatile was removed") as noted:
        assert not Variable(x, volatile=True).requires_grad
    assert noted[0].filename == __file__
    with pytest.raises(TypeError, match="has to be a tensor, but got list"):
        Variable([1.0])
    with pytest.raises(RuntimeError, match="require gradients"):
        Variable(minitorch.tensor([1]), requires_grad=True)
    assert Variable().shape == (0,) and not isinstance(1.0, Variable)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty", "rand", "randn"])
def test_sizes_by_name(name):
    assert getattr(minitorch, name)(size=(2, 3)).shape == (2, 3)
    assert getattr(minitorch, name)(size=()).shape == ()
    if hasattr(minitorch.Tensor, "new_" + name):
        new = getattr(minitorch.ones(1, dtype=minitorch.float64), "new_" + name)(size=(2, 3))
        assert new.shape == (2, 3) and new.dtype is minitorch.float64


def test_a_tensor_in_a_list_is_a_number():
    a, b = minitorch.tensor([0.5]), minitorch.tensor([[2.0]])
    for make in (minitorch.tensor, minitorch.as_tensor, minitorch.asarray, minitorch.Tensor, minitorch.FloatTensor):
        assert make([a, b]).shape == (2,) and make([[a], [b]]).tolist() == [[0.5], [2.0]]
        assert make([a, 3.0]).tolist() == [0.5, 3.0] and make((a.requires_grad_(),)).shape == (1,)
        with pytest.raises(ValueError, match="only one element tensors can be converted"):
            make([minitorch.ones(2), minitorch.ones(2)])
        with pytest.raises(ValueError, match="only one element tensors can be converted"):
            make([minitorch.ones(0)])
    assert minitorch.tensor([a.bfloat16(), a.bfloat16()]).dtype is minitorch.bfloat16
    assert minitorch.tensor([np.ones(1), np.ones(1)]).shape == (2, 1)           # arrays are sequences
    assert minitorch.tensor(b).shape == (1, 1)


def test_the_graph_of_a_model_for_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    from minitorch.utils.tensorboard import SummaryWriter
    nn = minitorch.nn
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Sequential(nn.Linear(4, 2)))
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, minitorch.ones(5, 3))
        writer.add_graph(nn.Bilinear(2, 2, 1), (minitorch.ones(1, 2), minitorch.ones(1, 2)))
        with pytest.raises(ValueError, match="give it an input"):
            writer.add_graph(model)
    nodes = {node.name: node for node in writer_graph(model, minitorch.ones(5, 3)).node}
    first, last = "Sequential/Linear[0]", "Sequential/Sequential[2]/Linear[0]"
    assert list(nodes[f"{first}/linear"].input) == ["input/input.1", f"{first}/weight", f"{first}/bias"]
    assert nodes[f"{first}/linear"].op == "aten::linear"
    assert list(nodes["output/output.1"].input) == [f"{last}/linear"]
    assert [d.size for d in nodes["output/output.1"].attr["_output_shapes"].list.shape[0].dim] == [5, 2]
    assert not model[0]._forward_hooks and not model[0]._forward_pre_hooks
    assert "Bilinear" in str(EventAccumulator(str(tmp_path)).Reload().Graph())


def test_the_graph_of_a_model_for_tensorboard_leaves_no_trace_in_it():
    pytest.importorskip("tensorboard")
    nn = minitorch.nn
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(), nn.Sequential(nn.Linear(3, 2)).eval())
    before = minitorch.get_rng_state()
    writer_graph(model, minitorch.ones(5, 3))
    assert model[0].num_batches_tracked == 0 and minitorch.equal(minitorch.get_rng_state(), before)
    assert [m.training for m in (model, model[0], model[1], model[2], model[2][0])] == [True] * 3 + [False] * 2


def writer_graph(model, x):
    from minitorch.utils.model_graph import graph_of
    return graph_of(model, x)
