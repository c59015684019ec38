"""The calls of `functions`, each with one input of another shape: which are refused.

A check that is lost, turned round or moved by one lets a call through that PyTorch refuses, or
refuses one that it takes: a dimension more or fewer, of size 0, or one longer.
"""

import re

from tests.recorded.functions import CALLS, inputs
from tests.recorded.refusals import verdict


def misfits(T, t):
    """{word: a tensor like `t` but for its rank or one of its sizes}."""
    found = {"a dimension more": t[None], "a dimension fewer": t[0]}
    for d, n in enumerate(t.shape):
        found[f"nothing along {d}"] = t.narrow(d, 0, 0)
        found[f"one more along {d}"] = t.index_select(d, T.tensor([*range(n), 0]))
    return found


# Cases that differ: this library takes what PyTorch refuses, or refuses what it takes.
DIFFERENT = """
T.trapezoid(v[:5],w)
    refuses v: nothing along 0
L.matrix_norm(x,-1)
    takes x: nothing along 1
L.norm(x,'fro')
    takes x: a dimension more
T.bincount(i.flatten(),p.detach().flatten()[:6],minlength=7)
    refuses i: nothing along 0; refuses i: nothing along 1
x.index_add(0,i[0][1:],y[:2])
    refuses x: nothing along 0
x.index_add(0,i[0][1:],y[:2],alpha=0.5)
    refuses x: nothing along 0
F.pad(c[0],(1,2),mode='reflect')
    takes c: nothing along 2
F.pad(c,(1,2,2,1),mode='replicate')
    takes c: nothing along 1
L.cond(s.detach(),1)
    refuses s: nothing along 0; refuses s: nothing along 1
L.matrix_norm(s,-2)
    takes s: nothing along 0; takes s: nothing along 1
T.fft.fftshift(v.detach())
    takes v: a dimension fewer
T.fft.ifftshift(v.detach())
    takes v: a dimension fewer
T.fft.fft(x.detach(),6,0)
    takes x: nothing along 1
F.cross_entropy(x,y.softmax(1),weight=p[0].detach(),label_smoothing=0.3)
    takes p: a dimension fewer; takes p: a dimension more
F.binary_cross_entropy_with_logits(x,b.double(),pos_weight=p[0].detach(),weight=p.detach())
    takes p: a dimension more
F.soft_margin_loss(x,T.where(b,1.,-1.))
    takes b: a dimension more; takes x: a dimension fewer
F.multi_margin_loss(x,T.tensor([0,3,1]),2,0.5,p[0].detach())
    takes p: one more along 1; takes x: one more along 1
F.linear(x,y,w[:3])
    takes y: a dimension fewer
F.conv1d(c[:,:,0],q[:,:2,:3])
    takes q: nothing along 2
F.conv1d(c[:,:,0],q[:,:2,:3],w[:2],2,2,2)
    takes q: nothing along 2
F.conv2d(c,c[:,:1,:2,:3].repeat(2,1,1,1),w[:2],(2,1),(1,2),(1,2),2)
    takes c: nothing along 2; takes c: nothing along 3
F.conv2d(c,c[:,:,:3,:3],padding='valid',bias=w[:1])
    takes c: nothing along 2; takes c: nothing along 3
F.conv3d(c[None],c[None,:1,:,:2,:2].repeat(1,1,1,1,1),padding=1)
    takes c: nothing along 1; takes c: nothing along 2; takes c: nothing along 3
F.conv_transpose1d(c[:,:,0],q[:,:1,:3],w[:1],2,1,1)
    takes q: nothing along 2
F.conv_transpose2d(c,c[:,:,:3,:2].transpose(0,1),None,2,1,1,1,(1,2))
    takes c: nothing along 0; takes c: nothing along 1
F.adaptive_avg_pool1d(c[:,:,0],3)
    refuses c: nothing along 1
F.adaptive_avg_pool2d(c,(2,3))
    refuses c: nothing along 1
F.fractional_max_pool2d(c,2,output_size=2,_random_samples=p[None,:2,:2].detach()/5)
    refuses c: nothing along 0
F.batch_norm(x,None,None,training=True)
    refuses x: nothing along 1
F.batch_norm(c,None,None,w[:2],v[:2],True,eps=0.1)
    refuses c: nothing along 1
F.instance_norm(c,weight=w[:2],bias=v[:2],eps=0.2)
    takes c: nothing along 0; refuses c: nothing along 1
F.embedding_bag(i,x)
    takes i: nothing along 1
F.embedding_bag(i,x,mode='max')
    takes i: nothing along 1
F.embedding_bag(i.flatten(),x,T.tensor([0,2,6]),include_last_offset=True,padding_idx=1)
    takes i: a dimension fewer
F.scaled_dot_product_attention(q,q,q,attn_mask=b[:,:3])
    refuses q: nothing along 1
F.scaled_dot_product_attention(q,q,q,attn_mask=x[:,:3],scale=0.3)
    refuses q: nothing along 1
F.scaled_dot_product_attention(q,q,q,attn_mask=T.zeros(3,3,dtype=T.bool))
    refuses q: nothing along 1
F.interpolate(c,(4,3),mode='area')
    refuses c: nothing along 1
"""
ROWS = DIFFERENT.strip().splitlines()
KNOWN = {line: cases.strip().split("; ") for line, cases in zip(ROWS[::2], ROWS[1::2])}


def refused(T, expression):
    """The cases of a call that raise."""
    given, code = inputs(T), compile(expression, expression, "eval")
    names = {"T": T, "F": T.nn.functional, "L": T.linalg, **given}
    used = sorted(set(re.findall(r"\b[a-z]\b", expression)) & set(given))
    cases = {f"{name}: {word}": names | {name: changed} for name in used
             for word, changed in misfits(T, given[name]).items()}
    return [case for case, changed in cases.items() if verdict(eval, code, changed)]


def misfit(expression):
    known = {case.partition(" ")[2] for case in KNOWN.get(expression, ())}
    return lambda T: [case for case in refused(T, expression) if case not in known]


CASES = {line: misfit(line) for calls in CALLS.values() for line in calls.split()}
