"""Each layer with given parameters: its text, its results in training and in evaluation, gradients and buffers."""

import importlib

from tests.recorded import some

# A constructor call of ``nn``, and the shapes of its inputs.
LAYERS = """
Linear(4,3) 2,4 | Linear(4,3,bias=False) 2,3,4 | Bilinear(3,4,2) 2,3;2,4 | ReLU() 2,3 | ReLU6() 2,3
Hardtanh(-1,0.5) 2,3 | Sigmoid() 2,3 | Hardsigmoid() 2,3 | Tanh() 2,3 | SiLU() 2,3 | Mish() 2,3 | Hardswish() 2,3
ELU(0.5) 2,3 | CELU(0.5) 2,3 | SELU() 2,3 | GLU(1) 2,4 | GELU() 2,3 | GELU('tanh') 2,3 | Hardshrink(0.3) 2,3
Softshrink(0.3) 2,3 | LeakyReLU(0.2) 2,3 | LogSigmoid() 2,3 | Softplus(2,1) 2,3 | PReLU(3,0.1) 2,3 | Softsign() 2,3
Tanhshrink() 2,3 | Threshold(0.1,20) 2,3 | Softmin(1) 2,3 | Softmax(-1) 2,3 | Softmax2d() 1,3,2,2 | LogSoftmax(1) 2,3
Identity() 2,3 | Flatten() 2,3,2 | Unflatten(1,(2,2)) 2,4 | AdaptiveLogSoftmaxWithLoss(4,6,[2,4]).log_prob 2,4
BatchNorm1d(3) 4,3 | BatchNorm1d(3,momentum=None) 4,3,2 | BatchNorm1d(3,affine=False) 4,3
BatchNorm2d(2,0.1,0.5) 2,2,3,3 | BatchNorm3d(2,track_running_stats=False) 2,2,2,2,2 | InstanceNorm1d(3) 2,3,4
InstanceNorm2d(2,affine=True) 2,2,3,3 | InstanceNorm2d(2,track_running_stats=True) 2,2,3,3 | LayerNorm(4) 2,4
LayerNorm([3,4],0.1) 2,3,4 | LayerNorm(4,bias=False) 2,4 | GroupNorm(2,4) 2,4,3 | GroupNorm(1,4,affine=False) 2,4
RMSNorm(4) 2,4 | RMSNorm([3,4],0.1) 2,3,4 | LocalResponseNorm(2) 1,4,3 | LocalResponseNorm(3,0.1,0.5,2.0) 1,4,3
Conv1d(2,3,3) 2,2,6 | Conv1d(2,4,3,2,1,2,2) 2,2,8 | Conv1d(2,2,3,padding='same',padding_mode='circular') 1,2,5
Conv2d(2,3,3) 1,2,5,4 | Conv2d(2,3,(3,2),(2,1),(1,0),padding_mode='reflect') 1,2,5,4
Conv2d(4,4,3,groups=4,padding=1) 1,4,4,4 | Conv2d(2,3,2,padding=1,padding_mode='replicate') 1,2,3,3
Conv2d(2,3,1,bias=False) 1,2,3,3 | Conv3d(1,2,2) 1,1,3,3,3 | ConvTranspose1d(2,3,3,2,1,1) 1,2,4
ConvTranspose2d(2,3,3,stride=2) 1,2,3,3 | ConvTranspose2d(4,2,2,groups=2,dilation=2) 1,4,3,3
ConvTranspose3d(1,2,2) 1,1,2,2,2 | Unfold(2,1,1,2) 1,2,4,4 | Fold((4,4),2) 1,8,9 | MaxPool1d(2) 1,2,5
MaxPool2d(2,1,1,ceil_mode=True) 1,2,4,5 | MaxPool2d(3,2,dilation=1) 1,2,5,5 | MaxPool3d(2) 1,1,4,4,4
AvgPool1d(3,1,1) 1,2,5 | AvgPool2d(2,ceil_mode=True,count_include_pad=False) 1,2,5,3 | AvgPool3d(2) 1,1,4,4,4
LPPool1d(2,2) 1,2,6 | LPPool2d(1.5,2) 1,2,4,4 | AdaptiveMaxPool1d(2) 1,2,5 | AdaptiveMaxPool2d((2,3)) 1,2,5,4
AdaptiveAvgPool1d(2) 1,2,5 | AdaptiveAvgPool2d((None,2)) 1,2,5,4 | AdaptiveAvgPool3d(2) 1,1,3,3,3
ConstantPad1d(2,3.5) 1,2,3 | ReflectionPad1d(2) 1,2,4 | ReflectionPad2d((1,2,0,1)) 1,1,3,3
ReplicationPad1d((1,2)) 1,2,3 | ReplicationPad2d(1) 1,1,2,3 | CircularPad1d(1) 1,2,3
CircularPad2d((1,1,0,2)) 1,1,3,3 | ZeroPad2d((1,0,-1,2)) 1,1,3,3 | ReflectionPad3d(1) 1,1,2,2,2
PixelShuffle(2) 1,4,2,2 | PixelUnshuffle(2) 1,1,4,4 | ChannelShuffle(2) 1,4,2,2 | Upsample(scale_factor=2) 1,1,2,3
Upsample((3,5),mode='bilinear',align_corners=True) 1,1,2,3 | UpsamplingBilinear2d(scale_factor=2) 1,1,2,3
UpsamplingNearest2d(size=3) 1,1,2,2 | CosineSimilarity(1) 2,3;2,3 | PairwiseDistance(1,0.1,True) 2,3;2,3
RNN(3,2) 4,2,3 | RNN(3,2,2,'relu',batch_first=True) 2,4,3 | RNN(3,2,bidirectional=True,bias=False) 3,1,3
LSTM(3,2) 4,2,3 | LSTM(3,4,2,proj_size=2) 3,2,3 | LSTM(3,2,2,bidirectional=True,batch_first=True) 2,3,3
GRU(3,2) 4,2,3 | GRU(3,2,2,bidirectional=True) 3,2,3 | GRU(3,2) 4,3 | RNNCell(3,2) 2,3 | LSTMCell(3,2) 2,3
GRUCell(3,2) 2,3;2,2 | MultiheadAttention(4,2) 3,2,4;3,2,4;3,2,4
MultiheadAttention(4,2,batch_first=True,kdim=3,vdim=2) 2,3,4;2,5,3;2,5,2
MultiheadAttention(4,1,add_bias_kv=True,add_zero_attn=True,bias=False) 3,2,4;5,2,4;5,2,4
TransformerEncoderLayer(4,2,6,0.0) 3,2,4 | TransformerEncoderLayer(4,2,6,0.0,'gelu',0.1,True,True) 2,3,4
TransformerDecoderLayer(4,2,6,0.0) 3,2,4;2,2,4
TransformerDecoderLayer(4,2,6,0.0,norm_first=True,bias=False) 3,2,4;2,2,4 | Transformer(4,2,1,1,6,0.0) 3,2,4;2,2,4
MSELoss() 2,3;2,3 | L1Loss(reduction='sum') 2,3;2,3 | SmoothL1Loss(beta=0.3) 2,3;2,3 | HuberLoss(delta=0.3) 2,3;2,3
CosineEmbeddingLoss() 2,3;2,3;2 | TripletMarginLoss(swap=True,p=1.0) 2,3;2,3;2,3 | HingeEmbeddingLoss(0.5) 2,3;2,3
MarginRankingLoss(0.5) 3;3;3 | KLDivLoss(reduction='batchmean',log_target=True) 2,3;2,3 | PoissonNLLLoss() 2,3;2,3
BCEWithLogitsLoss() 2,3;2,3 | MultiLabelSoftMarginLoss() 2,3;2,3
"""


def prepared(T, call):
    """The layer in float64, its parameters given; the method, if the call names one."""
    call, _, method = call.partition(").")
    layer = eval("nn." + call + (")" if method else ""), {"nn": T.nn}).double()
    with T.no_grad():
        for k, p in enumerate(layer.parameters()):
            p.copy_(some(T, *p.shape, seed=50 + k, lo=-0.9, hi=1.1))
    return layer, getattr(layer, method) if method else layer


def tensors(x):
    if isinstance(x, (tuple, list)):
        return [leaf for part in x for leaf in tensors(part)]
    return [x] if hasattr(x, "detach") else []


def passes(call, shapes):
    """A pass in training with its gradients, and one in evaluation; what it is called and what it keeps."""
    def run(T):
        layer, forward = prepared(T, call)
        given = [some(T, *shape, seed=k).requires_grad_() for k, shape in enumerate(shapes)]
        out = tensors(forward(*given))
        total = sum((o * some(T, *o.shape, seed=30 + k)).sum() for k, o in enumerate(out) if o.requires_grad)
        seen = {"text": repr(layer), "train": out}
        if hasattr(total, "backward"):
            total.backward()
            seen["grads"] = [p.grad for p in (*given, *layer.parameters()) if p.grad is not None]
        seen["buffers"] = {name: b.clone() for name, b in layer.named_buffers()}
        layer.eval()
        seen["eval"] = tensors(forward(*[x.detach() for x in given]))
        seen["keys"] = list(layer.state_dict())
        return seen
    return run


# ---- what has a history of going wrong unnoticed ---------------------------------------------------------------
def attention_with_dropout(T):
    T.manual_seed(3)
    layer, _ = prepared(T, "MultiheadAttention(4,2,dropout=0.5)")
    x = some(T, 3, 2, 4)
    dropped = [layer(x, x, x)[0], layer(x, x, x, need_weights=False)[0] != 0]
    layer.eval()
    return [*dropped, *layer(x, x, x), layer(x, x, x, average_attn_weights=False)[1]]


def attention_masks(T):
    layer, _ = prepared(T, "MultiheadAttention(4,2)")
    x, causal = some(T, 3, 2, 4), T.triu(T.ones(3, 3, dtype=T.bool), 1)
    padding = T.tensor([[False, False, True], [False, True, True]])
    floats = some(T, 3, 3, seed=4)
    layer.eval()
    return [layer(x, x, x, attn_mask=causal), layer(x, x, x, attn_mask=floats),
            layer(x, x, x, key_padding_mask=padding),
            layer(x, x, x, attn_mask=causal, is_causal=True, need_weights=False)[0],
            layer(x, x, x, attn_mask=some(T, 4, 3, 3, seed=5))]


def recurrent_layers_and_packed_sequences(T):
    out = []
    for call in ("RNN(3,2,2)", "LSTM(3,2,bidirectional=True)", "GRU(3,2,2,batch_first=True)"):
        layer, _ = prepared(T, call)
        x = some(T, 3, 4, 3).requires_grad_()
        lengths = [4, 2, 1] if "batch_first" in call else [3, 3, 2, 1]
        utils = T.nn.utils.rnn
        packed = utils.pack_padded_sequence(x, lengths, batch_first="batch_first" in call)
        found, state = layer(packed)
        padded, sizes = utils.pad_packed_sequence(found, batch_first="batch_first" in call, padding_value=-1.0)
        (padded * some(T, *padded.shape, seed=3)).sum().backward()
        out.append([padded, sizes, tensors(state), x.grad, packed.batch_sizes, packed.data])
        mixed = utils.pack_padded_sequence(x, [1, 3, 2, 3][:len(lengths)], "batch_first" in call, enforce_sorted=False)
        out.append([tensors(layer(mixed)[1]), mixed.sorted_indices, mixed.unsorted_indices])
    return out


def packing_of_length_zero(T):
    return T.nn.utils.rnn.pack_padded_sequence(some(T, 3, 2, 1), [2, 0])


def batch_norm_files_of_version_1(T):
    """They have no counter: the one in the layer stays."""
    layer = T.nn.BatchNorm1d(2)
    layer.num_batches_tracked.fill_(5)
    old = {k: v + 1 for k, v in layer.state_dict().items() if k != "num_batches_tracked"}
    found = str(layer.load_state_dict(old, strict=True))
    return [found, layer.num_batches_tracked, layer.running_mean, layer.weight]


def embedding_layers(T):
    i, out = T.tensor([[0, 2], [3, 1]]), []
    for call in ("Embedding(4,3)", "Embedding(4,3,padding_idx=2)", "Embedding(4,3,scale_grad_by_freq=True)",
                 "EmbeddingBag(4,3)", "EmbeddingBag(4,3,mode='sum',padding_idx=0)", "EmbeddingBag(4,3,mode='max')"):
        layer, _ = prepared(T, call)
        found = layer(i)
        (found * some(T, *found.shape, seed=2)).sum().backward()
        out.append([repr(layer), found, layer.weight.grad])
    return out


def spectral_and_weight_norm(T):
    parametrizations, out = T.nn.utils.parametrizations, []
    layer = parametrizations.weight_norm(prepared(T, "Linear(3,2)")[0])
    out += [layer(some(T, 2, 3)), list(layer.state_dict()), layer.parametrizations.weight.original0]
    layer.weight = some(T, 2, 3, seed=8)
    out += [layer.weight, layer.parametrizations.weight.original1]
    T.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    out += [list(layer.state_dict()), layer.weight]
    layer = prepared(T, "Linear(3,2)")[0]
    T.manual_seed(1)
    layer = parametrizations.spectral_norm(layer)
    out += [layer(some(T, 2, 3)), layer(some(T, 2, 3)), layer.eval()(some(T, 2, 3))]
    layer = parametrizations.orthogonal(prepared(T, "Linear(3,3)")[0])
    return [*out, layer.weight @ layer.weight.t()]


def pruning(T):
    prune, out = importlib.import_module(T.__name__ + ".nn.utils.prune"), []
    T.manual_seed(2)
    for how in (lambda m: prune.l1_unstructured(m, "weight", 2), lambda m: prune.ln_structured(m, "weight", 0.5, 2, 0),
                lambda m: prune.random_unstructured(m, "weight", 0.4),
                lambda m: prune.random_structured(m, "weight", 1, 1),
                lambda m: prune.custom_from_mask(m, "bias", T.tensor([1.0, 0.0, 1.0]))):
        layer = prepared(T, "Linear(4,3)")[0]
        how(layer)
        out.append([layer.weight, layer.bias, sorted(layer.state_dict()), prune.is_pruned(layer)])
    layer = prepared(T, "Linear(4,3)")[0]
    prune.l1_unstructured(layer, "weight", 0.25)
    prune.l1_unstructured(layer, "weight", 3)
    out.append(layer.weight)
    prune.remove(layer, "weight")
    model = T.nn.Sequential(prepared(T, "Linear(4,3)")[0], prepared(T, "Linear(3,2)")[0])
    prune.global_unstructured([(model[0], "weight"), (model[1], "weight")], prune.L1Unstructured, amount=0.5)
    return [*out, layer.weight, sorted(layer.state_dict()), model[0].weight, model[1].weight]


def clipping(T):
    out = []
    clip = T.nn.utils.clip_grad_norm_
    for how in (lambda p: clip(p, 1.0), lambda p: clip(p, 2.0, 1), lambda p: clip(p, 0.5, float("inf")),
                lambda p: clip(p, 100.0), lambda p: T.nn.utils.clip_grad_value_(p, 0.5),
                lambda p: T.nn.utils.get_total_norm([x.grad for x in p])):
        params = [T.nn.Parameter(some(T, 2, 3)), T.nn.Parameter(some(T, 4))]
        for k, p in enumerate(params):
            p.grad = some(T, *p.shape, seed=k + 1)
        out.append([how(params), [p.grad for p in params]])
    return out


def averaged_models(T):
    swa, out = T.optim.swa_utils, []
    for options in ({}, {"multi_avg_fn": swa.get_ema_multi_avg_fn(0.9)}, {"avg_fn": swa.get_ema_avg_fn(0.8)},
                    {"use_buffers": True}):
        model = T.nn.Sequential(prepared(T, "Linear(2,3)")[0], prepared(T, "BatchNorm1d(3)")[0])
        averaged = swa.AveragedModel(model, **options)
        for k in range(3):
            with T.no_grad():
                for p in model.parameters():
                    p.mul_(1.5 + k)
            model[1].running_mean.fill_(k)
            averaged.update_parameters(model)
        swa.update_bn([some(T, 4, 2, seed=k) for k in range(2)], averaged)
        out.append(averaged.state_dict())
    return out


def sizes(text):
    """The shapes in "2,3;2,4"."""
    return [[int(n) for n in shape.split(",")] for shape in text.split(";")]


CASES = {row.strip(): passes(row.split()[0], sizes(row.split()[1])) for row in LAYERS.replace("\n", "|").split("|")
         if row.strip()}
CASES |= {f.__name__: f for f in (attention_with_dropout, attention_masks, recurrent_layers_and_packed_sequences,
                                  packing_of_length_zero, batch_norm_files_of_version_1, embedding_layers,
                                  spectral_and_weight_norm, pruning, clipping, averaged_models)}
