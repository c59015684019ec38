"""Every layer against PyTorch: signature, repr, keys, and the initial values for the same seed."""

import inspect
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")

import minitorch  # noqa: E402

# Left out: SyncBatchNorm and DataParallel (distributed), LinearCrossEntropyLoss (a prototype), Container (deprecated).
LEFT_OUT = {"SyncBatchNorm", "DataParallel", "LinearCrossEntropyLoss", "Container", "Module"}
CLASSES = sorted(name for name, cls in vars(torch.nn).items()
                 if inspect.isclass(cls) and issubclass(cls, torch.nn.Module) and name not in LEFT_OUT)

# Constructor calls; ``nn`` and ``T`` are either library.
CASES = """
nn.Identity(3, a=4)
nn.Linear(4, 3)
nn.Linear(4, 3, bias=False, dtype=T.float64)
nn.Linear(0, 3)
nn.Bilinear(3, 4, 2)
nn.Bilinear(3, 4, 2, False)
nn.LazyLinear(3)
nn.ReLU()
nn.ReLU(True)
nn.RReLU(0.1, 0.2, True)
nn.Hardtanh(-2, 2, True)
nn.ReLU6()
nn.ReLU6(True)
nn.Sigmoid()
nn.Hardsigmoid(True)
nn.Tanh()
nn.SiLU(True)
nn.Mish()
nn.Hardswish()
nn.ELU(0.5)
nn.CELU(0.5, True)
nn.SELU(True)
nn.GLU(1)
nn.GELU('tanh')
nn.Hardshrink(0.3)
nn.Softshrink(0.3)
nn.LeakyReLU(0.2, True)
nn.LogSigmoid()
nn.Softplus(2, 10)
nn.PReLU(3, 0.1)
nn.Softsign()
nn.Tanhshrink()
nn.Threshold(0.1, 20)
nn.Threshold(0.1, 20, True)
nn.Softmin(1)
nn.Softmax(-1)
nn.Softmax()
nn.Softmax2d()
nn.LogSoftmax(1)
nn.Dropout()
nn.Dropout(0.2, True)
nn.Dropout1d()
nn.Dropout2d(0.1)
nn.Dropout3d()
nn.AlphaDropout()
nn.FeatureAlphaDropout()
nn.Flatten()
nn.Flatten(0, 1)
nn.Unflatten(1, (2, 3))
nn.ConstantPad1d(2, 3.5)
nn.ConstantPad2d((1, 2, 3, 4), 0)
nn.ConstantPad3d(1, 1.5)
nn.ZeroPad1d(1)
nn.ZeroPad2d(2)
nn.ZeroPad3d(2)
nn.ReflectionPad1d(2)
nn.ReflectionPad2d((1, 2, 3, 4))
nn.ReflectionPad3d(1)
nn.ReplicationPad1d((1, 2))
nn.ReplicationPad2d(1)
nn.ReplicationPad3d(1)
nn.CircularPad1d(1)
nn.CircularPad2d(1)
nn.CircularPad3d(1)
nn.Conv1d(2, 4, 3)
nn.Conv1d(2, 4, (3,), stride=2, padding='valid', bias=False)
nn.Conv2d(4, 8, (3, 5), stride=2, padding=(1, 0), dilation=(1, 2), groups=2, bias=False)
nn.Conv2d(3, 4, 3, padding='same', padding_mode='reflect')
nn.Conv2d(3, 4, 3, padding=1, padding_mode='circular')
nn.Conv3d(1, 2, 3, padding=1, dtype=T.float64)
nn.ConvTranspose1d(2, 4, 3)
nn.ConvTranspose2d(2, 4, 3, 2, 1, 1, 2, False, 2)
nn.ConvTranspose3d(2, 2, (1, 2, 3))
nn.LazyConv1d(3, 2)
nn.LazyConv2d(3, 2, padding=1)
nn.LazyConv3d(3, 2, bias=False)
nn.LazyConvTranspose1d(3, 2)
nn.LazyConvTranspose2d(3, 2)
nn.LazyConvTranspose3d(3, 2)
nn.MaxPool1d(2)
nn.MaxPool2d((2, 3), 1, 1, 1, True, True)
nn.MaxPool3d(2, ceil_mode=True)
nn.MaxUnpool1d(2)
nn.MaxUnpool2d(2, 1, 1)
nn.MaxUnpool3d((2, 2, 2))
nn.AvgPool1d(2)
nn.AvgPool2d(2, 1, 1)
nn.AvgPool3d((1, 2, 2))
nn.LPPool1d(2, 3)
nn.LPPool2d(2, 3, 1)
nn.LPPool3d(1.5, 3)
nn.FractionalMaxPool2d(2, output_ratio=0.5)
nn.FractionalMaxPool3d(2, output_size=3)
nn.AdaptiveAvgPool1d(3)
nn.AdaptiveAvgPool2d((None, 3))
nn.AdaptiveAvgPool3d(2)
nn.AdaptiveMaxPool1d(3)
nn.AdaptiveMaxPool2d(3, True)
nn.AdaptiveMaxPool3d((1, 2, 3))
nn.BatchNorm1d(3)
nn.BatchNorm2d(3, momentum=None)
nn.BatchNorm2d(3, affine=False, track_running_stats=False)
nn.BatchNorm2d(3, bias=False)
nn.BatchNorm3d(3, 1e-3, dtype=T.float64)
nn.LazyBatchNorm1d()
nn.LazyBatchNorm2d(affine=False)
nn.LazyBatchNorm3d(track_running_stats=False)
nn.InstanceNorm1d(3)
nn.InstanceNorm2d(3, affine=True, track_running_stats=True)
nn.InstanceNorm3d(3)
nn.LazyInstanceNorm1d()
nn.LazyInstanceNorm2d()
nn.LazyInstanceNorm3d(affine=False)
nn.GroupNorm(2, 4)
nn.GroupNorm(2, 4, affine=False)
nn.GroupNorm(2, 4, bias=False)
nn.LayerNorm(3)
nn.LayerNorm([2, 3], elementwise_affine=False)
nn.LayerNorm((2, 3), bias=False)
nn.RMSNorm((2, 3))
nn.RMSNorm(3, 1e-5, False)
nn.LocalResponseNorm(2)
nn.CrossMapLRN2d(3)
nn.Embedding(5, 3)
nn.Embedding(5, 3, -1)
nn.Embedding(5, 3, 1, 2.0, 3.0, True, True)
nn.EmbeddingBag(5, 3)
nn.EmbeddingBag(5, 3, 2.0, 3.0, True, 'sum', True, None, True, 1)
nn.L1Loss()
nn.MSELoss(size_average=False)
nn.SmoothL1Loss(beta=0.5)
nn.HuberLoss(delta=2)
nn.NLLLoss(T.ones(3))
nn.NLLLoss2d()
nn.CrossEntropyLoss(T.ones(3), label_smoothing=0.1)
nn.PoissonNLLLoss()
nn.GaussianNLLLoss()
nn.KLDivLoss()
nn.BCELoss(T.ones(3))
nn.BCEWithLogitsLoss(pos_weight=T.ones(3))
nn.HingeEmbeddingLoss()
nn.MultiLabelMarginLoss()
nn.SoftMarginLoss()
nn.MultiLabelSoftMarginLoss()
nn.MultiMarginLoss(weight=T.ones(3))
nn.CosineEmbeddingLoss()
nn.MarginRankingLoss()
nn.TripletMarginLoss()
nn.TripletMarginWithDistanceLoss()
nn.CTCLoss()
nn.CosineSimilarity()
nn.PairwiseDistance()
nn.PixelShuffle(2)
nn.PixelUnshuffle(2)
nn.ChannelShuffle(2)
nn.Upsample(2)
nn.Upsample(scale_factor=(2, 3), mode='bilinear')
nn.UpsamplingNearest2d(2)
nn.UpsamplingBilinear2d(scale_factor=2)
nn.Fold(2, 3)
nn.Unfold(2)
nn.RNN(3, 4)
nn.RNN(3, 4, 2, 'relu', True, True)
nn.LSTM(3, 4, 2, False, True, 0.5, True, 2)
nn.LSTM(3, 4, num_layers=2, bidirectional=True)
nn.GRU(3, 4, 2, batch_first=True)
nn.RNNCell(3, 4, False, 'relu')
nn.LSTMCell(3, 4)
nn.GRUCell(3, 4, bias=False, dtype=T.float64)
nn.MultiheadAttention(4, 2)
nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True)
nn.MultiheadAttention(4, 2, bias=False, add_bias_kv=True)
nn.TransformerEncoderLayer(4, 2, 8)
nn.TransformerEncoderLayer(4, 2, 8, activation=nn.GELU(), bias=False)
nn.TransformerDecoderLayer(4, 2, 8, norm_first=True)
nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 2)
nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 8), 2, nn.LayerNorm(4))
nn.Transformer(4, 2, 1, 2, 8)
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6])
nn.AdaptiveLogSoftmaxWithLoss(8, 10, [3, 6], 2.0, True)
nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))
nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2), nn.ReLU()])
nn.ModuleDict({'b': nn.ReLU(), 'a': nn.Linear(1, 1)})
nn.ParameterList([T.ones(2), nn.Parameter(T.zeros(1, 3)), 'x'])
nn.ParameterDict({'b': T.ones(2), 'a': 3})
""".strip().splitlines()

# Calls that PyTorch refuses.
ERRORS = """
nn.Linear(-1, 2)
nn.Bilinear(0, 1, 1)
nn.Conv2d(3, 4, 3, padding='foo')
nn.Conv2d(3, 4, 3, groups=2)
nn.Conv2d(4, 3, 3, groups=2)
nn.Conv2d(4, 4, 3, groups=0)
nn.Conv2d(4, 4, 3, padding_mode='x')
nn.Conv2d(4, 4, 3, padding='same', stride=2)
nn.ConvTranspose2d(4, 4, 3, padding_mode='circular')
nn.FractionalMaxPool2d(2)
nn.FractionalMaxPool2d(2, 3, 0.5)
nn.FractionalMaxPool2d(2, output_ratio=1.5)
nn.Dropout(2)
nn.Unflatten(1, 'a')
nn.Unflatten(1, (2, 3.0))
nn.GroupNorm(3, 4)
nn.Embedding(3, 4, 5)
nn.Embedding(3, 4, -7)
nn.Embedding(3, 4, _weight=T.ones(2, 2))
nn.EmbeddingBag(3, 4, padding_idx=7)
nn.Embedding.from_pretrained(T.ones(2))
nn.MultiMarginLoss(p=3)
nn.MultiMarginLoss(weight=T.ones(2, 2))
nn.TripletMarginLoss(margin=-1)
nn.TripletMarginWithDistanceLoss(margin=-1)
nn.RNN(3, 4, dropout=2)
nn.RNN(3, 4.0)
nn.RNN(3, 0)
nn.RNN(3, 4, 0)
nn.LSTM(3, 4, proj_size=-1)
nn.LSTM(3, 4, proj_size=4)
nn.GRU(3, 4, proj_size=2)
nn.RNN(3, 4, nonlinearity='x')
nn.RNN(3, 4)(T.zeros(3))
nn.RNN(3, 4)(T.zeros(2, 3, 5))
nn.RNN(3, 4)(T.zeros(2, 3).double())
nn.RNN(3, 4)(T.zeros(5, 2, 3), T.zeros(1, 3, 4))
nn.RNN(3, 4)(T.zeros(5, 2, 3), T.zeros(3, 4))
nn.RNN(3, 4)(T.zeros(2, 3), T.zeros(1, 3, 4))
nn.LSTM(3, 4)(T.zeros(5, 2, 3), (T.zeros(1, 2, 4), T.zeros(1, 3, 4)))
nn.LSTM(3, 4)(T.zeros(0, 2, 3))
nn.RNNCell(3, 4)(T.zeros(2, 2, 3))
nn.RNNCell(3, 4)(T.zeros(2, 5))
nn.RNNCell(3, 4)(T.zeros(2, 3), T.zeros(3, 4))
nn.RNNCell(3, 4)(T.zeros(2, 3), T.zeros(2, 5))
nn.LSTMCell(3, 4)(T.zeros(2, 3), (T.zeros(1, 2, 4), T.zeros(2, 4)))
nn.MultiheadAttention(4, 3)
nn.MultiheadAttention(0, 3)
nn.TransformerEncoderLayer(4, 2, activation='x')
nn.Transformer(4, 2, 1, 1, 8)(T.zeros(3, 2, 4), T.zeros(3, 1, 4))
nn.Transformer(4, 2, 1, 1, 8)(T.zeros(3, 2, 4), T.zeros(3, 2, 5))
nn.AdaptiveLogSoftmaxWithLoss(4, 10, [])
nn.AdaptiveLogSoftmaxWithLoss(4, 10, [6, 3])
nn.AdaptiveLogSoftmaxWithLoss(4, 10, [3, 10])
nn.BatchNorm1d(3)(T.zeros(3))
nn.BatchNorm2d(3)(T.zeros(3, 3))
nn.InstanceNorm1d(3)(T.zeros(3))
nn.Softmax2d()(T.zeros(3))
nn.CircularPad2d(1)(T.zeros(3))
nn.Sequential(3)
nn.Sequential(nn.ReLU())[3]
nn.Sequential(nn.ReLU()) + 3
nn.Sequential(nn.ReLU()) * 0
nn.Sequential(nn.ReLU()) * 1.0
nn.Sequential(nn.ReLU()).insert(5, nn.ReLU())
nn.Sequential(nn.ReLU()).insert(0, 3)
nn.Sequential(nn.ReLU()).append(3)
nn.ModuleList([nn.ReLU()])[4]
nn.ModuleList([nn.ReLU()])(3)
nn.ModuleList([nn.ReLU()]).extend(3)
nn.ModuleDict({'a': 3})
nn.ModuleDict([1])
nn.ModuleDict([('a', nn.ReLU(), 3)])
nn.ModuleDict({'a': nn.ReLU()})['b']
nn.ModuleDict(3)
nn.ParameterList(3)
nn.ParameterList([])()
nn.ParameterList([1])[4]
nn.ParameterDict()(3)
nn.ParameterDict({})['a']
nn.ParameterDict().update(3)
nn.ParameterDict([(1, 2, 3)])
""".strip().splitlines()


def build(case, lib):
    """The module that ``case`` makes in ``lib``, from seed 0."""
    lib.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(case, {"nn": lib.nn, "T": lib})


def array(tensor):
    return tensor.detach().numpy()


def is_lazy(tensor):
    return "Uninitialized" in type(tensor).__name__


def test_every_class_is_there_and_tried():
    missing = [name for name in CLASSES if not hasattr(minitorch.nn, name)]
    assert not missing
    untried = [name for name in CLASSES if not any(f"nn.{name}(" in case for case in CASES)]
    assert untried == ["RNNBase", "RNNCellBase"]


@pytest.mark.parametrize("name", CLASSES)
def test_signatures(name):
    for method in ("__init__", "forward"):
        theirs = getattr(getattr(torch.nn, name), method)
        ours = getattr(getattr(minitorch.nn, name), method)
        if method == "forward" and theirs is torch.nn.Module.forward:
            continue
        want, got = (inspect.signature(f).parameters.values() for f in (theirs, ours))
        want, got = ([(p.name, p.kind, None if callable(p.default) else p.default) for p in ps] for ps in (want, got))
        # Layers without arguments have Module's own signature, *args and **kwargs, in both.
        assert got == want, method


@pytest.mark.parametrize("case", CASES)
def test_repr_keys_and_initial_values(case):
    want, their_next = build(case, torch), torch.rand(1).item()
    got, our_next = build(case, minitorch), minitorch.rand(1).item()
    assert our_next == their_next       # both have drawn the same number of random numbers
    assert repr(got) == repr(want)
    theirs, ours = want.state_dict(), got.state_dict()
    assert list(ours) == list(theirs)
    assert dict(ours._metadata) == dict(theirs._metadata)
    assert [n for n, p in got.named_parameters() if p.requires_grad] == [
        n for n, p in want.named_parameters() if p.requires_grad]
    for key, tensor in theirs.items():
        if is_lazy(tensor):
            assert is_lazy(ours[key])
            continue
        assert str(ours[key].dtype) == str(tensor.dtype)
        np.testing.assert_allclose(array(ours[key]), array(tensor), rtol=2e-6, atol=1e-7, err_msg=key)


@pytest.mark.parametrize("case", ERRORS)
def test_errors_are_of_the_same_class(case):
    with pytest.raises(Exception) as want:
        build(case, torch)
    with pytest.raises(want.type):
        build(case, minitorch)


@pytest.mark.parametrize("lib", [torch, minitorch])
def test_batch_norm_reads_files_of_version_1(lib):
    norm = lib.nn.BatchNorm1d(2)
    state = norm.state_dict()
    del state["num_batches_tracked"]
    state._metadata[""] = {"version": 1}
    norm.load_state_dict(state)
    assert norm.num_batches_tracked.item() == 0
