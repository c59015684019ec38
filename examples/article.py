"""The training run of the article "Recreating PyTorch from Scratch" (L. de Lima Nogueira, 2024), loss by loss.

A network of 10 sigmoid units learns sin(x)**2 from 51 points, one at a time. Its parameters come from Python's own
generator, uniform from -1 to 1 in the order of the layers, so that the ten losses are the article's, digit by digit.

    python examples/article.py
"""

import math
import random

import minitorch as torch
import minitorch.nn as nn
import minitorch.optim as optim


class MyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(1, 10)
        self.sigmoid = nn.Sigmoid()
        self.fc2 = nn.Linear(10, 1)

    def forward(self, x):
        return self.fc2(self.sigmoid(self.fc1(x)))


def article_parameters(model, seed=1):
    """Fill the parameters as the article's library does."""
    random.seed(seed)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.tensor([random.uniform(-1, 1) for _ in range(p.numel())]).reshape(p.shape))


def train(epochs=10):
    """Train, and return the last loss of each epoch."""
    model = MyModel()
    article_parameters(model)
    criterion = nn.MSELoss()
    optimizer = optim.SGD(model.parameters(), lr=0.001)
    points = [round(0.4 * i, 1) for i in range(51)]
    losses = []
    for epoch in range(epochs):
        for x in points:
            target = torch.tensor([[math.sin(x) ** 2]])
            loss = criterion(model(torch.tensor([[x]])), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
        print(f"Epoch [{epoch + 1}/{epochs}], Loss: {losses[-1]:.4f}")
    return losses


if __name__ == "__main__":
    train()
