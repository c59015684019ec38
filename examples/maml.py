"""A network learns how to learn: after training, one gradient step on ten points is enough to fit a new sine wave.

What it shows: second derivatives (a gradient step inside the loss), `torch.func.functional_call`, `create_graph`. After
Finn, Abbeel and Levine, Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks (2017).

    python -m minitorch examples/maml.py      (or with PyTorch: python examples/maml.py)
"""

import math

import torch
import torch.nn as nn
from common import options, progress, pyplot, save
from torch.func import functional_call


class Task:
    """A sine wave of random height and phase; `points` gives examples of it."""

    def __init__(self):
        self.height, self.phase = 0.1 + 4.9 * torch.rand(()), math.pi * torch.rand(())

    def points(self, count):
        x = 10 * torch.rand(count, 1) - 5
        return x, self(x)

    def __call__(self, x):
        return self.height * torch.sin(x + self.phase)


def adapt(model, x, y, steps=1, lr=0.02, create_graph=True):
    """The parameters after some steps of gradient descent on (x, y); a function of the model's own parameters."""
    parameters = dict(model.named_parameters())
    for _ in range(steps):
        loss = nn.functional.mse_loss(functional_call(model, parameters, (x,)), y)
        gradients = torch.autograd.grad(loss, list(parameters.values()), create_graph=create_graph)
        parameters = {name: p - lr * g for (name, p), g in zip(parameters.items(), gradients)}
    return parameters


def evaluate(model, tasks, shots, steps):
    """The mean squared error on new tasks after adapting to `shots` points of each."""
    total = 0.0
    for task in tasks:
        parameters = adapt(model, *task.points(shots), steps=steps, create_graph=False)
        x, y = task.points(100)
        with torch.no_grad():
            total += nn.functional.mse_loss(functional_call(model, parameters, (x,)), y).item()
    return total / len(tasks)


def main():
    args = options(__doc__, steps=1500, tasks=8, shots=10)
    model = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    bar = progress(range(args.steps), unit="step")
    for _ in bar:
        optimizer.zero_grad()
        total = 0.0
        for _ in range(args.tasks):
            task = Task()
            parameters = adapt(model, *task.points(args.shots))
            x, y = task.points(args.shots)
            loss = nn.functional.mse_loss(functional_call(model, parameters, (x,)), y) / args.tasks
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        bar.show(total)
    losses = bar.summary()

    new = [Task() for _ in range(50)]
    for steps in (0, 1, 5):
        error = evaluate(model, new, args.shots, steps)
        print(f"error on new waves after {steps} steps on {args.shots} points: {error:.3f}")
    if plt := pyplot(args):
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
        left.plot(losses, linewidth=0.5)
        left.set(xlabel="step", ylabel="error after adaptation", yscale="log", title="training")
        grid, (x, y) = torch.linspace(-5, 5, 200).unsqueeze(1), new[0].points(args.shots)
        right.plot(grid, new[0](grid), "k", label="a new wave")
        right.plot(x, y, "ko", label="what is seen of it")
        for steps, style in [(0, ":"), (1, "--"), (5, "-")]:
            fitted = functional_call(model, adapt(model, x, y, steps, create_graph=False), (grid,)).detach()
            right.plot(grid, fitted, style, label=f"after {steps} steps")
        right.legend()
        save(figure, args, "maml.png")


if __name__ == "__main__":
    main()
