"""Functions of kornia: filters, geometry, colors, losses, features, augmentation; with gradients of the picture."""
# needs: kornia

import kornia.augmentation as K
import kornia.color as C
import kornia.enhance as E
import kornia.feature as Fe
import kornia.filters as F
import kornia.geometry as G
import kornia.losses as L
import kornia.metrics as Me
import kornia.morphology as M
import torch
from shown import show

torch.manual_seed(0)
x = torch.rand(2, 3, 24, 20, requires_grad=True)
turned = torch.eye(3)[None].repeat(2, 1, 1) + 0.01
augmentation = K.AugmentationSequential(K.RandomHorizontalFlip(p=1.0), K.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
                                        K.RandomAffine(20.0, p=1.0), data_keys=["input"])
TRIED = {
    "gaussian": lambda: F.gaussian_blur2d(x, (5, 5), (1.0, 1.0)), "sobel": lambda: F.sobel(x),
    "canny": lambda: F.canny(x)[0], "median": lambda: F.median_blur(x, (3, 3)),
    "bilateral": lambda: F.bilateral_blur(x, (3, 3), 0.1, (1.0, 1.0)),
    "warp": lambda: G.warp_perspective(x, turned, (20, 20)), "rotate": lambda: G.rotate(x, torch.tensor([30.0, 10.0])),
    "depth": lambda: G.depth_to_3d(torch.rand(1, 1, 4, 4), torch.eye(3)[None]),
    "quaternion": lambda: G.quaternion_to_rotation_matrix(torch.tensor([1.0, 0.2, 0.3, 0.1])),
    "hsv": lambda: C.rgb_to_hsv(x), "lab": lambda: C.rgb_to_lab(x), "clahe": lambda: E.equalize_clahe(x.detach()),
    "ssim": lambda: L.ssim_loss(x, x * 0.9, 5), "psnr": lambda: Me.psnr(x, x * 0.9, 1.0),
    "focal": lambda: L.focal_loss(torch.randn(2, 3, 4, 4), torch.randint(3, (2, 4, 4)), 0.5, reduction="mean"),
    "harris": lambda: Fe.harris_response(x),
    "sift": lambda: Fe.SIFTDescriptor(24)(x[:, :1, :, 10:].repeat(1, 1, 1, 3)[..., :24]),
    "dilation": lambda: M.dilation(x, torch.ones(3, 3)), "augmentation": lambda: augmentation(x),
}
for name, function in TRIED.items():
    torch.manual_seed(1)
    y = function()
    gradient = torch.autograd.grad(y.double().sum(), x)[0].double().abs().sum() if y.requires_grad else torch.zeros(1)
    show(name, list(y.shape), y.double().sum(), gradient.sum())
