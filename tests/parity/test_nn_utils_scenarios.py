"""Lazy layers, ``nn.init``, ``nn.utils``, recurrent layers and attention against PyTorch by scenarios."""

# ruff: noqa: B023  (the lambdas are called at once)

import copy
import pickle

import pytest

from .scenarios import error, same_log

pytest.importorskip("torch.nn.utils.prune", reason="torch does not import it by itself")


# ---------------------------------------------------------------------------------------------------------- lazy, init
def lazy_modules(T):
    nn, log = T.nn, []
    T.manual_seed(0)
    cases = [(lambda: nn.LazyLinear(3), (2, 4)), (lambda: nn.LazyConv1d(4, 2, groups=2), (2, 2, 5)),
             (lambda: nn.LazyConv2d(2, 2), (3, 5, 5)), (lambda: nn.LazyConvTranspose2d(2, 2), (1, 3, 5, 5)),
             (lambda: nn.LazyBatchNorm1d(), (4, 3)), (lambda: nn.LazyBatchNorm2d(affine=False), (2, 3, 2, 2)),
             (lambda: nn.LazyInstanceNorm1d(), (2, 3, 4))]
    for make, shape in cases:
        m, loaded = make(), make()
        log += [m.has_uninitialized_params(), error(lambda: m.state_dict()[next(iter(m.state_dict()))].shape)]
        m.double().float()
        out = m(T.ones(shape))
        log += [list(out.shape), type(m).__name__, repr(m), list(m.state_dict()), out.sum()]
        loaded.load_state_dict(m.state_dict())
        log += [type(loaded).__name__, list(loaded.state_dict())]
        if "Instance" not in repr(m):       # PyTorch leaves num_features at 0 there
            log += [loaded(T.ones(shape)).sum(), type(loaded).__name__]
    return [*log, error(lambda: nn.LazyConv2d(2, 2)(T.ones(3, 3))), error(lambda: nn.LazyLinear(2).weight + 1)]


def initialisers(T):
    init, log = T.nn.init, []
    calls = [
        lambda t: init.uniform_(t), lambda t: init.uniform_(t, -1, 3), lambda t: init.normal_(t, 1, 2),
        lambda t: init.trunc_normal_(t), lambda t: init.trunc_normal_(t, 0.5, 2, -1, 1),
        lambda t: init.constant_(t, 0.3), init.ones_, init.zeros_, init.xavier_uniform_,
        lambda t: init.xavier_uniform_(t, 2.0), init.xavier_normal_, init.kaiming_uniform_, init.kaiming_normal_,
        lambda t: init.kaiming_uniform_(t, 0.1, "fan_out"), lambda t: init.kaiming_normal_(t, nonlinearity="relu"),
        lambda t: init.orthogonal_(t, 2), init.dirac_, lambda t: init.dirac_(t, 2), init.eye_,
        lambda t: init.sparse_(t, 0.3),
    ]
    for shape in [(4, 6), (6, 4), (4, 3, 3), (4, 2, 3, 3), (2, 4, 1, 2, 3), (3,), ()]:
        for call in calls:
            T.manual_seed(1)
            t = T.empty(shape)
            failed = error(lambda: call(t))
            log.append([failed, t if failed == "nothing raised" else 0])
    names = ["linear", "conv2d", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]
    g = T.Generator().manual_seed(3)
    return [*log, [init.calculate_gain(n) for n in names], init.calculate_gain("leaky_relu", 0.3),
            [error(lambda: init.calculate_gain("x")), error(lambda: init.calculate_gain("leaky_relu", "a"))],
            init.normal_(T.empty(20), generator=g), init.uniform_(T.empty(5), generator=g)]


# --------------------------------------------------------------------------------------------------------------- utils
def clipping(T):
    nn, log = T.nn, []

    def parameters():
        made = [nn.Parameter(T.zeros(2)), nn.Parameter(T.zeros(2, 2)), nn.Parameter(T.zeros(1))]
        made[0].grad = T.tensor([3.0, -4.0])
        made[1].grad = T.tensor([[0.5, 0.5], [-2.0, 1.0]])
        return made

    for options in (dict(max_norm=1.0), dict(max_norm=100.0), dict(max_norm=1.0, norm_type=float("inf")),
                    dict(max_norm=0.5, norm_type=1), dict(max_norm=1.0, norm_type=3.0)):
        ps = parameters()
        log += [nn.utils.clip_grad_norm_(iter(ps), **options), [p.grad for p in ps]]
    ps = parameters()
    nn.utils.clip_grad_value_(ps, 1.0)
    log += [[p.grad for p in ps], nn.utils.clip_grad_norm_([], 1.0), nn.utils.get_total_norm([T.ones(4)])]
    ps[0].grad = T.tensor([float("nan"), 0.0])
    log.append(error(lambda: nn.utils.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)))
    vector = nn.utils.parameters_to_vector(ps)
    nn.utils.vector_to_parameters(T.arange(7.0), ps)
    return [*log, vector.shape, vector.requires_grad, ps, [p.requires_grad for p in ps],
            error(lambda: nn.utils.vector_to_parameters(3, ps)),
            error(lambda: nn.utils.vector_to_parameters(T.ones(1), ps))]


def packing(T):
    r, log = T.nn.utils.rnn, []
    sequences = [T.arange(float(n) * 2).reshape(n, 2) for n in (2, 4, 1)]
    padded = r.pad_sequence(sequences)
    log += [padded, r.pad_sequence(sequences, True, -1.0, "left")]
    log += [r.unpad_sequence(padded.clone(), T.tensor([2, 4, 1]))]
    for batch_first in (False, True):
        for lengths in ([2, 4, 1], T.tensor([2, 3, 1])):
            x = (padded.transpose(0, 1) if batch_first else padded).clone().requires_grad_()
            packed = r.pack_padded_sequence(x, lengths, batch_first, enforce_sorted=False)
            log += [list(packed), packed.data.shape]
            back, n = r.pad_packed_sequence(packed, batch_first, -5.0, 6)
            back.sum().backward()
            log += [back, n, x.grad]
    packed = r.pack_sequence(sequences, enforce_sorted=False)
    log += [r.unpack_sequence(packed), packed.double().data.dtype == T.float64, packed.to("cpu") is packed,
            r.invert_permutation(T.tensor([2, 0, 1])), repr(r.pack_sequence([T.ones(2), T.zeros(1)]))]
    bad = [lambda: r.pack_padded_sequence(padded, [3, 0, 1]), lambda: r.pack_padded_sequence(padded, [2, 3, 1]),
           lambda: r.pack_padded_sequence(padded, [2]), lambda: r.pad_sequence([]), lambda: r.pad_sequence(3),
           lambda: r.pad_sequence(sequences, padding_side="x"), lambda: r.PackedSequence(padded),
           lambda: r.pad_packed_sequence(packed, total_length=2)]
    return [*log, [error(call) for call in bad]]


def recurrent(T):
    """Every kind of recurrent layer over plain, unbatched and packed input, with gradients."""
    nn, r, log = T.nn, T.nn.utils.rnn, []
    for kind, options in [(nn.RNN, {}), (nn.RNN, dict(nonlinearity="relu", bias=False)), (nn.GRU, {}),
                          (nn.GRU, dict(num_layers=2, bidirectional=True, batch_first=True)), (nn.LSTM, {}),
                          (nn.LSTM, dict(num_layers=2, bidirectional=True, proj_size=2)),
                          (nn.LSTM, dict(num_layers=2, dropout=0.5))]:
        T.manual_seed(0)
        m = kind(3, 4, **options)
        x = T.randn(5, 3, 3, requires_grad=True)
        packed = r.pack_padded_sequence(x, [2, 5, 3][:x.shape[0 if m.batch_first else 1]] if not m.batch_first
                                        else [2, 3, 1, 3, 2], m.batch_first, enforce_sorted=False)
        for given in (x, x[:, 0], packed):
            out, state = m(given)
            state = state if isinstance(state, tuple) else (state,)
            values = [out.data if isinstance(out, r.PackedSequence) else out, *state]
            sum(v.pow(2).sum() for v in values).backward()
            again = m(given, tuple(s * 0.5 for s in state) if kind is nn.LSTM else state[0] * 0.5)[0]
            log += [values, m.weight_hh_l0.grad, x.grad, list(again)]
        log += [len(m.all_weights), [len(w) for w in m.all_weights]]
    return log


def parametrizations(T):
    nn, log = T.nn, []
    P, N = nn.utils.parametrize, nn.utils.parametrizations

    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, a):
            return a.triu()

    class Double(nn.Module):
        def forward(self, x):
            return 2 * x

        def right_inverse(self, a):
            return a / 2

    T.manual_seed(0)
    m = nn.Linear(3, 3)
    P.register_parametrization(m, "weight", Symmetric())
    log += [repr(m), m.weight, list(m.state_dict()), type(m).__name__, P.is_parametrized(m, "weight")]
    P.register_parametrization(m, "weight", Double())
    m.weight = T.eye(3) * 6
    log += [m.weight, m.parametrizations.weight.original, m(T.ones(1, 3)).requires_grad]
    twin = copy.deepcopy(m)
    with P.cached():
        log.append(m.weight is m.weight)
    log += [twin.weight, error(lambda: pickle.dumps(twin)), P.type_before_parametrizations(twin) is nn.Linear]
    P.remove_parametrizations(m, "weight")
    log += [type(m).__name__, type(m.weight).__name__, m.weight, list(m.state_dict())]
    log += [error(lambda: P.register_parametrization(nn.Linear(2, 2), "foo", Double())),
            error(lambda: P.remove_parametrizations(nn.Linear(2, 2), "weight"))]

    T.manual_seed(0)
    w = N.weight_norm(nn.Linear(3, 2))
    log += [repr(w), w.state_dict(), w(T.ones(1, 3))]
    old = {"weight_g": T.ones(2, 1), "weight_v": T.ones(2, 3), "bias": T.zeros(2)}
    w.load_state_dict(old)
    log += [w(T.ones(1, 3)), N.weight_norm(nn.Linear(3, 2), dim=None).state_dict()["parametrizations.weight.original0"]]
    s = N.spectral_norm(nn.Conv2d(2, 3, 2), n_power_iterations=2)
    log += [list(s.state_dict()), s.weight, s.eval().weight]
    for make, map_ in [(nn.Linear(3, 3), None), (nn.Linear(2, 4), None), (nn.Linear(4, 2), "cayley"),
                       (nn.Linear(4, 3), "matrix_exp")]:
        o = N.orthogonal(make, orthogonal_map=map_)
        q = o.weight
        gram = q @ q.t() if q.shape[0] <= q.shape[1] else q.t() @ q
        log += [gram, o.parametrizations.weight.original, list(o.state_dict())]
        o.parametrizations.weight.original.data.mul_(1.0).add_(0.25 * T.ones(*q.shape).tril(-1))
        q = o.weight
        log.append(q @ q.t() if q.shape[0] <= q.shape[1] else q.t() @ q)
    return log


def old_norms(T):
    nn, log = T.nn, []
    T.manual_seed(0)
    m = nn.utils.weight_norm(nn.Conv1d(2, 3, 2), dim=0)
    log += [repr(m), m.state_dict(), m(T.ones(1, 2, 3)), error(lambda: nn.utils.weight_norm(m))]
    m(T.ones(1, 2, 3)).sum().backward()
    log += [m.weight_g.grad, m.weight_v.grad]
    nn.utils.remove_weight_norm(m)
    log += [list(m.state_dict()), m(T.ones(1, 2, 3)), error(lambda: nn.utils.remove_weight_norm(m))]
    m = nn.utils.spectral_norm(nn.Linear(3, 2), n_power_iterations=3)
    log += [list(m.state_dict()), m(T.ones(1, 3)), m.weight, m.weight_u, m.eval()(T.ones(1, 3))]
    nn.utils.remove_spectral_norm(m)
    return [*log, list(m.state_dict()), m.weight]


def fusing_and_calling(T):
    nn, log = T.nn, []
    T.manual_seed(0)
    for layer, norm, x, options in [(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), T.randn(2, 2, 4, 4), {}),
                                    (nn.ConvTranspose2d(2, 3, 2, bias=False), nn.BatchNorm2d(3), T.randn(2, 2, 4, 4),
                                     dict(transpose=True))]:
        norm(layer(x))
        layer.eval(), norm.eval()
        fused = nn.utils.fuse_conv_bn_eval(layer, norm, **options)
        log += [(fused(x) - norm(layer(x))).abs().max() < 1e-5, fused.weight, fused.bias.requires_grad]
    linear, norm = nn.Linear(2, 3).eval(), nn.BatchNorm1d(3).eval()
    log += [nn.utils.fuse_linear_bn_eval(linear, norm)(T.ones(1, 2)),
            error(lambda: nn.utils.fuse_linear_bn_eval(linear.train(), norm))]
    call, m = nn.utils.stateless.functional_call, nn.Linear(2, 1)
    w = T.ones(1, 2, requires_grad=True)
    call(m, {"weight": w * 2}, (T.ones(1, 2),)).sum().backward()
    log += [w.grad, m.weight.grad, type(m.weight).__name__]
    log += [error(lambda: call(m, {"weight": w}, T.ones(2), strict=True))]
    T.manual_seed(5)
    nn.utils.skip_init(nn.Linear, 3, 3)
    return [*log, T.rand(1), error(lambda: nn.utils.skip_init(nn.ReLU))]


def attention_and_transformer(T):
    nn, log = T.nn, []
    T.manual_seed(0)
    x, y = T.randn(3, 2, 4), T.randn(5, 2, 4)
    mask = nn.Transformer.generate_square_subsequent_mask(3)
    pad = T.tensor([[False, False, True], [False, False, False]])
    m = nn.MultiheadAttention(4, 2)
    log += [m(x, x, x), m(x, x, x, attn_mask=mask, need_weights=False), m(x, x, x, key_padding_mask=pad),
            m(x, y, y, average_attn_weights=False), m(x[:, 0], y[:, 0], y[:, 0])]
    m = nn.MultiheadAttention(4, 2, kdim=4, vdim=4, batch_first=True, add_zero_attn=True, add_bias_kv=True)
    log += [m(x, x, x)]
    m = nn.Transformer(4, 2, 2, 1, 8, dropout=0.0, batch_first=True)
    out = m(x, y[:3], tgt_mask=nn.Transformer.generate_square_subsequent_mask(2), src_key_padding_mask=None)
    out.sum().backward()
    return [*log, out, m.encoder.layers[0].linear1.weight.grad, mask]


def pruning(T):
    nn, P, log = T.nn, T.nn.utils.prune, []
    T.manual_seed(0)
    m = nn.Conv2d(3, 4, 2)
    P.l1_unstructured(m, "weight", amount=0.3)
    log += [list(m.state_dict()), m.weight, P.is_pruned(m)]
    P.ln_structured(m, "weight", amount=1, n=2, dim=0)
    log += [m.weight_mask, type(m._forward_pre_hooks[next(iter(m._forward_pre_hooks))]).__name__]
    P.random_unstructured(m, "weight", amount=3)
    P.random_unstructured(m, "bias", 0.5)
    P.random_structured(m, "weight", amount=0.3, dim=1)
    log += [m.weight_mask, m.bias_mask]
    m(T.ones(1, 3, 3, 3)).sum().backward()
    log += [m.weight_orig.grad]
    P.remove(m, "weight")
    log += [list(m.state_dict()), m.weight, type(m.weight).__name__, P.is_pruned(m)]
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    P.custom_from_mask(net[0], "bias", T.tensor([0, 1, 1, 0]))
    P.global_unstructured([(net[0], "weight"), (net[1], "weight")], P.L1Unstructured, amount=0.25)
    P.identity(net[1], "bias")
    log += [net.state_dict(), net(T.ones(1, 3))]
    bad = [lambda: P.l1_unstructured(nn.Linear(2, 2), "weight", 1.5), lambda: P.remove(nn.Linear(2, 2), "weight"),
           lambda: P.l1_unstructured(nn.Linear(2, 2), "weight", 5), lambda: P.l1_unstructured(net, "x", 1),
           lambda: P.random_structured(nn.Linear(2, 2), "bias", 1, 0), lambda: P.L1Unstructured("a"),
           lambda: P.ln_structured(nn.Linear(2, 2), "weight", 1, 2, 5)]
    return [*log, [error(call) for call in bad]]


SCENARIOS = [lazy_modules, initialisers, clipping, packing, recurrent, parametrizations, old_norms, fusing_and_calling,
             attention_and_transformer, pruning]


@pytest.mark.parametrize("run", SCENARIOS, ids=lambda fn: fn.__name__)
def test_same_log(run):
    same_log(run)
