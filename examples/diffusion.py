"""A diffusion model learns to turn noise into points on a spiral.

What it shows: a noise schedule, an embedding of time by sines, `register_buffer`, an exponential moving average of the
weights, sampling step by step. After Ho, Jain and Abbeel, Denoising Diffusion Probabilistic Models (2020).

    python -m minitorch examples/diffusion.py      (or with PyTorch: python examples/diffusion.py)
"""

import copy
import math

import torch
import torch.nn as nn
from common import options, progress, pyplot, save


def spiral(count):
    """Points (count, 2) on a spiral of one and a half turns, slightly blurred, up to 3 from the middle."""
    angle = 3 * math.pi * torch.rand(count).sqrt()
    points = torch.stack([angle * angle.cos(), angle * angle.sin()], 1) / 3
    return points + 0.03 * torch.randn(count, 2)


class Noise(nn.Module):
    """The amounts of noise of all steps: ``q(x_t | x_0) = N(sqrt(kept[t]) x_0, 1 - kept[t])``."""

    def __init__(self, steps):
        super().__init__()
        beta = (torch.linspace(0.1, 12, steps) / steps).clamp(max=0.5)
        self.register_buffer("beta", beta)
        self.register_buffer("kept", torch.cumprod(1 - beta, 0))

    def add(self, x, t, noise):
        kept = self.kept[t].unsqueeze(1)
        return kept.sqrt() * x + (1 - kept).sqrt() * noise


class Denoiser(nn.Module):
    """Tells the noise in points x at times t."""

    def __init__(self, width=128, frequencies=8):
        super().__init__()
        self.register_buffer("frequencies", torch.exp(torch.linspace(0, math.log(20), frequencies)))
        self.net = nn.Sequential(nn.Linear(2 + 2 * frequencies, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                 nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        phase = t.unsqueeze(1) * self.frequencies
        return self.net(torch.cat([x, phase.sin(), phase.cos()], 1))


@torch.no_grad()
def sample(model, noise, count):
    """Points made from noise, and some stations on their way."""
    steps = len(noise.beta)
    x, stations = torch.randn(count, 2), []
    for t in reversed(range(steps)):
        if t in (steps - 1, steps // 2, steps // 4, steps // 10):
            stations.append(x)
        beta, kept = noise.beta[t], noise.kept[t]
        guess = model(x, torch.full((count,), t / steps))
        x = (x - beta / (1 - kept).sqrt() * guess) / (1 - beta).sqrt()
        if t > 0:
            x = x + beta.sqrt() * torch.randn_like(x)
    return [*stations, x]


def main():
    args = options(__doc__, steps=4000, batch=256, noise_steps=100)
    noise, model = Noise(args.noise_steps), Denoiser()
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=args.steps)
    points = spiral(10_000)
    bar = progress(range(args.steps), unit="step")
    for _ in bar:
        x = points[torch.randint(len(points), (args.batch,))]
        t, target = torch.randint(args.noise_steps, (args.batch,)), torch.randn_like(x)
        loss = nn.functional.mse_loss(model(noise.add(x, t, target), t / args.noise_steps), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        with torch.no_grad():
            for a, p in zip(average.parameters(), model.parameters()):
                a.lerp_(p, 0.01)
        bar.show(loss.item())
    bar.summary()

    stations = sample(average, noise, 1000)
    nearest = torch.cdist(stations[-1], points).min(1).values
    print(f"distance of a made point from the nearest real one: median {nearest.median():.3f}")
    if plt := pyplot(args):
        figure, axes = plt.subplots(1, len(stations) + 1, figsize=(15, 2.8), layout="constrained")
        for axis, dots in zip(axes, [*stations, points[:1000]]):
            axis.scatter(dots[:, 0], dots[:, 1], s=3)
            axis.set(xlim=(-3, 3), ylim=(-3, 3), aspect="equal", xticks=[], yticks=[])
        for axis, title in [(axes[0], "noise"), (axes[-2], "made"), (axes[-1], "real")]:
            axis.set_title(title)
        save(figure, args, "diffusion.png")


if __name__ == "__main__":
    main()
