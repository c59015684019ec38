"""The graph of a model in TensorBoard's files."""

import pytest

import minitorch


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
