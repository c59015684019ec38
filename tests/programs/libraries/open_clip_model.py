"""A small CLIP of open_clip: its loss and gradients."""
# needs: open_clip

import open_clip
import torch
from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg
from shown import show

torch.manual_seed(0)
model = CLIP(16, CLIPVisionCfg(layers=2, width=32, head_width=8, patch_size=8, image_size=32),
             CLIPTextCfg(context_length=16, vocab_size=100, width=32, heads=4, layers=2))
loss = open_clip.ClipLoss()(*model(torch.randn(3, 3, 32, 32), torch.randint(1, 100, (3, 16))))
loss.backward()
show("loss", loss, sum((p.grad.double() ** 2).sum() for p in model.parameters() if p.grad is not None) ** 0.5)
show("tokens", open_clip.SimpleTokenizer()(["a dog and a cat"])[0, :8])
