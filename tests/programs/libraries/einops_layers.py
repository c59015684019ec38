"""einops: functions, layers and packing, with gradients."""
# needs: einops

import torch
from einops import einsum, pack, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from shown import show

torch.manual_seed(0)
x = torch.randn(2, 3, 8, 8, requires_grad=True)
patches = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
show("patches", patches.shape, patches.sum((0, 1)))
for how in ("mean", "max", "min", "sum", "prod"):
    show(how, reduce(x, "b c h w -> b c", how))
show("repeat", repeat(x[0, 0], "h w -> h (w two)", two=2).sum(0))
show("einsum", einsum(patches, patches, "b i d, b j d -> b i j"))
packed, shapes = pack([x, patches], "b *")
show("unpack", packed.shape, *(part.shape for part in unpack(packed, shapes, "b *")))

net = torch.nn.Sequential(
    Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4), EinMix("b t c -> b t d", weight_shape="c d",
    bias_shape="d", c=48, d=5), torch.nn.GELU(), Reduce("b t d -> b d", "mean"), torch.nn.Linear(5, 2))
optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
for _ in range(3):
    optimiser.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x), torch.tensor([0, 1]))
    loss.backward()
    optimiser.step()
    show("loss", loss)
show("gradient", x.grad.abs().sum((2, 3)))
show("state", {name: value.shape for name, value in net.state_dict().items()})
