"""Two networks play against each other: one draws digits, the other tells them from real ones.

What it shows: transposed convolutions, batch norm, two optimizers, `detach`. After Radford, Metz and Chintala,
Unsupervised Representation Learning with Deep Convolutional Generative Adversarial Networks (2016).

    python -m minitorch examples/gan.py      (or with PyTorch: python examples/gan.py)
"""

import torch
import torch.nn as nn
import torch.optim as optim
from common import digits, options, progress, pyplot, save
from torch.utils.data import DataLoader, TensorDataset

nz = 32     # random numbers that make an image


class Generator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, width * 2, 2, 1, 0, bias=False), nn.BatchNorm2d(width * 2), nn.ReLU(True),
            nn.ConvTranspose2d(width * 2, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
            nn.ConvTranspose2d(width, 1, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, noise):
        return self.main(noise)


class Discriminator(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
            nn.Conv2d(width, width * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(width * 2),
            nn.LeakyReLU(0.2, inplace=True), nn.Dropout2d(0.2),
            nn.Conv2d(width * 2, 1, 2, 1, 0, bias=False), nn.Sigmoid())

    def forward(self, image):
        return self.main(image).view(-1)


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


def train(generator, discriminator, loader, epochs):
    """The mean losses (of the discriminator, of the generator) of each epoch."""
    criterion = nn.BCELoss()
    optimizer_d = optim.Adam(discriminator.parameters(), lr=4e-4, betas=(0.5, 0.999))
    optimizer_g = optim.Adam(generator.parameters(), lr=8e-4, betas=(0.5, 0.999))
    history, bar = [], progress(range(epochs), unit="epoch")
    for _ in bar:
        sums = torch.zeros(2)
        for (real,) in loader:
            ones, zeros = torch.ones(len(real)), torch.zeros(len(real))
            # The discriminator learns that real images are real (or nearly: 0.9) and drawn ones are not.
            optimizer_d.zero_grad()
            loss_real = criterion(discriminator(real), 0.9 * ones)
            fake = generator(torch.randn(len(real), nz, 1, 1))
            loss_fake = criterion(discriminator(fake.detach()), zeros)
            (loss_real + loss_fake).backward()
            optimizer_d.step()
            # The generator learns to look real.
            optimizer_g.zero_grad()
            loss_g = criterion(discriminator(fake), ones)
            loss_g.backward()
            optimizer_g.step()
            sums += torch.stack([loss_real + loss_fake, loss_g]).detach()
        history.append((sums / len(loader)).tolist())
        bar.show(history[-1][0], generator=f"{history[-1][1]:.3f}")
    bar.summary()
    return history


def main():
    args = options(__doc__, epochs=40)
    images, _ = digits(train=True)
    loader = DataLoader(TensorDataset(images * 2 - 1), batch_size=64, shuffle=True, drop_last=True)
    generator, discriminator = Generator(), Discriminator()
    generator.apply(weights_init)
    discriminator.apply(weights_init)
    fixed_noise = torch.randn(80, nz, 1, 1)
    history = train(generator, discriminator, loader, args.epochs)

    generator.eval()
    with torch.no_grad():
        drawn = generator(fixed_noise)
    print(f"brightness: {images.mean():.3f} of real images, {(drawn.mean() + 1) / 2:.3f} of drawn ones")
    if plt := pyplot(args):
        figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
        axes[0].plot(history, label=["discriminator", "generator"])
        axes[0].set(xlabel="epoch", ylabel="loss", title="training")
        axes[0].legend()
        for axis, pictures, title in [(axes[1], images[:80], "real"), (axes[2], drawn, "drawn")]:
            pictures = nn.functional.pad(pictures, (1, 1, 1, 1), value=pictures.min().item())
            axis.imshow(pictures.view(8, 10, 10, 10).permute(0, 2, 1, 3).reshape(80, 100), cmap="gray_r")
            axis.set(title=title, xticks=[], yticks=[])
        save(figure, args, "gan.png")


if __name__ == "__main__":
    main()
