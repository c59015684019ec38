"""torchsummary: its tables of a sequence and of a module with two inputs."""
# needs: torchsummary

import torch
from torch import nn
from torchsummary import summary

torch.manual_seed(0)
summary(nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                      nn.Linear(8 * 13 * 13, 10)), (1, 28, 28), device="cpu")


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(5, 3)

    def forward(self, x, y):
        return self.a(x) + self.b(y)


summary(Two(), [(4,), (5,)], device="cpu")
