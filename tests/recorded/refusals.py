"""Refused calls, and the class of their error: each option of layers, optimisers and schedules at
its borders, and calls whose arguments do not fit together.
"""

import ast
import importlib
import inspect
import warnings

from tests.recorded import some
from tests.recorded.layers import LAYERS
from tests.recorded.optimisers import OPTIONS
from tests.recorded.schedules import optimizer

VALUES = (-1, -0.5, 0, 1.0, 2.5, (0.5, 1), (-0.1, 0.5), (0.5, 1.0, 2), "nonsense")
# Options that choose a kernel or a device, and those checked here earlier than in PyTorch.
LEFT_OUT = {"self", "optimizer", "device", "dtype", "foreach", "fused", "capturable", "differentiable", "last_epoch",
            "ns_coefficients", "ns_steps", "in1_features", "mode", "threshold_mode"}
SCHEDULES = {"StepLR": {"step_size": 2}, "MultiStepLR": {"milestones": [2]}, "ConstantLR": {}, "LinearLR": {},
             "ExponentialLR": {"gamma": 0.5}, "PolynomialLR": {}, "CosineAnnealingLR": {"T_max": 5},
             "CosineAnnealingWarmRestarts": {"T_0": 2}, "CyclicLR": {"base_lr": 0.1, "max_lr": 0.2},
             "OneCycleLR": {"max_lr": 0.1, "total_steps": 9}, "ReduceLROnPlateau": {}}


def verdict(function, *args, **kwargs):
    """"" for a call that works, else the name of its error's class."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*args, **kwargs)
        except Exception as error:
            return next(c for c in type(error).__mro__ if c.__module__ == "builtins").__name__
    return ""


def at_borders(cls, given, values=VALUES):
    """{option: verdicts of ``cls(**given)`` with each of `values` for it}."""
    return {name: [verdict(cls, **(given | {name: value})) for value in values]
            for name in inspect.signature(cls).parameters if name not in LEFT_OUT}


def layer(call):
    def run(T):
        arguments = [ast.literal_eval(a) for a in call.args], {k.arg: ast.literal_eval(k.value) for k in call.keywords}
        cls = getattr(T.nn, call.func.id)
        return at_borders(cls, inspect.signature(cls).bind(*arguments[0], **arguments[1]).arguments)
    return run


def layers():
    """One constructor call, as a syntax tree, of each kind of layer."""
    rows = [row.split()[0] for row in rows_of(LAYERS)]
    calls = [call for row in rows if isinstance(call := ast.parse(row, mode="eval").body, ast.Call)]
    return {call.func.id: call for call in reversed(calls) if call.func.id != "Unflatten"}


def optimiser(name):
    return lambda T: at_borders(getattr(T.optim, name), {"params": [T.nn.Parameter(some(T, 2, 2))]})


def schedule(name):
    """Numbers only: whatever is none is a ValueError here, in PyTorch sometimes one and sometimes a TypeError."""
    return lambda T: at_borders(getattr(T.optim.lr_scheduler, name), {"optimizer": optimizer(T), **SCHEDULES[name]},
                                VALUES[:5])


def calls(rows):
    return lambda T: {row: verdict(eval, row, names(T)) for row in rows}


def names(T):
    for part in ("prune", "parametrizations", "parametrize", "rnn"):
        importlib.import_module(f"{T.__name__}.nn.utils.{part}")
    w, u = T.nn.Parameter(T.tensor([0.5, 1.0, 2.0])), T.nn.Linear(3, 3)
    return {"T": T, "F": T.nn.functional, "L": T.linalg, "nn": T.nn, "u": u, "w": w, "o": T.optim.SGD([w], 0.1),
            "m": T.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), "v": T.tensor([0.5, 1.0, 2.0]),
            "i": T.tensor([0, 1, 2]), "s": T.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 5.0]])}


def rows_of(text):
    return [row.strip() for row in text.replace("\n", " | ").split(" | ") if row.strip()]


# Calls, most of them wrong in one way. ``m`` is a matrix of 3 rows and 2 columns, ``s`` a square
# one, ``v`` a vector of 3, ``i`` integers, ``u`` a layer, ``w`` a parameter, ``o`` an optimiser.
CALLS = {"statistics": """
T.cov(m,fweights=i) | T.cov(m.mT,fweights=i) | T.cov(m.mT,fweights=i[:2]) | T.cov(m.mT,fweights=i[None])
T.cov(m.mT,fweights=v) | T.cov(m.mT,aweights=v) | T.cov(m.mT,aweights=i) | T.cov(m.mT,aweights=v[:2])
T.cov(m.mT,aweights=-v) | T.cov(m.mT,fweights=-i) | T.cov(m[None]) | T.corrcoef(m[None]) | T.histc(v,0)
T.histc(v,3,2,1) | T.quantile(v,1.5) | T.quantile(v,-0.1) | T.quantile(v,v+2) | T.quantile(v,m) | T.quantile(i,0.5)
T.bincount(v) | T.bincount(-i) | T.bincount(i,v[:2]) | T.bincount(i,minlength=-1) | T.bincount(i[None])
T.median(v[:0]) | T.mode(v[:0]) | T.kthvalue(v,0) | T.kthvalue(v,4) | T.kthvalue(v,3) | T.topk(v,4) | T.topk(v,3)
T.topk(v,-1) | T.cumsum(v,1) | T.std(i) | T.mean(i) | T.norm(i) | T.logsumexp(i,0) | T.var_mean(i) | T.nanmean(i)
T.aminmax(v[:0]) | T.argmax(v[:0]) | T.max(v[:0]) | T.amax(m[:0],0) | T.amax(m[:0],1) | T.histogram(v,0)
T.histogram(v,v.flip(0)[:0]) | T.histogram(v,3,range=(2.,1.)) | T.searchsorted(m,v) | T.searchsorted(v,v,side='up')
T.bucketize(v,m) | T.diff(v,-1) | T.trapezoid(v,v[:2]) | T.cumulative_trapezoid(v,v[:2]) | T.gradient(v[:1])
T.renorm(m,2.,0,-1.) | T.renorm(v,2.,0,1.) | T.cdist(m,s) | T.cdist(m,m,-1.) | T.pdist(v) | T.multinomial(-v,1)
T.multinomial(v*0,1) | T.multinomial(v,4) | T.multinomial(v,0) | T.bernoulli(v+1) | T.poisson(-v) | T.normal(v,-v)
""", "matrices": """
L.solve(m,v) | L.solve(s,v) | L.solve(s,v[:2]) | L.solve(s,m) | L.solve(s,m.mT) | L.lu_solve(*L.lu_factor(s),m)
L.lu_solve(*L.lu_factor(s),m.mT) | L.lu_solve(*L.lu_factor(s),m.mT,left=False)
L.lu_solve(*L.lu_factor(s),m,left=False) | L.lu_solve(L.lu_factor(s)[0],L.lu_factor(s)[1][:2],m)
L.lu_solve(L.lu_factor(s)[0],L.lu_factor(s)[1].long(),m) | L.lu_solve(*L.lu_factor(s),m.double())
L.lu_solve(*L.lu_factor(s),v) | T.lu_solve(m,*L.lu_factor(s)) | T.cholesky_solve(m,s) | T.cholesky_solve(m.mT,s)
T.cholesky_inverse(m) | L.cholesky(-s) | L.inv(s*0) | L.eigh(m) | L.solve_triangular(s,m.mT,upper=True)
L.solve_triangular(s,m,upper=True) | L.solve_triangular(s,m.mT,upper=True,left=False) | L.lstsq(m,v)
L.lstsq(m,v[:,None]) | L.lstsq(m,m[:2]) | L.lstsq(m,m,driver='none') | L.matrix_power(m,2) | L.matrix_power(s*0,-1)
L.matrix_norm(v) | L.matrix_norm(m,3) | L.matrix_norm(m,'fro',(0,0)) | L.vector_norm(i) | L.norm(v,'fro')
L.norm(v,'nuc') | L.norm(m,'x') | L.cond(m,1) | L.cond(s,7) | L.cross(v,m) | L.cross(m,m) | L.cross(v[:2],v[:2])
L.multi_dot([m]) | L.multi_dot([m,m]) | L.multi_dot([m,m.mT,m]) | L.vander(v[0]) | L.householder_product(m,v)
L.householder_product(m,v[:2]) | L.tensorsolve(m,v) | L.tensorinv(m) | L.matrix_rank(v) | L.pinv(v) | L.svd(v)
L.qr(m,'x') | T.mm(m,m) | T.mm(v,m) | T.mv(m,v) | T.mv(m,m) | T.mv(s,v) | T.dot(v,v[:2]) | T.dot(m,m)
T.vdot(v,v.double()) | T.bmm(m,m) | T.bmm(m[None],m[None]) | T.addmm(v,m,m) | T.addmv(v,m,v) | T.addr(m,v,v)
T.baddbmm(m,s[None],m[None][:,:2]) | T.inner(m,v) | T.inner(m,s) | T.outer(m,v) | T.kron(m,v) | T.tensordot(m,s,1)
T.tensordot(m,s,([0],[0])) | T.tensordot(m,s,([0],[0,1])) | T.einsum('ij,jk',m,s) | T.einsum('ij,ik',m,s)
T.einsum('ij',m,s) | T.einsum('i',m) | T.einsum('ij->k',m) | T.einsum('ij->ii',m) | T.einsum('i.j',m)
T.chain_matmul(m,m) | T.block_diag(m[None]) | T.trace(v) | T.tril(v) | T.diag(m[None]) | T.diagonal(v)
T.diag_embed(v,0,1,1) | T.rot90(m,1,(0,0)) | T.rot90(v) | T.triu_indices(-1,2) | T.vander(m) | T.cartesian_prod(m)
T.combinations(m) | T.combinations(v,-1) | T.matrix_exp(m) | T.logdet(m) | T.slogdet(m)
""", "creation": """
T.arange(3,0) | T.arange(0,3,-1) | T.arange(0,3,0) | T.arange(0.,3.,float('nan')) | T.arange(float('nan'))
T.arange(0,float('inf')) | T.range(3,0) | T.linspace(0,1,-1) | T.logspace(0,1,-1) | T.eye(-1) | T.eye(2,-1)
T.zeros(-1) | T.randperm(-1) | T.randperm(129,dtype=T.int8) | T.randperm(128,dtype=T.int8)
T.randperm(256,dtype=T.uint8) | T.randperm(257,dtype=T.uint8) | T.randperm(3,dtype=T.bool) | T.randint(3,3,(2,))
T.randint(3,4,(2,)) | T.randint(-1,(2,)) | T.randint(0,300,(2,),dtype=T.uint8) | T.normal(0.,-1.,(2,))
T.full((2,),'x') | T.full((-1,),1.) | T.tensor([[1],[1,2]]) | T.tensor('x') | T.tensor([None])
T.tensor(300,dtype=T.uint8) | T.as_tensor([1,'a']) | T.from_numpy([1]) | T.zeros(2,dtype='float32')
T.zeros(2,dtype=3) | T.ones(2,device='nowhere') | T.empty(2,3,1.5) | T.hann_window(-1) | T.kaiser_window(-1)
T.blackman_window(0) | T.complex(v,i) | T.complex(v,v.double()) | T.polar(v,i) | T.heaviside(v,i)
T.tril_indices(2,-1) | T.meshgrid(m,v) | T.meshgrid(v,v,indexing='no') | T.empty_strided((2,),(1,2))
T.empty_strided((2,),(-1,)) | T.as_strided(v,(4,),(1,)) | T.as_strided(v,(2,),(-1,)) | T.as_strided(v,(3,),(1,),1)
T.frombuffer(b'abc',dtype=T.int16) | T.scalar_tensor('x')
""", "shapes": """
v.view(2,2) | v.view(-1,-1) | v.view(-2,3) | m.mT.view(6) | v.reshape(2,-1) | v.expand(2) | m.expand(3)
m.expand(2,-1,-1) | v.expand(-1,3) | v.squeeze(1) | v.unsqueeze(3) | m.transpose(0,2) | m.permute(0) | m.permute(0,0)
m.permute(0,2) | m.t() | m[None].t() | m.movedim(0,2) | m.movedim((0,1),(0,0)) | m.swapaxes(0,3) | v.unfold(0,4,1)
v.unfold(0,2,0) | v.unfold(0,-1,1) | v.narrow(0,2,2) | v.narrow(0,-4,1) | v.narrow(0,0,-1) | v.select(0,3)
v.select(0,-4) | v.split(0) | v.split(-1) | v.split([1,1]) | v.split([1,-1,3]) | v.chunk(0) | v.tensor_split(0)
v.tensor_split(i[None]) | v.hsplit(2) | v.vsplit(1) | v.dsplit(1) | v.repeat(-1) | m.repeat(2) | v.tile(-1)
v.repeat_interleave(-1) | v.repeat_interleave(i[:2]) | v.flip(1) | v.flip(0,0) | v.roll(1,1) | v.roll((1,2),0)
m.roll((1,2)) | m.unflatten(0,(2,2)) | m.unflatten(0,()) | m.flatten(1,0) | m.flatten(0,2) | T.cat([]) | T.cat([m,v])
T.cat([m,s]) | T.cat([m,s],1) | T.cat([v,'x']) | T.stack([]) | T.stack([m,v]) | T.stack([v,v],2) | T.hstack([v,m])
T.vstack([v,m]) | T.column_stack([v,m]) | T.column_stack([v,v[:2]]) | T.broadcast_to(v,(2,))
T.broadcast_tensors(v,m) | T.broadcast_shapes((2,),(3,)) | T.unbind(v,1) | v.view(T.int64) | v.view(T.int16)
v[:,None].mT | v.mT | v.H | m[None].H | v.contiguous(memory_format=T.channels_last) | m.resize_(2,-1)
v.new_zeros(-1) | v.sum_to_size(2) | T.atleast_1d('x') | v.item() | v[:1].item() | v.tolist(1) | m.__int__() | bool(v)
bool(v[:0]) | len(v[0]) | iter(v[0]) | v+m | v+s | v@m.mT | v.add_(s) | v[:1].add_(v) | i.add_(v) | i.add_(1.5)
i.div_(2) | i.sqrt_() | T.where(v,v,v) | T.where(v>0,v,m) | v.masked_fill(v,1.) | v.masked_select(v)
v.masked_fill(v>0,v) | v.index_select(0,i+3) | v.index_select(0,v) | v.index_select(1,i) | v.index_add(0,i,v[:2])
v.index_fill(0,i+3,1.) | v.gather(0,i+3) | v.gather(0,i[None]) | v.scatter(0,i+3,v) | v.scatter(0,i,s) | v.take(i+3)
v.put(i,v[:2]) | v.index_copy(0,i,m) | v[3] | v[-4] | v[0,0] | v[::-1] | v[1.5] | v[i+3] | v[v>0][9] | m[:,2]
m[T.tensor([[True]])] | m[v>0] | m[:,v>0] | v.index_put((i,),s) | v.scatter_reduce(0,i,v,'none')
v.index_reduce(0,i,v,'sum') | v.copy_(s) | v.copy_([1]) | v.copy_(1) | v.fill_(m) | v.fill_(v[0]) | v.clamp()
v.clamp(min='x') | v.pow('x') | i**-1 | i//0 | i%0 | v%0 | v&v | i<<1.5 | v.bitwise_and(v) | -(v>0) | (v>0)-(v>0)
v.logical_not_(1)
""", "layers": """
F.linear(v,m) | F.linear(v,s,v[:2]) | F.embedding(i,v) | F.embedding(v,m) | F.embedding(i+3,m)
F.embedding(i,m,padding_idx=3) | F.embedding(i,m,padding_idx=-4) | F.embedding_bag(i,m) | F.embedding_bag(i,m,i+1)
F.embedding_bag(i,m,i[:1],mode='x') | F.one_hot(i,2) | F.one_hot(-i) | F.one_hot(v) | F.dropout(v,1.5)
F.dropout(v,-0.5) | F.gumbel_softmax(i) | F.cross_entropy(m,v) | F.cross_entropy(m,i) | F.cross_entropy(m,i[:2])
F.cross_entropy(m,i*0,label_smoothing=1.5) | F.cross_entropy(m,i*0,reduction='x') | F.cross_entropy(m,i*0,v)
F.nll_loss(m,v) | F.nll_loss(m,i*0,v) | F.mse_loss(v,m) | F.huber_loss(v,v,delta=0.)
F.smooth_l1_loss(v,v,beta=-1.) | F.binary_cross_entropy(v+1,v) | F.binary_cross_entropy(v,m)
F.binary_cross_entropy_with_logits(v,m) | F.kl_div(v,v,reduction='x') | F.cosine_embedding_loss(m,m,v[:2])
F.cosine_embedding_loss(m,s,v) | F.margin_ranking_loss(v,v,m) | F.triplet_margin_loss(m,m,v)
F.triplet_margin_loss(m,m,m,margin=0.) | F.triplet_margin_with_distance_loss(m,m,m,margin=0.)
F.multi_margin_loss(m,i) | F.multi_margin_loss(m,i*0,p=3) | F.multilabel_margin_loss(m,i)
F.multilabel_soft_margin_loss(m,v) | F.soft_margin_loss(m,v) | F.hinge_embedding_loss(v,m)
F.gaussian_nll_loss(v,v,-v) | F.gaussian_nll_loss(v,v,m) | F.poisson_nll_loss(v,v,reduction='x')
F.ctc_loss(s[None],i[None],i[:1],i[:1]) | F.softmax(v,1) | F.log_softmax(v,1) | F.glu(v) | F.glu(s) | F.prelu(m,v)
F.rrelu(v,0.5,0.1) | F.threshold(v,'x',1) | F.celu(v,0.) | F.softshrink(v,-1.) | F.hardtanh(v,1,-1)
F.layer_norm(m,(3,)) | F.layer_norm(m,(2,),v) | F.group_norm(m,3) | F.group_norm(v,1)
F.batch_norm(m,v,v,training=True) | F.batch_norm(m[:1],None,None,training=True) | F.batch_norm(m,None,None)
F.instance_norm(m) | F.instance_norm(m[None][:,:,:1]) | F.local_response_norm(m,2) | F.normalize(v,dim=1)
F.pad(v,(1,)) | F.pad(v,(1,1,1,1)) | F.pad(m,(1,1),'reflect') | F.pad(m,(2,2),'reflect') | F.pad(m,(1,1),'x')
F.pad(v,(-2,-2)) | F.conv1d(m,m[None]) | F.conv1d(m[None],s[None]) | F.conv1d(m[None],s[None],stride=0)
F.conv1d(s[None],s[None],padding=-1) | F.conv1d(s[None],s[None],padding='x') | F.conv1d(s[None],s[None],groups=2)
F.conv1d(s[None],s[None],dilation=2) | F.conv1d(s[None],s[None],v) | F.conv2d(s[None],s[None])
F.conv_transpose1d(s[None],s[None],output_padding=1) | F.conv_transpose1d(s[None],m[None]) | F.fold(m[None],2,2)
F.max_pool1d(s,0) | F.max_pool1d(s,4) | F.max_pool1d(s,2,padding=2) | F.max_pool1d(v,2) | F.avg_pool1d(s,2,padding=2)
F.avg_pool2d(s[None],4) | F.avg_pool2d(s[None],2,divisor_override=0) | F.lp_pool1d(s,2.,4)
F.adaptive_avg_pool1d(v,2) | F.max_unpool1d(s[None],s[None],2)
F.fractional_max_pool2d(s[None],2) | F.interpolate(s[None]) | F.interpolate(s[None],2,2.)
F.interpolate(s[None],(2,2)) | F.interpolate(s[None],2,mode='x') | F.interpolate(s[None],2,mode='bilinear')
F.interpolate(s[None],2,align_corners=True) | F.interpolate(s,2) | F.pixel_shuffle(s[None],2)
F.pixel_unshuffle(s[None],2) | F.channel_shuffle(s[None],2) | F.grid_sample(s[None,None],m[None,None],mode='x')
F.grid_sample(s[None,None],s[None,None]) | F.affine_grid(m[None],(1,1,2)) | F.affine_grid(m[None],(1,1,2,2))
F.scaled_dot_product_attention(m,s,s) | F.scaled_dot_product_attention(m,m,m,s>0,is_causal=True)
F.cosine_similarity(v,m,2) | F.pairwise_distance(m,s) | F.alpha_dropout(v,2.) | F.feature_alpha_dropout(v,-1.)
F.rms_norm(m,(3,)) | F.multi_head_attention_forward(m,m,m,2,3,None,None,None,None,False,0.,s,None) | nn.LSTM(3,2)(v)
nn.LSTM(3,2)(s,m) | nn.LSTM(3,2)(s,(m,m)) | nn.GRU(3,2)(s,m) | nn.GRU(3,2)(s,m[:1]) | nn.GRU(3,2)(m)
nn.GRU(3,2)(s[None],m[None][:,:1]) | nn.RNN(3,2)(s,m[None]) | nn.RNN(3,2)(s[None],m[:1])
nn.RNN(3,2)(s[None],m[None]) | nn.LSTMCell(3,2)(m) | nn.LSTMCell(3,2)(v,v) | nn.GRUCell(3,2)(s,s)
nn.GRUCell(3,2)(s,m) | nn.RNNCell(3,2)(s[None]) | nn.LazyConv1d(2,1)(v) | nn.LazyConv1d(2,1)(s)
nn.LazyConv1d(2,1)(s[None]) | nn.LazyConv1d(2,1)(s[None,None]) | nn.LazyConv2d(2,1)(s) | nn.LazyConv2d(2,1)(s[None])
nn.LazyConv2d(2,1)(s[None,None]) | nn.LazyConv2d(4,1,groups=2)(s[None]) | nn.LazyConvTranspose1d(2,1)(v)
nn.LazyConvTranspose2d(2,1)(s) | nn.LazyBatchNorm1d()(v) | nn.LazyBatchNorm1d()(m) | nn.LazyBatchNorm2d()(m)
nn.LazyInstanceNorm1d()(v) | nn.LazyLinear(2)(i) | nn.LazyLinear(2)(v) | nn.Conv2d(3,2,1)(s) | nn.Linear(3,2)(m)
nn.BatchNorm1d(2)(v) | nn.BatchNorm2d(2)(m) | nn.InstanceNorm1d(3)(v) | nn.GroupNorm(1,2)(s) | nn.Embedding(3,2)(v)
nn.Bilinear(3,3,2)(v,m) | nn.Softmax2d()(m) | nn.MaxUnpool1d(2)(s,s) | nn.Unflatten(0,(2,2))(v) | nn.Unflatten(0,2)
nn.Unflatten(1.5,(2,)) | nn.MultiheadAttention(2,1)(m,m,s) | nn.MultiheadAttention(2,1)(v,v,v)
nn.TransformerEncoderLayer(2,1)(s) | nn.Transformer(2,1)(m,s)
""", "modules": """
nn.Sequential(u)+3 | nn.Sequential(u).__iadd__(3) | nn.Sequential(u).__iadd__(u) | nn.Sequential(u)*1.5
nn.Sequential(u)*0 | nn.Sequential(u)*2 | nn.Sequential(3) | nn.Sequential(u).insert(3,u)
nn.Sequential(u).insert(0,3) | nn.Sequential(u).append(3) | nn.Sequential(u).extend(3) | nn.Sequential(u).pop(2)
nn.Sequential(u)[2] | nn.Sequential(u)[-2] | nn.ModuleList([3]) | nn.ModuleList([u])[1] | nn.ModuleList([u]).append(3)
nn.ModuleList([u])+3 | nn.ModuleList([u]).extend(3) | nn.ModuleList([u]).pop(1) | nn.ModuleDict({'a':3})
nn.ModuleDict({'a':u})['b'] | nn.ModuleDict({'a':u}).update(3) | nn.ModuleDict({'a.b':u}) | nn.ModuleDict([('a',u,3)])
nn.ModuleDict({'':u}) | nn.ModuleDict({'a':u}).pop('b') | nn.ParameterList([3])[1] | nn.ParameterList([w]).append('x')
nn.ParameterList(w) | nn.ParameterList([w]).extend(w) | nn.ParameterDict({'a':w})['b']
nn.ParameterDict({'a':w}).update(3) | nn.ParameterDict([('a',w,3)]) | u.register_buffer('a.b',v)
u.register_buffer('',v) | u.register_buffer('weight',v) | u.register_buffer('a',3) | u.register_buffer(3,v)
u.register_parameter('a.b',w) | u.register_parameter('',w) | u.register_parameter('a',v)
u.register_parameter('forward',w) | u.register_parameter(3,w) | u.register_parameter('a',w*2) | u.add_module('a.b',u)
u.add_module('',u) | u.add_module('a',3) | u.add_module('weight',u) | u.add_module(3,u) | u.get_submodule('a')
u.get_submodule('weight') | u.get_parameter('a') | u.get_parameter('forward') | u.get_buffer('weight')
u.set_submodule('',u) | u.set_submodule('a.b',u) | u.to(3) | u.to('nowhere') | u.to(T.int64) | u.train(3)
u.load_state_dict(3) | u.load_state_dict({}) | u.load_state_dict({'weight':v,'bias':v})
u.load_state_dict({'x':v},strict=False) | u.requires_grad_('x') | u(v,v) | u.nothing | setattr(u,'weight',v)
setattr(u,'weight',None) | delattr(u,'nothing') | u.register_forward_hook(3) | u.type('x') | u.apply(3)
u.get_extra_state() | u.set_extra_state(3) | nn.Parameter(i) | nn.Parameter(i,False) | nn.Buffer(3)
nn.utils.clip_grad_norm_(3,1.) | nn.utils.parameters_to_vector([3]) | nn.utils.vector_to_parameters(3,[w])
nn.utils.vector_to_parameters(v,[w]) | nn.utils.rnn.pad_sequence(3) | nn.utils.rnn.pad_sequence([])
nn.utils.rnn.pad_sequence([v,m]) | nn.utils.rnn.pad_sequence([v,v[:2]],padding_side='up')
nn.utils.rnn.pack_padded_sequence(s,i) | nn.utils.rnn.pack_padded_sequence(s,i+1)
nn.utils.rnn.pack_padded_sequence(s,i.flip(0)+1) | nn.utils.rnn.pack_padded_sequence(s,i+1,enforce_sorted=False)
nn.utils.rnn.pack_sequence([v[:2],v]) | nn.utils.rnn.pack_sequence([v,v[:2]])
nn.utils.prune.random_unstructured(u,'x',1) | nn.utils.prune.random_unstructured(u,'weight',1.5)
nn.utils.prune.random_unstructured(u,'weight',-1) | nn.utils.prune.random_unstructured(u,'weight',99)
nn.utils.prune.random_unstructured(u,'weight','x') | nn.utils.prune.ln_structured(u,'weight',1,2,9)
nn.utils.prune.ln_structured(u,'bias',1,2,0) | nn.utils.prune.random_structured(u,'bias',1,0)
nn.utils.prune.remove(u,'weight') | nn.utils.prune.global_unstructured(3,nn.utils.prune.L1Unstructured,amount=1)
nn.utils.prune.global_unstructured([(u,'weight')],nn.utils.prune.LnStructured,amount=1)
nn.utils.prune.PruningContainer(nn.utils.prune.Identity()) | nn.utils.prune.PruningContainer(3)
nn.utils.prune.PruningContainer().add_pruning_method(3)
nn.utils.prune.PruningContainer().add_pruning_method(nn.utils.prune.Identity())
nn.utils.prune.custom_from_mask(u,'weight',v) | nn.utils.prune.is_pruned(u) | nn.utils.prune.is_pruned(3)
nn.utils.weight_norm(u,'x') | nn.utils.spectral_norm(u,'x') | nn.utils.remove_weight_norm(u)
nn.utils.remove_spectral_norm(u) | nn.utils.parametrizations.orthogonal(u,'bias')
nn.utils.parametrizations.orthogonal(u,'weight','x') | nn.utils.parametrizations.spectral_norm(u,'x')
nn.utils.parametrizations.weight_norm(u,'x') | nn.utils.parametrizations.spectral_norm(u,n_power_iterations=0)
nn.utils.parametrize.register_parametrization(u,'x',u) | nn.utils.parametrize.register_parametrization(u,'bias',u)
nn.utils.parametrize.remove_parametrizations(u,'weight') | nn.init.uniform_(w,1.,0.)
nn.init.trunc_normal_(w,0.,1.,2.,-2.) | nn.init.xavier_uniform_(v) | nn.init.kaiming_uniform_(m,mode='x')
nn.init.kaiming_normal_(v) | nn.init.orthogonal_(v) | nn.init.eye_(v) | nn.init.dirac_(m) | nn.init.dirac_(s[None],2)
nn.init.sparse_(v,0.1) | nn.init.calculate_gain('x') | nn.init.calculate_gain('leaky_relu','x')
nn.init.calculate_gain('leaky_relu',True) | T.func.functional_call(u,3,v)
T.func.functional_call(u,{'x':v},v) | T.func.functional_call(u,dict(u.named_parameters()),v,{'x':1})
T.func.functional_call(u,({},{}),v) | T.func.functional_call(u,{},v,strict=True)
""", "gradients": """
w.sum().backward(v) | w.backward() | (w*2).backward(v) | (w*2).backward(v[:2]) | (w*2).backward(i)
v.sum().backward() | T.autograd.grad(w.sum(),v) | T.autograd.grad(w.sum(),w) | T.autograd.grad(w*2,w)
T.autograd.grad(w.sum(),[w,T.nn.Parameter(v)]) | T.autograd.grad(w.sum(),[w,T.nn.Parameter(v)],allow_unused=True)
T.autograd.grad(w.sum(),[w,T.nn.Parameter(v)],allow_unused=False,materialize_grads=True) | T.autograd.grad(3,w)
T.autograd.grad([],[w]) | T.autograd.grad(w.sum(),[]) | T.autograd.backward([w.sum(),w.sum()],[v[0]])
T.autograd.backward([w.sum()],inputs=[]) | i.requires_grad_() | (w*2).requires_grad_(False)
T.tensor([1],requires_grad=True) | w.add_(1) | w[:2].zero_() | w.numpy() | w.detach().numpy() | (w*2).detach_()
w[:2].detach_() | setattr(w,'grad',m) | setattr(w,'grad',v.double()) | setattr(w,'grad',3) | setattr(w,'grad',w)
setattr(v,'grad',v) | w.data.add_(1) | setattr(w,'data',3) | setattr(w,'data',m) | w.resize_(2) | w.retain_grad()
v.retain_grad() | v.register_hook(print) | w.register_hook(3) | (w*2).register_post_accumulate_grad_hook(print)
v.register_post_accumulate_grad_hook(print) | w.unsqueeze_(0) | (w*2).unsqueeze_(0) | T.func.grad(lambda x:3)(v)
T.func.grad(lambda x:x)(v) | T.func.grad(lambda x:x.sum())(v) | T.func.grad(lambda x:x.sum())(i)
T.func.grad(lambda x:x.sum(),1)(v) | T.func.grad(lambda x:x.sum(),'x')(v) | T.func.grad(lambda x:x.sum(),(0,0))(v)
T.func.grad(lambda x:x.sum(),-1)(v) | T.func.grad(lambda x:x.sum(),has_aux=True)(v)
T.func.grad(lambda x:(x.sum(),),has_aux=True)(v) | T.func.grad(lambda x:x.sum())(3)
T.func.grad_and_value(lambda x:x)(v) | T.func.vjp(lambda x:3,v) | T.func.vjp(lambda x:x,v)[1](m)
T.func.vjp(lambda x:(x,x),v)[1](v) | T.func.vjp(lambda x:(x,x),v)[1]((v,v)) | T.func.jvp(lambda x:x,v,v)
T.func.jvp(lambda x:x,(v,),(m,)) | T.func.jvp(lambda x:x,(v,),(v,v)) | T.func.jvp(lambda x:3,(v,),(v,))
T.func.jvp(lambda x:x,(),()) | T.func.jvp(lambda x:x,(3,),(3,)) | T.func.jvp(lambda x:x,(v,),(v.double(),))
T.func.jacrev(lambda x:x,1)(v) | T.func.jacrev(lambda x:3)(v) | T.func.jacfwd(lambda x:x,1)(v)
T.func.jacfwd(lambda x:3)(v) | T.func.jacrev(lambda x:x,chunk_size=0)(v) | T.func.linearize(lambda x:x,v)[1](m)
T.func.linearize(lambda x:x,v)[1](v,v) | T.func.stack_module_state([]) | T.func.stack_module_state([u,3])
T.func.stack_module_state([u,nn.ReLU()]) | T.vmap(lambda x:x)(3) | T.vmap(lambda x:x)() | T.vmap(lambda x:x)(v[0])
T.vmap(lambda x:x,1)(v) | T.vmap(lambda x:x,-2)(v) | T.vmap(lambda x:x,-1)(v) | T.vmap(lambda x:x,None)(v)
T.vmap(lambda x:x,(0,0))(v) | T.vmap(lambda x:x,'x')(v) | T.vmap(lambda x,y:x,0)(v,m[:2]) | T.vmap(lambda x:x,0,1)(v)
T.vmap(lambda x:x,0,None)(v) | T.vmap(lambda x:x,0,(0,0))(v) | T.vmap(lambda x:3)(v) | T.vmap(lambda x:(x,3))(v)
T.vmap(lambda x:x.item())(v) | T.vmap(lambda x:x if x>0 else -x)(v) | T.vmap(lambda x:x.tolist())(v)
T.vmap(lambda x:T.rand(2))(v) | T.vmap(lambda x:T.rand(2),randomness='x')(v) | T.vmap(lambda x:x,chunk_size=0)(v)
T.vmap(lambda x:x.nonzero())(v) | T.vmap(lambda x:v.add_(x))(v) | T.vmap(T.mv,(None,0))(m,m)
T.vmap(T.mv,(None,0))(s,m) | T.vmap(T.mv,(None,0))(m,m.mT) | T.vmap(T.mv,(None,0))(m,s[None])
T.vmap(T.mm,(0,None))(s[None],v) | T.vmap(T.mm,(0,None))(s[None],m.mT) | T.vmap(T.dot)(m,m)
T.vmap(T.dot,(0,None))(m,v) | T.vmap(T.bmm)(s[None],m) | T.vmap(T.outer)(m,m) | T.vmap(T.outer)(s[None],s[None])
T.vmap(T.cat)(m) | T.autograd.functional.jacobian(lambda x:3,v) | T.autograd.functional.jacobian(3,v)
T.autograd.functional.jacobian(lambda x:x,3) | T.autograd.functional.hessian(lambda x:x,v)
T.autograd.functional.vjp(lambda x:x,v) | T.autograd.functional.vjp(lambda x:x,v,m)
T.autograd.functional.jvp(lambda x:x,v) | T.autograd.functional.hvp(lambda x:x.sum(),v,m)
T.autograd.functional.vhp(lambda x:x,v,v) | T.autograd.functional.jacobian(lambda x:v,v,strict=True)
T.autograd.functional.jacobian(lambda x:x,v,strategy='x')
T.autograd.functional.jacobian(lambda x:x,v,strategy='forward-mode')
T.autograd.functional.jacobian(lambda x:x,v,strict=True,vectorize=True)
T.autograd.functional.jacobian(lambda x:x,v,create_graph=True,strategy='forward-mode')
T.autograd.gradcheck(lambda x:x,v) | T.autograd.gradcheck(lambda x:x.detach(),w.double())
T.autograd.gradcheck(lambda x:x*2,w,raise_exception=True) | T.autograd.gradgradcheck(lambda x:x,v)
T.utils.checkpoint.checkpoint(3,v,use_reentrant=False)
T.utils.checkpoint.checkpoint(T.sin,w,use_reentrant=False,x=1) | T.autograd.graph.saved_tensors_hooks(3)
T.autograd.graph.get_gradient_edge(v) | T.autograd.graph.get_gradient_edge(w)
""", "optimisers": """
T.optim.SGD([],0.1) | T.optim.SGD(v,0.1) | T.optim.SGD([3],0.1) | T.optim.SGD([v],0.1) | T.optim.SGD([w*2],0.1)
T.optim.SGD([i],0.1) | T.optim.SGD([w,w],0.1) | T.optim.SGD([{'params':w},{'params':w}],0.1)
T.optim.SGD([{'params':{w}}],0.1) | T.optim.SGD([{'lr':1}],0.1) | T.optim.SGD([('a',w)],0.1)
T.optim.SGD([('a',w),w],0.1) | T.optim.SGD([w]) | T.optim.SGD([w],0.1,nesterov=True)
T.optim.SGD([w],0.1,0.9,0.1,nesterov=True) | T.optim.SGD([w],0.1,0.9,nesterov=True) | T.optim.SGD([w],v)
T.optim.SGD([w],v[0]) | T.optim.SGD([w],v[0],foreach=True) | T.optim.SGD([w],v[:1])
T.optim.Adam([w],v[0],foreach=True) | T.optim.Adam([w],v[:1]) | T.optim.Adam([w],v[:2])
T.optim.Adam([w],betas=(0.9,v[0])) | T.optim.Adam([w],betas=(v[0],0.9)) | T.optim.Adam([w],betas=(0,0.9))
T.optim.Adam([w],betas=(0.9,1)) | T.optim.Adam([w],betas=(v[0]/9,v[0]/9))
T.optim.Adam([w],betas=(v[0]/9,v[0]/9),foreach=True) | T.optim.Adam([w],betas=(v[:2]/9,v[:2]/9))
T.optim.Adam([w],betas=(True,0.9)) | T.optim.Adam([w],fused=True,foreach=True)
T.optim.Adam([w],fused=True,differentiable=True) | T.optim.AdamW([w],fused=True,foreach=True)
T.optim.AdamW([w],fused=True,differentiable=True) | T.optim.SGD([w],0.1,fused=True,foreach=True)
T.optim.SGD([w],0.1,fused=True,differentiable=True) | T.optim.Adagrad([w],fused=True,differentiable=True)
T.optim.Adagrad([w],fused=True,foreach=True) | T.optim.LBFGS([{'params':[w]},{'params':[T.nn.Parameter(v)]}])
T.optim.LBFGS([w]).step() | T.optim.Muon([w]) | o.step(3) | o.load_state_dict({})
o.load_state_dict({'state':{},'param_groups':[]}) | o.add_param_group(3)
o.add_param_group({'params':o.param_groups[0]['params']}) | o.add_param_group({'params':3})
o.add_param_group({'params':[v]}) | o.add_param_group({'params':[v*w]}) | T.optim.Rprop([w],etas=(1.2,0.5))
T.optim.Rprop([w],etas=(0.5,1.0)) | T.optim.Adafactor([w],lr=v) | T.optim.RMSprop([w],v,foreach=True)
T.optim.lr_scheduler.StepLR(3,2) | T.optim.lr_scheduler.LambdaLR(o,[abs,abs])
T.optim.lr_scheduler.SequentialLR(o,[],[]) | T.optim.lr_scheduler.SequentialLR(o,[None],[])
T.optim.lr_scheduler.SequentialLR(o,[T.optim.lr_scheduler.StepLR(o,2)],[1])
T.optim.lr_scheduler.ChainedScheduler([])
T.optim.lr_scheduler.ChainedScheduler([T.optim.lr_scheduler.ReduceLROnPlateau(o)])
T.optim.lr_scheduler.OneCycleLR(o,0.1) | T.optim.lr_scheduler.OneCycleLR(o,0.1,epochs=2)
T.optim.lr_scheduler.OneCycleLR(o,0.1,0) | T.optim.lr_scheduler.CyclicLR(o,0.1,0.2,mode='x')
T.optim.lr_scheduler.CyclicLR(o,[0.1,0.1],0.2) | T.optim.lr_scheduler.ReduceLROnPlateau(o,'x')
T.optim.lr_scheduler.ReduceLROnPlateau(o,factor=1.) | T.optim.lr_scheduler.ReduceLROnPlateau(o,min_lr=[0.,0.])
T.optim.lr_scheduler.ReduceLROnPlateau(o).step() | T.optim.lr_scheduler.MultiStepLR(o,3)
T.optim.lr_scheduler.StepLR(o,2,last_epoch=3) | T.optim.lr_scheduler.CosineAnnealingWarmRestarts(o,2).step(-1)
T.optim.swa_utils.SWALR(o,0.1,anneal_strategy='x') | T.optim.swa_utils.SWALR(o,0.1,anneal_epochs=-1)
T.optim.swa_utils.SWALR(o,[0.1,0.1]) | T.optim.swa_utils.get_ema_avg_fn(1.5)
T.optim.swa_utils.AveragedModel(u,avg_fn=3)
""", "data": """
T.utils.data.TensorDataset(v,m[:2]) | T.utils.data.TensorDataset(v,m) | T.utils.data.TensorDataset()[0]
T.utils.data.ConcatDataset([]) | T.utils.data.ConcatDataset([v])[3] | T.utils.data.ConcatDataset([v])[-4]
T.utils.data.ConcatDataset([v])[-3] | T.utils.data.Subset(v,[3])[0] | T.utils.data.StackDataset()
T.utils.data.StackDataset(v,m[:2]) | T.utils.data.StackDataset(v,a=v) | T.utils.data.StackDataset(a=v,b=v[:2])
T.utils.data.random_split(v,[1,1]) | T.utils.data.random_split(v,[0.5,0.6]) | T.utils.data.random_split(v,[-0.1,1.1])
T.utils.data.random_split(v,[1,2]) | T.utils.data.DataLoader(v,0) | T.utils.data.DataLoader(v,-1)
T.utils.data.DataLoader(v,1.5) | T.utils.data.DataLoader(v,batch_sampler=[[0]],batch_size=2)
T.utils.data.DataLoader(v,batch_sampler=[[0]],shuffle=True) | T.utils.data.DataLoader(v,sampler=[0],shuffle=True)
T.utils.data.DataLoader(v,None,drop_last=True) | T.utils.data.DataLoader(v,num_workers=-1)
T.utils.data.DataLoader(v,timeout=-1) | T.utils.data.DataLoader(v,prefetch_factor=2)
T.utils.data.DataLoader(v,persistent_workers=True) | T.utils.data.DataLoader(v,multiprocessing_context='x')
setattr(T.utils.data.DataLoader(v),'batch_size',3) | len(T.utils.data.DataLoader(v,2))
T.utils.data.RandomSampler(v,'x') | T.utils.data.RandomSampler(v,True,0) | T.utils.data.RandomSampler(v,True,-1)
T.utils.data.RandomSampler(v[:0]) | list(T.utils.data.RandomSampler(v[:0])) | T.utils.data.WeightedRandomSampler(v,0)
T.utils.data.WeightedRandomSampler(m,1) | T.utils.data.WeightedRandomSampler(v,1,'x')
T.utils.data.BatchSampler([0],0,False) | T.utils.data.BatchSampler([0],1,3)
T.utils.data.BatchSampler([0],True,False) | T.utils.data.default_collate([v,m])
T.utils.data.default_collate([3,'x']) | T.utils.data.default_collate([None])
T.utils.data.default_collate([[1],[1,2]]) | T.utils.data.default_collate([{'a':1},{'b':1}])
T.amp.GradScaler('cpu').load_state_dict({}) | T.amp.GradScaler('cpu',growth_factor=1.)
T.amp.GradScaler('cpu',backoff_factor=1.) | T.amp.GradScaler('cpu').scale(3) | T.autocast('nowhere')
T.autocast('cpu',T.int64) | T.autocast(3) | T.Generator('nowhere') | T.Generator().manual_seed('x')
T.Generator().set_state(v) | T.set_default_dtype(T.int64) | T.set_default_dtype('x') | T.set_rng_state(v)
T.set_num_threads(0) | T.set_num_threads('x') | T.promote_types(T.uint16,T.int8) | T.promote_types(T.int32,T.int64)
T.promote_types(T.uint32,T.float16) | T.promote_types(T.uint64,T.bool) | T.promote_types(T.bool,T.uint16)
T.finfo(T.int8) | T.iinfo(T.float16) | T.result_type(3,'x') | T.device('cpu:x')
T.device('cpu:01') | T.device('cpu:1',1) | T.device('cpu',-2) | T.device('nowhere') | T.device(v)
T.device('cpu','x') | T.load('nowhere') | T.save(3) | T.save(v,3) | T.allclose(v,m.double()) | T.equal(v,m)
T.isclose(v,v,-1.) | T.isclose(v,v.double()) | T.is_nonzero(v) | T.numel(3) | T.is_tensor(3) | T.clone(3) | T.add(3,4)
T.add(v) | T.add(v,v,v) | T.add(v,v,alpha='x') | T.add(i,i,alpha=1.5) | T.sub(v>0,v>0) | T.max(v,0,1,2)
T.sum(v,nothing=1) | T.mul(v,None) | T.div(v,v,rounding_mode='x') | T.cat(v) | T.stack(v) | T.add([v],v)
T.cat([[v]]) | T.stack(3) | T.einsum(3) | T.fft.fft(v,0) | T.fft.fft(v,dim=1) | T.fft.fft(v,norm='x') | T.fft.fft2(v)
T.fft.fftn(m,(2,),(0,1)) | T.fft.fftn(m,dim=(0,0)) | T.fft.rfft(v*1j) | T.fft.irfft(v[:1]) | T.fft.hfft(v,-1)
T.stft(v,2) | T.stft(v,4,return_complex=True) | T.stft(v,2,return_complex=True) | T.istft(m*1j,4) | T.polygamma(-1,v)
T.mvlgamma(v,0) | T.special.multigammaln(v-3,2) | T.special.polygamma(-1,v) | T.special.logit(i)
T.special.softmax(v,1) | T.lcm(v,v) | T.gcd(i,i) | T.erfinv(i) | T.i0(v>0)
"""}
CASES = {f"layer {name}": layer(call) for name, call in layers().items()}
CASES |= {f"optimiser {name}": optimiser(name) for name in OPTIONS}
CASES |= {f"schedule {name}": schedule(name) for name in SCHEDULES}
CASES |= {name: calls(rows_of(text)) for name, text in CALLS.items()}
