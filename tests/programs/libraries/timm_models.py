"""Models of timm: outputs, loss and gradients."""
# needs: timm

import timm
import torch
from shown import show

SIZES = {"resnet18": 64, "mobilenetv3_small_050": 64, "regnetx_002": 64, "convnext_atto": 64, "ghostnet_050": 64,
         "vit_tiny_patch16_224": 64, "deit_tiny_patch16_224": 64, "mixer_s32_224": 224, "xcit_nano_12_p16_224": 64,
         "pvt_v2_b0": 64, "beit_base_patch16_224": 64, "repvgg_a0": 64}
OPTIONS = {name: dict(img_size=64, embed_dim=48, num_heads=3, depth=2)
           for name in ("vit_tiny_patch16_224", "deit_tiny_patch16_224", "beit_base_patch16_224")}

for name, size in SIZES.items():
    torch.manual_seed(0)
    model = timm.create_model(name, num_classes=10, drop_rate=0.1, **OPTIONS.get(name, {}))
    x = torch.randn(4, 3, size, size)
    out = model.eval()(x)
    trained = model.train()(x)
    loss = torch.nn.functional.cross_entropy(trained, torch.tensor([1, 2, 3, 4]))
    loss.backward()
    gradient = sum((p.grad.double() ** 2).sum() for p in model.parameters() if p.grad is not None) ** 0.5
    show(name, sum(p.numel() for p in model.parameters()), f"{out.double().abs().sum():.4g} {loss:.4g} {gradient:.3g}")
