"""A U-Net finds the discs in pictures of discs, squares and noise, pixel by pixel.

What it shows: an encoder and a decoder with skip connections, transposed convolutions, group norm, a loss for each
pixel, data made by an `IterableDataset`. After Ronneberger, Fischer and Brox, U-Net (2015).

    python -m minitorch examples/unet.py      (or with PyTorch: python examples/unet.py)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import options, progress, pyplot, save
from torch.utils.data import DataLoader, IterableDataset

SIDE = 32


class Shapes(IterableDataset):
    """Without end: a noisy picture (1, 32, 32) of some discs and squares, and where the discs are (1, 32, 32)."""

    def __iter__(self):
        rows, columns = torch.meshgrid(torch.arange(SIDE), torch.arange(SIDE), indexing="ij")
        while True:
            picture, discs = torch.zeros(SIDE, SIDE), torch.zeros(SIDE, SIDE, dtype=torch.bool)
            for disc in torch.rand(4) < 0.5:
                y, x = torch.randint(4, SIDE - 4, (2,))
                radius = torch.randint(3, 7, ())
                if disc:
                    shape = (rows - y) ** 2 + (columns - x) ** 2 <= radius ** 2
                else:
                    shape = torch.maximum((rows - y).abs(), (columns - x).abs()) < radius
                picture[shape] = 0.4 + 0.6 * torch.rand(())
                discs = (discs & ~shape) | (shape & disc)
            yield (picture + 0.15 * torch.randn(SIDE, SIDE)).unsqueeze(0), discs.float().unsqueeze(0)


def double_conv(in_channels, out_channels):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, padding=1), nn.GroupNorm(4, out_channels), nn.ReLU(inplace=True),
        nn.Conv2d(out_channels, out_channels, 3, padding=1), nn.GroupNorm(4, out_channels), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, widths=(8, 16, 32)):
        super().__init__()
        self.down = nn.ModuleList([double_conv(i, o) for i, o in zip((1, *widths), widths)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(o, i, 2, stride=2) for i, o in zip(widths, widths[1:])])
        self.join = nn.ModuleList([double_conv(2 * i, i) for i in widths[:-1]])
        self.out = nn.Conv2d(widths[0], 1, 1)

    def forward(self, x):
        skips = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        for up, join, skip in zip(reversed(self.up), reversed(self.join), reversed(skips[:-1])):
            x = join(torch.cat([skip, up(x)], dim=1))
        return self.out(x)


def dice(found, target):
    """Twice the common area by the sum of both areas."""
    return 2 * (found * target).sum() / (found.sum() + target.sum()).clamp(min=1)


def main():
    args = options(__doc__, steps=300, batch=16)
    batches = iter(DataLoader(Shapes(), batch_size=args.batch))
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    bar = progress(range(args.steps), unit="step")
    for _ in bar:
        pictures, discs = next(batches)
        logits = model(pictures)
        loss = F.binary_cross_entropy_with_logits(logits, discs) + 0.5 * (1 - dice(torch.sigmoid(logits), discs))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bar.show(loss.item())
    losses = bar.summary()

    pictures, discs = next(batches)
    model.eval()
    with torch.no_grad():
        found = torch.sigmoid(model(pictures))
    print(f"new pictures: Dice {dice((found > 0.5).float(), discs):.3f}, "
          f"pixels that are right {((found > 0.5) == discs).float().mean():.2%}")
    if plt := pyplot(args):
        figure = plt.figure(figsize=(11, 4.5), layout="constrained")
        left, right = figure.subfigures(1, 2, width_ratios=[1, 1.4])
        axis = left.subplots()
        axis.plot(losses)
        axis.set(xlabel="step", ylabel="loss", title="training")
        for row, images, title in zip(right.subplots(3, 5), [pictures, found, discs], ["picture", "found", "discs"]):
            row[0].set_ylabel(title)
            for cell, image in zip(row, images):
                cell.imshow(image[0], cmap="gray")
                cell.set(xticks=[], yticks=[])
        save(figure, args, "unet.png")


if __name__ == "__main__":
    main()
