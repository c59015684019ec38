"""Values and gradients of calls as users write them: what no op definition stands for alone, and the edge cases.

``x, y, z`` are matrices of different numbers, ``s`` is symmetric and positive, ``v, w`` are vectors, ``c`` is an image,
``q`` a sequence, ``p`` positive, ``i`` and ``j`` are indices, ``b`` is a mask; F is ``nn.functional``, L ``linalg``.
"""

from tests.recorded import some

CALLS = {"pointwise": """
F.relu(x) F.relu6(x*4) F.elu(x,0.7) F.selu(x) F.celu(x,0.6) F.gelu(x) F.gelu(x,approximate='tanh') F.silu(x) F.mish(x)
F.hardswish(x*3) F.hardsigmoid(x*3) F.hardtanh(x,-0.5,1) F.hardshrink(x,0.4) F.softshrink(x,0.3) F.tanhshrink(x)
F.leaky_relu(x,0.1) F.logsigmoid(x) F.softplus(x,2.,3.) F.softsign(x) F.threshold(x,0.2,-1.) F.glu(c,1)
F.prelu(c,w[:2]) F.rrelu(x,0.1,0.3) F.softmin(x,1) F.softmax(x,0) F.log_softmax(x,1) F.normalize(x,dim=1)
F.normalize(x,1.,0) x.clamp(-0.5,0.7) x.clamp(min=y) T.lerp(x,y,0.3) T.lerp(x,y,z) T.addcmul(x,y,z,value=0.5)
T.addcdiv(x,y,p,value=2) x.nan_to_num(0.) T.where(b,x,y) T.where(b,x,0.) x.masked_fill(b,3.) T.copysign(x,y)
T.atan2(x,y) T.hypot(x,y) T.logaddexp(x,y) T.logaddexp2(x,y) T.xlogy(x,p) T.special.xlog1py(x,p) T.pow(p,x) x**3 x**2
x**0 2**x p**0.5 p**-1.5 T.fmod(x,y) T.remainder(x,y) x.detach()//y.detach() x%0.7 T.frac(x*3) T.sinc(x) T.logit(p/5)
T.logit(p/5,0.3) T.special.entr(p) T.special.erfcx(x) T.special.ndtri(p/5) T.special.log_ndtr(x) T.special.i0e(x)
T.special.i1(x) T.erfinv(x/3) T.lgamma(p) T.digamma(p) T.polygamma(1,p) T.mvlgamma(p+2,2)
T.special.zeta(p.detach()+1,p.detach()) T.maximum(x,y) T.minimum(x,x) T.fmax(x,y) T.abs(x) x.sign() x.sgn().detach()
T.heaviside(x.detach(),y.detach()) T.rsqrt(p) T.exp2(x) T.expm1(x) T.log1p(p) x.square() T.round(x*100,decimals=1)
T.clamp_max(x,0.1) T.nextafter(x.detach(),y.detach()) T.ldexp(x,b.long()*3) T.frexp(x.detach()) T.gradient(v)
T.float_power(p,1.5) T.addcmul(x,y,x) T.gradient(x,spacing=0.5)
T.gradient(v,spacing=(T.tensor([0.,1.,3.,4.,7.,9.],dtype=T.float64),)) T.gradient(v,spacing=2.,edge_order=2)
T.gradient(x,dim=1) T.gradient(v,spacing=(T.tensor([0.,1.,3.,4.,7.,9.],dtype=T.float64),),edge_order=2) T.diff(v,2)
T.diff(x,1,0,y[:1],z[:2]) T.trapezoid(v[:5],w) T.trapz(v,dx=0.5) T.cumulative_trapezoid(v[:5],w)
T.cumulative_trapezoid(x,dx=0.1,dim=0)
""", "reductions": """
x.sum() x.sum(0) x.sum((0,1),keepdim=True) x.mean(1) x.prod() x.prod(1) T.prod(x*b,1) x.std() x.std(0,correction=0)
x.var(1,keepdim=True) T.var_mean(x,0) T.std_mean(x,1,correction=2) x.norm() x.norm(1) x.norm(3,0)
x.norm(float('inf'),1) x.norm(-float('inf')) x.detach().norm(0) L.vector_norm(x,0.5,1) L.vector_norm(x,-2)
L.matrix_norm(x) L.matrix_norm(x,1) L.matrix_norm(x,float('inf')) L.matrix_norm(x,2) L.matrix_norm(x,'nuc')
L.matrix_norm(x,-1) L.norm(x,'fro') x.logsumexp(1) T.logsumexp(x,(0,1)) x.max() x.max(1) x.min(0,keepdim=True)
x.amax((0,1)) x.amin(1) T.aminmax(x,dim=0) x.argmax(1) x.argmin() x.median() x.median(1) T.nanmedian(x,0) x.mode(1)
x.kthvalue(2,1) T.quantile(x,0.3) T.quantile(x,T.tensor([0.1,0.75],dtype=T.float64),dim=1)
T.quantile(x,0.4,interpolation='nearest') T.quantile(x,0.35,dim=0,interpolation='lower')
T.quantile(x,0.35,1,interpolation='higher') T.quantile(x,0.6,1,interpolation='midpoint') T.nanquantile(x,0.5,0)
x.cumsum(0) x.cumprod(1) T.cumprod(x*b,1) x.cummax(1) x.cummin(0) T.logcumsumexp(x,1) x.nansum() x.nanmean(1)
x.count_nonzero() b.any(1) b.all(0) T.cov(x) T.cov(x,correction=0) T.cov(x,fweights=T.tensor([1,2,3,1]))
T.cov(x,aweights=p[0].detach()) T.cov(x,aweights=p[0].detach(),correction=0)
T.cov(x,fweights=T.tensor([1,2,3,1]),aweights=p[0].detach()) T.cov(v) T.corrcoef(x) T.histc(x.detach(),4,-1,1)
T.bincount(i.flatten()) T.bincount(i.flatten(),p.detach().flatten()[:6],minlength=7) T.histogram(x.detach(),3)
T.unique(i) T.unique(i,return_inverse=True,return_counts=True)
T.unique_consecutive(T.tensor([1,1,2,2,1]),return_counts=True) T.cdist(x,y) T.cdist(x,y,1.) T.cdist(x,y,3.) F.pdist(x)
T.dist(x,y,3) x.sort(1) x.sort(0,descending=True) x.argsort(1) x.topk(2,1) x.topk(2,0,largest=False) T.msort(x)
T.searchsorted(T.tensor([0.,1.,2.]),T.tensor([0.5,1.,3.]))
T.searchsorted(T.tensor([0.,1.,2.]),T.tensor([0.5,1.,3.]),right=True)
T.bucketize(T.tensor([0.5,1.,3.]),T.tensor([0.,1.,2.]),right=True) T.renorm(x,2,0,1.) T.clone(x).renorm(1,1,0.5)
F.pairwise_distance(x,y) F.cosine_similarity(x,y,1) T.combinations(v,2) T.cartesian_prod(v,w) T.vander(v.detach(),3)
T.block_diag(x,y[:1]) T.isin(i,j) T.tril_indices(3,3) T.triu_indices(2,4,1)
""", "shapes": """
x.reshape(-1) x.t() x.T x.unsqueeze(1) x.expand(2,3,4) x.repeat(2,1) T.tile(x,(2,)) x.repeat_interleave(2,1)
x.repeat_interleave(T.tensor([1,0,2]),0) x.flip(0) x.roll(1,1) x.roll((1,-1),(0,1)) x.rot90() x.rot90(3)
x.rot90(2,(1,0)) T.cat([x,y],1) T.stack([x,y],1) T.hstack([x,y]) T.vstack([x,y]) T.dstack([x,y]) T.column_stack([x,y])
x.split(2,1) x.chunk(3,1) T.tensor_split(x,3,1) x.unbind(0) x.narrow(1,1,2) x.select(0,-1) x.diagonal() x.diagonal(1)
x.diagonal(-1) T.diag(v) T.diag(x,1) T.diag_embed(x,1) T.tril(x) T.triu(x,1) T.tril(x,-1) x.unfold(1,2,1)
x.unflatten(1,(2,2)) c.permute(0,2,3,1) c.movedim(1,-1) c.transpose(1,3) c.flatten(1) c.squeeze() T.atleast_3d(v)
T.meshgrid(v,w,indexing='ij') T.meshgrid(v,w,indexing='xy') T.broadcast_tensors(x,v[:4]) x.as_strided((2,2),(1,2),1)
x[1] x[:,1:3] x[...,::2] x[i[0,0]] x[i] x[:,j] x[i[0],j[:,0]] x[b] x[None] x[1,[0,2]] x[-1:,None,1] x[[0,2]][:,[1,3]]
T.index_select(x,1,j[0]) x.gather(1,j) T.take(x,j) T.take_along_dim(x,j,1) x.masked_select(b) x.scatter(1,j,y[:,:2])
x.scatter_add(1,j,y[:,:2]) x.scatter(1,j,5.) x.scatter_reduce(1,j,y[:,:2],'prod') x.scatter_reduce(1,j,y[:,:2],'mean')
x.scatter_reduce(1,j,y[:,:2],'amax',include_self=False) x.scatter_reduce(1,j,y[:,:2],'mean',include_self=False)
x.index_add(0,i[0][1:],y[:2]) x.index_add(0,i[0][1:],y[:2],alpha=0.5) x.index_copy(0,i[0][:2],y[:2])
x.index_fill(1,j[0],2.) x.index_put((i[0],j[:,0]),v[:3]) x.index_put((i[1],j[:,0]),v[:3],accumulate=True)
x.masked_scatter(b,y) T.slice_scatter(x,y[:,:2],1,1,3) T.select_scatter(x,v[:4],0,1) T.diagonal_scatter(x,w[:3])
T.index_reduce(x,0,i[0][1:],y[:2],'prod') x.index_reduce(0,i[0][1:],y[:2],'mean',include_self=False) F.pad(x,(1,2))
F.pad(x,(1,-1,2,0),value=3.) F.pad(c[0],(1,2),mode='reflect') F.pad(c,(1,2,2,1),mode='replicate')
F.pad(c,(1,2,0,1),mode='circular') F.one_hot(i,4) T.nonzero(b) T.where(b) F.pixel_shuffle(T.cat([c,c],1),2)
F.pixel_unshuffle(c[...,:4,:4],2) F.channel_shuffle(T.cat([c,c],1),2) T.flatten(c,1,2) T.swapaxes(c,0,1)
T.narrow(v,0,-3,2) T.ravel(x.t())
""", "linear algebra": """
x@y.t() x@v[:4] v@v T.mv(x,v[:4]) T.outer(v,w) T.dot(v,v) T.kron(x,y[:1]) T.addmm(x[:,:3],x,y.t(),beta=0.5,alpha=2)
T.baddbmm(q[:,:3,:2],q,q.mT[:,:,:2],beta=0.5) T.addmv(w[:3],x,v[:4]) T.addr(x[:,:3],w[:3],w[:3])
T.addbmm(x[:2,:2],q[:,:2],q.mT[...,:2],alpha=0.3) T.bmm(q,q.mT) T.einsum('ij,kj->ik',x,y) T.einsum('ij,ij->',x,y)
T.einsum('bij,bkj->bik',q,q) T.einsum('ii->i',s) T.einsum('i,j',v,w) T.einsum('...i,i',x,v[:4]) T.tensordot(x,y,2)
T.tensordot(x,y,([1],[1])) L.multi_dot([x,y.t(),x]) T.chain_matmul(x,y.t(),x) L.inv(s) L.det(s) L.slogdet(s)
L.solve(s,x[:,:3].t()) L.cholesky(s) L.cholesky(s,upper=True) T.cholesky_solve(x,L.cholesky(s))
T.cholesky_inverse(L.cholesky(s)) L.qr(x+T.eye(3,4,dtype=T.float64)*3)[1].abs() L.svdvals(x) L.eigvalsh(s)
L.eigh(s)[0] L.pinv(x) L.lstsq(x.t(),w[:4,None])[0] L.matrix_power(s,3) L.matrix_power(s,-1) L.matrix_exp(s/4)
L.cross(x[:,:3],y[:,:3]) L.lu(s)[2] L.lu_factor(s)[0] L.solve_triangular(s.tril(),x,upper=False)
L.solve_triangular(s.triu(),x,upper=True,unitriangular=True) L.cond(s) L.cond(s.detach(),1) L.matrix_rank(x.detach())
L.vander(w[:3]) L.householder_product(x.t(),w[:3]) L.vecdot(x,y) L.diagonal(x,offset=1) T.trace(s)
L.lu_solve(*L.lu_factor(s),x) L.eigvals(s.detach()).abs().sort()[0] T.logdet(s) L.inv_ex(s)[0] T.inner(x,y)
T.vdot(v,v) L.matrix_norm(s,-2) T.fft.fft(v.detach()).abs() T.fft.rfft(v.detach()) T.fft.irfft(T.fft.rfft(v.detach()))
T.fft.ifft(v.detach()) T.fft.fft2(x.detach()).abs() T.fft.rfft(v.detach(),norm='ortho') T.fft.fftshift(v.detach())
T.fft.ifftshift(v.detach()) T.fft.fftfreq(5,0.1) T.fft.rfftfreq(6) T.fft.hfft(v.detach()) T.fft.rfftn(x.detach())
T.fft.fft(x.detach(),6,0) T.fft.irfft(v.detach(),8) T.fft.ihfft(v.detach())
""", "losses": """
F.mse_loss(x,y) F.mse_loss(x,y,reduction='none') F.l1_loss(x,y) F.smooth_l1_loss(x,y,beta=0.5)
F.huber_loss(x,y,delta=0.7) F.huber_loss(x,y,'sum',2.) F.cross_entropy(x,i.flatten()[:3])
F.cross_entropy(x,i.flatten()[:3],label_smoothing=0.2) F.cross_entropy(x,i.flatten()[:3],weight=p[0].detach())
F.cross_entropy(x,i.flatten()[:3],weight=p[0].detach(),label_smoothing=0.1) F.cross_entropy(x,T.tensor([0,-100,2]))
F.cross_entropy(x,T.tensor([0,1,2]),ignore_index=1,reduction='sum') F.cross_entropy(x,y.softmax(1))
F.cross_entropy(x,y.softmax(1),weight=p[0].detach(),label_smoothing=0.3)
F.cross_entropy(c[:,:,0],T.tensor([[0,1,1,0]])) F.nll_loss(x.log_softmax(1),T.tensor([0,1,3]),weight=p[0].detach())
F.nll_loss(x,T.tensor([0,1,3]),reduction='none') F.binary_cross_entropy(p/5,b.double())
F.binary_cross_entropy(p/5,b.double(),weight=p.detach()) F.binary_cross_entropy_with_logits(x,b.double())
F.binary_cross_entropy_with_logits(x,b.double(),pos_weight=p[0].detach(),weight=p.detach())
F.kl_div(x.log_softmax(1),y.softmax(1))
F.kl_div(x.log_softmax(1),y.log_softmax(1),reduction='batchmean',log_target=True)
F.kl_div(x,p.detach(),reduction='sum') F.poisson_nll_loss(x,p.detach())
F.poisson_nll_loss(p,p.detach(),log_input=False,full=True,reduction='none')
F.poisson_nll_loss(x,p.detach()*3,full=True) F.gaussian_nll_loss(x,y,p) F.gaussian_nll_loss(x,y,p,full=True,eps=0.5)
F.hinge_embedding_loss(x,T.where(b,1.,-1.)) F.hinge_embedding_loss(x,T.where(b,1.,-1.),margin=0.5,reduction='sum')
F.soft_margin_loss(x,T.where(b,1.,-1.)) F.margin_ranking_loss(v[:5],w,w.detach().sign(),0.3)
F.cosine_embedding_loss(x,y,T.tensor([1,-1,1]),0.1) F.triplet_margin_loss(x,y,z,0.5)
F.triplet_margin_loss(x,y,z,1.,3.,swap=True) F.triplet_margin_with_distance_loss(x,y,z,margin=2.)
F.multi_margin_loss(x,T.tensor([0,3,1])) F.multi_margin_loss(x,T.tensor([0,3,1]),2,0.5,p[0].detach())
F.multilabel_margin_loss(x,T.tensor([[0,-1,1,2],[1,2,-1,0],[3,0,1,2]])) F.multilabel_soft_margin_loss(x,b.double())
F.multilabel_soft_margin_loss(x,b.double(),weight=p[0].detach())
F.ctc_loss(q.transpose(0,1).log_softmax(2),T.tensor([[1,2],[2,2]]),T.tensor([3,3]),T.tensor([2,1]))
F.ctc_loss(q.transpose(0,1).log_softmax(2),T.tensor([[1,1],[2,3]]),T.tensor([3,2]),T.tensor([2,2]),reduction='none',zero_infinity=True)
F.ctc_loss(q.transpose(0,1).log_softmax(2),T.tensor([1,2,3]),T.tensor([3,3]),T.tensor([1,2]),blank=0,reduction='sum')
""", "layers": """
F.linear(x,y,w[:3]) F.bilinear(x,y,q[:1].expand(2,3,4).reshape(1,4,6)[...,:4].contiguous())
F.conv1d(c[:,:,0],q[:,:2,:3]) F.conv1d(c[:,:,0],q[:,:2,:3],w[:2],2,2,2)
F.conv2d(c,c[...,:2,:3].transpose(0,1).repeat(2,1,1,1).reshape(2,2,2,3))
F.conv2d(c,c[:,:1,:2,:3].repeat(2,1,1,1),w[:2],(2,1),(1,2),(1,2),2) F.conv2d(c,c[:,:,:3,:3],padding='same')
F.conv2d(c,c[:,:,:2,:2],padding='same',dilation=2) F.conv2d(c,c[:,:,:3,:3],padding='valid',bias=w[:1])
F.conv3d(c[None],c[None,:1,:,:2,:2].repeat(1,1,1,1,1),padding=1) F.conv_transpose1d(c[:,:,0],q[:,:1,:3],w[:1],2,1,1)
F.conv_transpose2d(c,c[:,:,:3,:2].transpose(0,1),None,2,1,1,1,(1,2))
F.conv_transpose2d(c,c[:,:1,:2,:2].repeat(2,2,1,1),w[:4],1,0,0,2) F.unfold(c,(2,3),(1,2),(1,0),2)
F.fold(F.unfold(c,2),(5,4),2) F.max_pool1d(c[:,:,0],2) F.max_pool2d(c,2,1,1)
F.max_pool2d(c,(3,2),2,(1,0),ceil_mode=True,return_indices=True) F.max_pool2d(c,2,1,0,2) F.max_pool3d(c[None],(1,2,2))
F.avg_pool1d(c[:,:,0],3,1,1) F.avg_pool2d(c,2,2,1,True,False) F.avg_pool2d(c,3,2,1,True,True)
F.avg_pool2d(c,2,divisor_override=3) F.avg_pool3d(c[None],2) F.lp_pool1d(p,2.,2) F.lp_pool2d(c.abs()+0.1,3.,2,1)
F.adaptive_avg_pool1d(c[:,:,0],3) F.adaptive_avg_pool2d(c,(2,3)) F.adaptive_max_pool2d(c,(3,2),return_indices=True)
F.adaptive_max_pool1d(c[:,:,0],2) F.adaptive_avg_pool3d(c[None],(1,2,3))
F.max_unpool2d(*F.max_pool2d(c,2,return_indices=True),2)
F.fractional_max_pool2d(c,2,output_size=2,_random_samples=p[None,:2,:2].detach()/5)
F.batch_norm(x,None,None,training=True) F.batch_norm(x,v[:4].detach(),p[0].detach(),w[:4],v[:4],False,0.1,0.3)
F.batch_norm(c,None,None,w[:2],v[:2],True,eps=0.1) F.layer_norm(x,(4,)) F.layer_norm(c,(5,4),c[0,0],c[0,1],0.1)
F.group_norm(T.cat([c,c],1),2,v[:4],w[:4],0.01) F.instance_norm(c) F.instance_norm(c,weight=w[:2],bias=v[:2],eps=0.2)
F.rms_norm(x,(4,)) F.rms_norm(x,(4,),v[:4],0.1) F.local_response_norm(T.cat([c,c],1),3)
F.local_response_norm(T.cat([c,c],1),2,0.1,0.5,2.) F.local_response_norm(T.cat([c,c,c],1),4,0.3) F.embedding(i,x)
F.embedding(i,x,padding_idx=1) F.embedding(i,x,padding_idx=-1,scale_grad_by_freq=True)
F.embedding(i,x.detach().clone(),max_norm=1.,norm_type=1.) F.embedding_bag(i,x)
F.embedding_bag(i,x,mode='sum',per_sample_weights=p[:2,:3]) F.embedding_bag(i,x,mode='max')
F.embedding_bag(i.flatten(),x,T.tensor([0,2,2]),mode='mean')
F.embedding_bag(i.flatten(),x,T.tensor([0,2,6]),include_last_offset=True,padding_idx=1)
F.scaled_dot_product_attention(q,q*0.5,q+1) F.scaled_dot_product_attention(q,q,q,is_causal=True)
F.scaled_dot_product_attention(q,q,q,attn_mask=b[:,:3])
F.scaled_dot_product_attention(q,q,q,attn_mask=x[:,:3],scale=0.3)
F.scaled_dot_product_attention(q,q,q,attn_mask=T.zeros(3,3,dtype=T.bool)) F.interpolate(c,scale_factor=2)
F.interpolate(c,(3,7),mode='nearest-exact') F.interpolate(c,(3,7),mode='bilinear')
F.interpolate(c,(7,3),mode='bilinear',align_corners=True) F.interpolate(c,scale_factor=1.5,mode='bicubic')
F.interpolate(c,(3,7),mode='bicubic',align_corners=True) F.interpolate(c,(4,3),mode='area')
F.interpolate(c[:,:,0],7,mode='linear') F.interpolate(c,(2,3),mode='bilinear',antialias=True)
F.interpolate(c,(2,3),mode='bicubic',antialias=True)
F.interpolate(c,scale_factor=(0.6,1.7),mode='bilinear',recompute_scale_factor=True)
F.interpolate(c[None],(2,3,4),mode='trilinear') F.affine_grid(x[None,:2,:3],(1,2,3,4),align_corners=False)
F.affine_grid(x[None,:2,:3],(1,2,3,4),align_corners=True) F.grid_sample(c,x.reshape(1,2,3,2)*0.7,align_corners=False)
F.grid_sample(c,x.reshape(1,2,3,2),align_corners=True,padding_mode='border')
F.grid_sample(c,x.reshape(1,2,3,2)*0.8,mode='nearest',align_corners=False)
F.grid_sample(c,x.reshape(1,2,3,2),mode='bicubic',padding_mode='reflection',align_corners=False)
F.grid_sample(c,x.reshape(1,2,3,2)*1.1,padding_mode='reflection',align_corners=True)
T.nn.utils.parameters_to_vector([x,y]) T.nn.utils.rnn.pad_sequence([v,w[:3]],True,-1.)
T.nn.utils.rnn.pad_sequence([v,w[:3]]) T.nn.utils.rnn.pad_sequence([v,w[:3]],True,0.5,'left')
"""}


def inputs(T):
    """The names in the calls."""
    given = {"x": some(T, 3, 4), "y": some(T, 3, 4, seed=1), "z": some(T, 3, 4, seed=2), "v": some(T, 6, seed=3),
             "w": some(T, 5, seed=4), "c": some(T, 1, 2, 5, 4, seed=5), "q": some(T, 2, 3, 4, seed=6),
             "p": some(T, 4, 4, seed=7, lo=0.3, hi=3.0)[:3], "i": T.tensor([[2, 0, 1], [1, 1, 0]]),
             "j": T.tensor([[0, 3], [2, 1], [1, 1]]), "b": some(T, 3, 4, seed=8) > 0.2}
    given["s"] = some(T, 3, 3, seed=9) @ some(T, 3, 3, seed=9).t() + 2 * T.eye(3, dtype=T.float64)
    return given


def tensors(x):
    """The tensors within a result."""
    if isinstance(x, (tuple, list)):
        return [leaf for part in x for leaf in tensors(part)]
    return [x] if hasattr(x, "detach") else []


FLOATS = "xyzvwcqps"


def weighted(T, outs):
    """One number that depends on each element of the results in another way."""
    parts = [(o * some(T, *o.shape, seed=20 + k, lo=0.5, hi=1.5)).sum() for k, o in enumerate(outs)]
    return sum(parts[1:], parts[0])


def with_gradients(expression, second=True):
    """The results, the gradients of the inputs, and sums of second derivatives; what is zero is left out."""
    def run(T):
        names = inputs(T)
        for name in FLOATS:
            names[name] = names[name].detach().clone().requires_grad_()
        used = [names[name] for name in FLOATS]
        out = eval(expression, {"T": T, "F": T.nn.functional, "L": T.linalg, **names})
        live = [t for t in tensors(out) if t.requires_grad and t.dtype.is_floating_point]
        seen = {"out": list(out) if isinstance(out, (tuple, list)) else out}
        if live:
            grads = T.autograd.grad(weighted(T, live), used, create_graph=second, allow_unused=True)
            seen |= {name: g for name, g in zip(FLOATS, grads) if nonzero(g)}
            curved = [g if g is not None and g.requires_grad else T.zeros(1) for g in grads]
            if any(g.requires_grad for g in curved):
                again = T.autograd.grad(weighted(T, curved), used, allow_unused=True)
                seen |= {f"second {name}": float(g.sum()) for name, g in zip(FLOATS, again) if nonzero(g)}
        return seen
    return run


def nonzero(g):
    return g is not None and bool((g.detach().abs() > 1e-9).any())


# Whose second derivatives PyTorch refuses, or gets wrong (docs/differences_from_pytorch.md).
FIRST_ONLY = ("prelu", "cdist", "pdist", "hardsigmoid", "multi_margin", "multilabel_margin", "ctc_loss",
              "per_sample_weights")
# Regions of the special functions that the inputs above do not reach.
EXTREMES = """
T.special.gammainc(D([2e5,2e5,1e6,3e5,1.5e5]),D([2.005e5,1.99e5,1.001e6,3e5,1.9e5]))
T.special.gammaincc(D([2e5,2e5,1e6,3e5,1.5e5]),D([2.005e5,1.99e5,1.001e6,3e5,1.9e5]))
T.special.gammainc(D([0.1,1,30,200]),D([0.05,5,20,220])) T.special.gammaincc(D([0.1,1,30,200]),D([0.05,5,20,220]))
T.erf(D([-5,-0.5,0.001,0.9,2,3.5])) T.erfc(D([-5,0.4,1.5,5,20])) T.special.erfcx(D([-3,-0.5,0.5,5,100]))
T.erfinv(D([-0.999,-0.5,0.1,0.99999])) T.lgamma(D([-2.5,-0.5,1e-3,3,50,1e5])) T.digamma(D([-2.5,-0.1,0.5,3,100]))
T.polygamma(2,D([0.5,3,20])) T.special.zeta(D([1.5,3,8]),D([0.5,2,10])) T.special.i0(D([0.1,5,9,30]))
T.special.i1(D([-5,0.1,9,30])) T.special.i0e(D([0.1,9,100])) T.special.i1e(D([-9,0.1,100]))
T.special.ndtri(D([1e-9,0.1,0.5,0.999])) T.special.log_ndtr(D([-40,-5,-0.5,1,6])) T.expm1(D([-1e-9,1e-3,2]))
T.log1p(D([-0.5,1e-9,2])) T.sinc(D([0,1e-5,0.5,3])) T.logit(D([1e-6,0.3,0.99])) T.special.entr(D([0,0.1,2]))
"""


def extreme(expression):
    return lambda T: eval(expression, {"T": T, "D": lambda values: T.tensor(values, dtype=T.float64)})


CASES = {line: extreme(line) for line in EXTREMES.split()}
for calls in CALLS.values():
    for line in calls.split():
        CASES[line] = with_gradients(line, not any(word in line for word in FIRST_ONLY))
