"""A variational autoencoder learns to draw handwritten digits from two numbers.

What it shows: the reparameterisation trick, a loss of two parts, sampling from the decoder. After Kingma and Welling,
Auto-Encoding Variational Bayes (2014).

    python -m minitorch examples/vae.py      (or with PyTorch: python examples/vae.py)
"""

import torch
from common import digits, options, progress, pyplot, save
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, latent=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
        self.mean = nn.Linear(64, latent)
        self.log_variance = nn.Linear(64, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 128), nn.ReLU(),
                                     nn.Linear(128, 64), nn.Sigmoid())

    def encode(self, x):
        hidden = self.encoder(x.view(-1, 64))
        return self.mean(hidden), self.log_variance(hidden)

    def reparameterize(self, mean, log_variance):
        std = torch.exp(0.5 * log_variance)
        return mean + torch.randn_like(std) * std

    def forward(self, x):
        mean, log_variance = self.encode(x)
        return self.decoder(self.reparameterize(mean, log_variance)), mean, log_variance


def loss_function(reconstruction, x, mean, log_variance):
    """The reconstruction loss, and the divergence of the codes from a standard normal one."""
    bce = F.binary_cross_entropy(reconstruction, x.view(-1, 64), reduction="sum")
    kld = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return bce + kld


def train(model, images, epochs):
    loader = DataLoader(TensorDataset(images), batch_size=64, shuffle=True)
    optimizer = optim.Adam(model.parameters(), lr=5e-3)
    bar = progress(range(epochs), unit="epoch")
    for _ in bar:
        total = 0.0
        for (batch,) in loader:
            optimizer.zero_grad()
            reconstruction, mean, log_variance = model(batch)
            loss = loss_function(reconstruction, batch, mean, log_variance)
            loss.backward()
            optimizer.step()
            total += loss.item()
        bar.show(total / len(images))
    return bar.summary()


def draw(plt, model, losses, args):
    """The losses, where the test images lie, and what the decoder makes of the plane."""
    test, labels = digits(train=False)
    side = torch.special.ndtri(torch.linspace(0.03, 0.97, 15))      # steps of equal probability
    plane = torch.stack(torch.meshgrid(side, side.flip(0), indexing="xy"), -1)
    with torch.no_grad():
        codes, _ = model.encode(test)
        pictures = F.pad(model.decoder(plane).view(15, 15, 8, 8), (1, 1, 1, 1))
    figure, axes = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    axes[0].plot(losses)
    axes[0].set(xlabel="epoch", ylabel="loss of an image", title="training")
    dots = axes[1].scatter(codes[:, 0], codes[:, 1], c=labels, cmap="tab10", s=12)
    axes[1].set(title="codes of test images")
    figure.colorbar(dots, ax=axes[1], ticks=range(10))
    axes[2].imshow(pictures.permute(0, 2, 1, 3).reshape(150, 150), cmap="gray_r")
    axes[2].set(title="the decoder's plane", xticks=[], yticks=[])
    save(figure, args, "vae.png")


def main():
    args = options(__doc__, epochs=60)
    model = VAE()
    images, _ = digits(train=True)
    losses = train(model, images, args.epochs)
    if plt := pyplot(args):
        draw(plt, model, losses, args)


if __name__ == "__main__":
    main()
