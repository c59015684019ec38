"""torchinfo: its tables of nested, recurrent, attending and half-precision modules."""
# needs: torchinfo

import torch
from torch import nn
from torchinfo import summary

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.scale = nn.Parameter(torch.ones(8, 1, 1))

    def forward(self, x):
        return torch.relu(self.norm(self.conv(x))) * self.scale + x


block = Block()
net = nn.Sequential(nn.Conv2d(1, 8, 3), block, block, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
columns = ("input_size", "output_size", "num_params", "kernel_size", "mult_adds", "trainable")
print(summary(net, (2, 1, 28, 28), col_names=columns, depth=3, verbose=0))
print(summary(nn.LSTM(5, 7, 2, batch_first=True), (2, 4, 5), verbose=0))
print(summary(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), (2, 4, 16), verbose=0))
print(summary(nn.MultiheadAttention(8, 2), input_data=[torch.ones(3, 2, 8)] * 3, verbose=0))
print(summary(nn.Embedding(10, 3), input_data=torch.tensor([[1, 2]]), verbose=0, dtypes=[torch.long]))
result = summary(nn.Linear(3, 4).to(torch.bfloat16), (2, 3), dtypes=[torch.bfloat16], verbose=0)
print(result.total_params, result.total_mult_adds, result.total_param_bytes, result.total_output_bytes)
