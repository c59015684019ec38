"""Mixed precision casts what PyTorch's casts.

Every function is called on float32 and on bfloat16 inputs: the types of the results say what was cast. The list is
longer than PyTorch's own, so that a cast too many is found as well.
"""

import random
from importlib import import_module

import numpy as np
import pytest

import minitorch
from minitorch.testing.strategies import Draw

from .test_halves import CASES, flat, types

torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")


# x (4, 4), v (4,), b (2, 4, 4), q (2, 3, 4, 4), spd positive definite; those ending in 32 are always float32.
EXPRESSIONS = """
torch.einsum('ij,jk->ik',x,x)
torch.einsum('ij,ij->i',x,x)
torch.einsum('bij,bjk->bik',b,b)
torch.einsum('ij->ji',x)
torch.einsum('ij->i',x)
torch.einsum('i,j->ij',v,v)
torch.einsum('ij,jk,kl->il',x,x,x)
torch.einsum('i,i->',v,v)
torch.einsum('bhid,bhjd->bhij',q,q)
torch.linalg.multi_dot([x,x])
torch.linalg.multi_dot([x,x,x])
torch.linalg.multi_dot([v,x,v])
torch.chain_matmul(x,x,x)
torch.linalg.vecdot(x,x)
torch.baddbmm(b,b,b)
torch.addbmm(x,b,b)
torch.addmm(x,x,x)
torch.addmv(v,x,v)
torch.addr(x,v,v)
torch.mv(x,v)
torch.dot(v,v)
torch.vdot(v,v)
torch.inner(v,v)
torch.inner(x,x)
torch.outer(v,v)
torch.ger(v,v)
torch.kron(x,x)
torch.tensordot(x,x,1)
torch.matmul(b,x)
torch.matmul(v,v)
torch.matmul(x,v)
torch.matmul(v,x)
torch.matmul(b,v)
torch.matrix_power(x,3)
torch.linalg.matrix_power(x,3)
torch.linalg.matmul(x,x)
torch.trapezoid(v)
torch.cov(x)
torch.corrcoef(x)
torch.cdist(x,x)
torch.cdist(x,x,1.0)
torch.pdist(x)
F.pdist(x)
F.bilinear(x,x,w3)
F.linear(x,x)
F.linear(x,x,v)
F.conv1d(b,w3)
F.conv2d(q,w4)
F.conv3d(q[None],w4[None,None].expand(2,3,2,4,4))
F.conv_transpose1d(b,w3)
F.conv_transpose2d(q,w4)
F.scaled_dot_product_attention(q,q,q)
F.multi_head_attention_forward(b,b,b,4,2,torch.cat([x]*3).to(x.dtype),torch.cat([v]*3),None,None,False,0.,x,v)[0]
F.embedding(idx,x)
F.mse_loss(x,x)
F.l1_loss(x,x)
F.smooth_l1_loss(x,x)
F.huber_loss(x,x)
F.cross_entropy(x,idx)
F.cross_entropy(x,x)
F.nll_loss(x,idx)
F.kl_div(x,x)
F.binary_cross_entropy(x.sigmoid(),x.sigmoid())
F.binary_cross_entropy_with_logits(x,x)
F.poisson_nll_loss(x,x)
F.gaussian_nll_loss(x,x,x.abs())
F.cosine_embedding_loss(x,x,torch.ones(4))
F.cosine_embedding_loss(x,x,torch.ones(4).to(x.dtype))
F.hinge_embedding_loss(x,x.sign())
F.margin_ranking_loss(v,v,v.sign())
F.soft_margin_loss(x,x.sign())
F.multi_margin_loss(x,idx)
F.multilabel_margin_loss(x,idx.repeat(4,1))
F.multilabel_soft_margin_loss(x,x.sigmoid())
F.triplet_margin_loss(x,x,x)
F.triplet_margin_with_distance_loss(x,x,x)
F.ctc_loss(b[:, :2].log_softmax(-1),torch.ones(2,1).long(),torch.tensor([2,2]),torch.tensor([1,1]))
F.cosine_similarity(x,x)
F.pairwise_distance(x,x)
F.softmax(x,-1)
F.log_softmax(x,-1)
F.softmin(x,-1)
F.gumbel_softmax(x)
F.normalize(x)
F.layer_norm(x,(4,),v,v)
F.layer_norm(x,(4,),v32,v32)
F.rms_norm(x,(4,),v32)
F.batch_norm(x,None,None,v32,v32,True)
F.batch_norm(x,v32.clone(),v32.abs(),v32,v32,True)
F.group_norm(b,2,v32[:4],v32)
F.instance_norm(b,None,None,v32,v32)
F.local_response_norm(b,2)
F.max_pool1d(b,2)
F.max_pool2d(q,2)
F.max_pool3d(q[None],2)
F.avg_pool1d(b,2)
F.avg_pool2d(q,2)
F.avg_pool3d(q[None],2)
F.lp_pool1d(b,2,2)
F.lp_pool2d(q,2,2)
F.adaptive_avg_pool1d(b,2)
F.adaptive_avg_pool2d(q,2)
F.adaptive_avg_pool3d(q[None],2)
F.adaptive_max_pool1d(b,2)
F.adaptive_max_pool2d(q,2)
F.adaptive_max_pool3d(q[None],2)
F.fractional_max_pool2d(q,2,output_size=2)
F.fractional_max_pool3d(q[None],1,output_size=2)
F.max_unpool1d(*F.max_pool1d(b,2,return_indices=True),2)
F.max_unpool2d(*F.max_pool2d(q,2,return_indices=True),2)
F.max_unpool3d(*F.max_pool3d(q[None],2,return_indices=True),2)
F.interpolate(b,scale_factor=2)
F.interpolate(q,scale_factor=2,mode='bilinear')
F.interpolate(q,scale_factor=2,mode='bicubic')
F.interpolate(b,scale_factor=2,mode='linear')
F.interpolate(b,scale_factor=2,mode='nearest-exact')
F.interpolate(q[None],scale_factor=2,mode='trilinear')
F.interpolate(q,size=2,mode='area')
F.interpolate(q,size=2,mode='bilinear',antialias=True)
F.interpolate(q,size=2,mode='bicubic',antialias=True)
F.grid_sample(q,torch.zeros(2,2,2,2).to(x.dtype))
F.affine_grid(torch.ones(2,2,3).to(x.dtype),[2,1,4,4])
F.pad(b,(1,1))
F.pad(b,(1,1),'reflect')
F.pad(q,(1,1,1,1),'reflect')
F.pad(b,(1,1),'replicate')
F.pad(q,(1,1,1,1),'replicate')
F.pad(q[None],(1,1,1,1,1,1),'replicate')
F.pad(q[None],(1,1,1,1,1,1),'reflect')
F.pad(b,(1,1),'circular')
F.unfold(q,2)
F.fold(b[:, :4, :1],(2,2),2)
F.pixel_shuffle(q[:1].expand(4,3,4,4)[:, :1].reshape(1,4,4,4),2)
F.prelu(b,v)
F.rrelu(x)
F.glu(x)
F.gelu(x)
F.silu(x)
F.mish(x)
F.softplus(x)
F.elu(x)
F.selu(x)
F.celu(x)
F.dropout(x)
F.alpha_dropout(x)
F.hardswish(x)
F.tanhshrink(x)
F.logsigmoid(x)
torch.quantile(x,0.5)
torch.quantile(x,torch.tensor([.5]).to(x.dtype))
torch.nanquantile(x,0.5)
torch.prod(x)
torch.prod(x,0)
torch.cumprod(x,0)
torch.cumsum(x,0)
torch.logcumsumexp(x,0)
torch.trace(x)
torch.cholesky(spd)
torch.linalg.cholesky(spd)
torch.cholesky_inverse(spd)
torch.cholesky_solve(x,spd)
torch.inverse(spd)
torch.linalg.inv(spd)
torch.linalg.inv_ex(spd)[0]
torch.linalg.cholesky_ex(spd)[0]
torch.pinverse(spd)
torch.linalg.pinv(spd)
torch.linalg.svd(spd)
torch.svd(spd)
torch.linalg.svdvals(spd)
torch.linalg.qr(spd)
torch.qr(spd)
torch.linalg.eigh(spd)
torch.linalg.eigvalsh(spd)
torch.linalg.eig(spd)
torch.linalg.eigvals(spd)
torch.linalg.det(spd)
torch.det(spd)
torch.logdet(spd)
torch.slogdet(spd)
torch.linalg.slogdet(spd)
torch.linalg.solve(spd,x)
torch.linalg.lstsq(spd,x)[0]
torch.linalg.lu_factor(spd)[0]
torch.linalg.lu(spd)
torch.linalg.lu_solve(*torch.linalg.lu_factor(spd),x)
torch.lu_solve(x,*torch.linalg.lu_factor(spd))
torch.linalg.solve_triangular(spd,x,upper=True)
torch.triangular_solve(x,spd)
torch.linalg.cond(spd)
torch.linalg.matrix_rank(spd)
torch.linalg.matrix_norm(x)
torch.linalg.matrix_norm(x,1)
torch.linalg.matrix_norm(x,2)
torch.linalg.matrix_norm(x,'nuc')
torch.linalg.vector_norm(x)
torch.linalg.norm(x)
torch.norm(x)
torch.norm(x,dim=0)
torch.norm(x,p='nuc')
torch.linalg.matrix_exp(x)
torch.matrix_exp(x)
torch.linalg.householder_product(x,v)
torch.linalg.tensorinv(spd.reshape(4,2,2),1)
torch.linalg.tensorsolve(spd.reshape(4,2,2),v)
torch.linalg.cross(x[:, :3],x[:, :3])
torch.cross(x[:, :3],x[:, :3],dim=1)
torch.fft.fft(x)
torch.fft.rfft(x)
torch.fft.ifft(x)
torch.fft.irfft(x)
torch.fft.hfft(x)
torch.fft.ihfft(x)
torch.fft.fft2(x)
torch.fft.rfft2(x)
torch.fft.fftn(x)
torch.fft.rfftn(x)
torch.fft.irfft2(x)
torch.fft.irfftn(x)
torch.fft.ifft2(x)
torch.fft.ifftn(x)
torch.fft.fftshift(x)
torch.stack([x,x32])
torch.stack([x32,x])
torch.cat([x,x32])
torch.cat([x32,x])
torch.hstack([x32,x])
torch.vstack([x32,x])
torch.index_copy(x32,0,idx,x)
torch.index_copy(x,0,idx,x32)
torch.where(x>0,x,x32)
torch.bmm(b,b32)
torch.bmm(b32,b)
torch.mm(x,x32)
torch.addmm(x32,x,x)
torch.addmm(v32,x,x32)
torch.baddbmm(b32,b,b)
torch.matmul(x,x32)
torch.einsum('ij,jk->ik',x,x32)
F.linear(x,x32,v32)
F.conv2d(q,w4.float(),None)
F.mse_loss(x,x32)
F.bilinear(x,x32,w3)
F.scaled_dot_product_attention(q,q32,q32)
F.cross_entropy(x,idx,v32)
F.prelu(b,v32)
torch.lerp(x,x32,0.5)
torch.addcmul(x,x32,x32)
torch.addcdiv(x32,x,x)
torch.maximum(x,x32)
torch.atan2(x,x32)
torch.logsumexp(x,0)
torch.mean(x)
torch.sum(x)
torch.var(x)
torch.std(x)
torch.exp(x)
torch.pow(x,2)
torch.renorm(x,2,0,1.)
torch.dist(x,x)
torch.median(x)
torch.nansum(x)
torch.sinc(x)
torch.special.logit(x.sigmoid())
torch.special.xlogy(x.abs(),x.abs())
torch.tril(x)
torch.diff(x)
torch.gradient(v)[0]
torch.combinations(v)
torch.cartesian_prod(v,v)
torch.block_diag(x,x)
torch.i0(x)
torch.heaviside(x,x)
torch.lu(spd)[0]
torch.orgqr(x,v)
torch.celu(x)
nn.LSTM(4,3)(b32)[0]
nn.LSTM(4,3)(b32)[1]
nn.GRU(4,3)(b32)
nn.RNN(4,3)(b32)
nn.RNN(4,3,nonlinearity='relu')(b32)
nn.LSTM(4,3,bidirectional=True)(b32)
nn.LSTM(4,3,num_layers=2)(b32)
nn.LSTM(4,3,proj_size=2)(b32)
nn.LSTM(4,3,bias=False)(b32)
nn.LSTM(4,3)(b)
nn.GRU(4,3)(b)
nn.RNN(4,3)(b)
nn.LSTM(4,3)(b32,(torch.zeros(1,4,3),torch.zeros(1,4,3)))
nn.LSTM(4,3)(b32,(torch.zeros(1,4,3).bfloat16(),torch.zeros(1,4,3).bfloat16()))
nn.GRU(4,3)(b32,torch.zeros(1,4,3))
nn.GRU(4,3)(b32,torch.zeros(1,4,3).bfloat16())
nn.LSTM(4,3)(nn.utils.rnn.pack_padded_sequence(b32,[2,1,1,1]))[0].data
nn.LSTMCell(4,3)(x32)
nn.LSTMCell(4,3)(x)
nn.GRUCell(4,3)(x32)
nn.RNNCell(4,3)(x32)
nn.GRUCell(4,3)(x)
nn.RNNCell(4,3)(x)
nn.LSTMCell(4,3)(x32,(torch.zeros(4,3),torch.zeros(4,3)))
nn.GRUCell(4,3)(x32,torch.zeros(4,3))
nn.RNNCell(4,3)(x32,torch.zeros(4,3))
nn.Bilinear(4,4,2)(x32,x32)
nn.Linear(4,3)(x)
nn.MultiheadAttention(4,2)(b32,b32,b32)
nn.MultiheadAttention(4,2)(b32,b32,b32,need_weights=False)
nn.MultiheadAttention(4,2).eval()(b32,b32,b32)
nn.TransformerEncoderLayer(4,2,8)(b32)
nn.TransformerEncoderLayer(4,2,8).eval()(b32)
nn.TransformerEncoderLayer(4,2,8,norm_first=True)(b32)
nn.TransformerDecoderLayer(4,2,8)(b32,b32)
nn.Transformer(4,2,1,1,8)(b32,b32)
nn.Embedding(9,4)(idx)
nn.EmbeddingBag(9,4)(idx[None])
nn.PReLU()(x)
nn.Sequential(nn.Conv1d(4,3,1),nn.BatchNorm1d(3),nn.ReLU())(b32)
nn.Sequential(nn.Conv1d(4,4,1),nn.GroupNorm(2,4),nn.ReLU())(b32)
nn.Sequential(nn.Conv1d(4,4,1),nn.InstanceNorm1d(4,affine=True),nn.ReLU())(b32)
nn.Sequential(nn.Linear(4,4),nn.LayerNorm(4))(b32)
nn.Sequential(nn.Linear(4,4),nn.RMSNorm(4))(b32)
nn.Sequential(nn.Linear(4,4),nn.BatchNorm1d(4)).eval()(x32)
nn.BatchNorm1d(4)(x)
nn.LayerNorm(4)(x)
nn.RMSNorm(4)(x)
nn.CosineSimilarity()(x,x)
x @ x
x @ x32
x32 @ x
x32.T @ v32
x * x32
x.matmul(x)
x.mm(x)
x32.clone().addmm_(x32,x32)
x.clone().matmul(x)
torch.mm(x32,x32,out=torch.empty(4,4))
torch.matmul(x32,x32,out=torch.empty(4,4))
x32.mm(x32) + x32
x32.pow(2).sum().sqrt()
""".strip().splitlines()
DIFFERENT = {
    "torch.linalg.pinv(spd)": "PyTorch's is a composite whose last product is cast; ours is one op and stays float32",
}


def operands(library, dtype):
    rng = np.random.default_rng(0)

    def made(*shape):
        return library.tensor(rng.uniform(-1, 1, shape).astype("float32"))
    found = {"x": made(4, 4), "b": made(2, 4, 4), "q": made(2, 3, 4, 4), "v": made(4)}
    wide = {name + "32": t for name, t in found.items()}
    found |= {"spd": found["x"] @ found["x"].T + 4 * library.eye(4), "w3": made(5, 4, 4), "w4": made(3, 3, 2, 2)}
    narrow = {name: t.to(getattr(library, dtype)) for name, t in found.items()}
    return narrow | wide | {"torch": library, "F": library.nn.functional, "nn": library.nn,
                            "idx": library.tensor([0, 1, 2, 3])}


@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_mixed_precision_casts_what_pytorch_casts(expression, dtype):
    found = []
    for library in (minitorch, torch):
        names = operands(library, dtype)
        library.manual_seed(0)
        try:
            with library.autocast("cpu", dtype=library.bfloat16):
                found.append(types(flat(eval(expression, names))))
        except (RuntimeError, TypeError, ValueError) as error:
            found.append(error)
    ours, theirs = found
    if isinstance(theirs, Exception):
        return                                             # not supported there, or for other reasons
    assert not isinstance(ours, Exception), ours
    if expression not in DIFFERENT:
        assert ours == theirs


NO_HALVES = ("complex", "polar", "view_as_complex")


@pytest.mark.parametrize("name, row, function", CASES, ids=[case[0] for case in CASES])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64"])
def test_mixed_precision_casts_the_definitions_that_pytorch_casts(name, row, function, dtype):
    if dtype in ("bfloat16", "float16") and name in NO_HALVES:
        pytest.skip("complex numbers of 32 bits are not there")
    arrays, attrs = Draw(random.Random(0)).op_sample(row)
    words, found = {k: v for k, v in attrs.items() if not isinstance(v, np.ndarray)}, []
    for library, call in ((torch, function), (minitorch, row.call)):
        tensors = [library.from_numpy(x.copy()) if isinstance(x, np.ndarray) else x for x in arrays]
        tensors = [t.to(getattr(library, dtype)) if isinstance(x, np.ndarray) and x.dtype == np.float64 else t
                   for t, x in zip(tensors, arrays)]
        tensors = [tensors] if library is minitorch and row.inputs[0].kind == "variadic" else tensors
        try:
            with library.autocast("cpu", dtype=library.bfloat16):
                found.append(types(flat(call(*tensors, **words))))
        except (RuntimeError, TypeError):
            if library is torch:
                return
            raise
    assert found[0] == found[1]


# ---- random programs ---------------------------------------------------------------------------------------
LAYERS = {"linear": lambda nn: nn.Linear(4, 4), "layer_norm": lambda nn: nn.LayerNorm(4),
          "batch_norm": lambda nn: nn.BatchNorm1d(4), "rms_norm": lambda nn: nn.RMSNorm(4)}
STEPS = {"relu": lambda F, x: F.relu(x), "relu in place": lambda F, x: F.relu(x * 1.5, inplace=True),
         "gelu": lambda F, x: F.gelu(x), "sigmoid": lambda F, x: x.sigmoid(), "softmax": lambda F, x: x.softmax(-1),
         "index": lambda F, x: x[:, [1, 0, 2, 3]], "transpose": lambda F, x: x + x.t(),
         "products": lambda F, x: x @ x.t()}


def written(y):
    z = y.new_zeros(y.shape)
    z[:2] = y[:2]
    z[2] = 1
    return z


ENDS = {"nothing": lambda y: y, "view": lambda y: y.view(-1).reshape(2, 8), "slice": lambda y: y[1:, ::2],
        "in place": lambda y: (y * 1).mul_(2), "unbind": lambda y: y.unbind(0)[1], "write": written,
        "expand": lambda y: y.sum(0, keepdim=True).expand(3, 4), "split": lambda y: y.split(2)[0]}


def program(seed):
    """A network, how it is run, and how many steps are made."""
    draw = random.Random(seed)
    names = draw.choices([*LAYERS, *STEPS], k=draw.randint(1, 4))
    names.insert(draw.randint(0, len(names)), "linear")
    return dict(names=names, low=draw.choice(["bfloat16", "float16"]), reentrant=draw.choice([None, True, False]),
                scaled=draw.random() < 0.5, end=draw.choice([*ENDS]), steps=draw.randint(1, 3),
                loss_inside=draw.random() < 0.7, compiled=draw.random() < 0.3)


def trained(library, seed, names, low, reentrant, scaled, end, steps, loss_inside, compiled):
    """The losses of a few steps of SGD, the types of all that was made, and the parameters."""
    checkpoint, rng = import_module(library.__name__ + ".utils.checkpoint").checkpoint, np.random.default_rng(seed)
    nn, F = library.nn, library.nn.functional
    layers = [(LAYERS[name](nn) if name in LAYERS else None, STEPS.get(name)) for name in names]
    parameters = [p for layer, _ in layers if layer is not None for p in layer.parameters()]
    for p in parameters:
        low_end = 0.5 if p.dim() == 1 else -0.5
        p.data = library.tensor(rng.uniform(low_end, low_end + 1, tuple(p.shape)).astype("float32"))

    def network(x):
        for layer, step in layers:
            x = layer(x) if step is None else step(F, x)
        return x
    run = minitorch.compile(network) if compiled and library is minitorch else network
    x = library.tensor(rng.uniform(-1, 1, (4, 4)).astype("float32")).requires_grad_()
    optimizer = library.optim.SGD(parameters, lr=0.1, momentum=0.9)
    scaler, made, losses = library.amp.GradScaler("cpu", init_scale=256.0, enabled=scaled), [], []
    for _ in range(steps):
        optimizer.zero_grad()
        with library.autocast("cpu", dtype=getattr(library, low)):
            y = run(x) if reentrant is None else checkpoint(run, x, use_reentrant=reentrant)
            y = ENDS[end](y)
            loss = F.mse_loss(y, library.zeros_like(y)) if loss_inside else None
        loss = (y.float() ** 2).mean() if loss is None else loss
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        made += [y, loss]
        losses.append(float(loss))
    return losses, types([*made, x.grad, *[p.grad for p in parameters]]), [p.detach().numpy() for p in parameters]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_in_mixed_precision(seed):
    """With GradScaler, checkpoints, compiled networks, views and writes; values up to the rounding of both."""
    how = program(seed)
    wanted, found = [trained(library, seed, **how) for library in (torch, minitorch)]
    assert found[1] == wanted[1], how
    for a, b in zip([*found[0], *found[2]], [*wanted[0], *wanted[2]]):
        np.testing.assert_allclose(a, b, rtol=0.05, atol=0.05, err_msg=str(how))
