"""A usual training script: type checkers find nothing wrong with it, and it runs."""

import minitorch as torch
from minitorch import Tensor, nn
from minitorch.nn import functional as F
from minitorch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(2, width)
        self.second = nn.Linear(width, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(F.relu(self.first(x)))


def accuracy(model: nn.Module, x: Tensor, y: Tensor) -> float:
    with torch.no_grad():
        best = model(x).max(dim=1).indices
    return (best == y).float().mean().item()


def train(epochs: int = 3) -> float:
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(64, 2, dtype=torch.float32, device=device)
    y = (x.sum(dim=1) > 0).long()
    model = Net(8).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
    for _ in range(epochs):
        for inputs, targets in DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True):
            optimizer.zero_grad()
            with torch.autocast("cpu", enabled=False):
                loss = F.cross_entropy(model(inputs), targets, label_smoothing=0.1)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        schedule.step()
    values, indices = torch.topk(x[:, 0], k=3)
    u, s, v = torch.linalg.svd(x.T @ x)
    spectrum = torch.fft.rfft(x.reshape(-1)).abs() + torch.special.expit(s).sum() * 2 - 1
    both = torch.cat([values, x.view(-1, 2).mean(0)]).unsqueeze(0).expand(2, -1)
    shape: tuple[int, ...] = both.shape
    assert shape[0] == both.size(0) and spectrum.dtype is torch.float32 and indices.shape == (3,)
    x[0, 1:] = x.new_zeros(1)
    return accuracy(model, x, y) + float(u.norm() * v.sum(axis=0, keepdims=True).max() * 0)


print(train())
