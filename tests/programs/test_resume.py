"""A training run that is interrupted after any step and resumed from its checkpoint goes on bit for bit."""

import io

import numpy as np
import pytest

import minitorch as torch
from minitorch import nn, optim
from minitorch.utils.data import DataLoader, RandomSampler, TensorDataset

STEPS, BATCH = 9, 4


class Run:
    """Model, optimiser, schedule, random numbers and the position in the shuffled data."""

    def __init__(self, seed):
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))
        self.optimizer = optim.AdamW(self.model.parameters(), lr=0.01)
        self.schedule = optim.lr_scheduler.CosineAnnealingLR(self.optimizer, STEPS)
        self.data = TensorDataset(torch.randn(16, 3), torch.randn(16, 1))
        self.order, self.losses = [], []

    def step(self):
        if not self.order:                                 # a new epoch: shuffle
            self.order = list(RandomSampler(self.data))
        batch, self.order = self.order[:BATCH], self.order[BATCH:]
        x, y = next(iter(DataLoader(torch.utils.data.Subset(self.data, batch), batch_size=BATCH)))
        self.optimizer.zero_grad()
        loss = nn.functional.mse_loss(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        self.schedule.step()
        self.losses.append(loss.item())

    def save(self, file):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "schedule": self.schedule.state_dict(), "random": torch.get_rng_state(), "order": self.order,
                    "data": self.data.tensors, "losses": self.losses}, file)

    @classmethod
    def load(cls, file):
        run, state = cls(seed=999), torch.load(file)       # another seed: nothing may depend on the fresh state
        run.model.load_state_dict(state["model"])
        run.optimizer.load_state_dict(state["optimizer"])
        run.schedule.load_state_dict(state["schedule"])
        run.data, run.order, run.losses = TensorDataset(*state["data"]), state["order"], state["losses"]
        torch.set_rng_state(state["random"])
        return run


@pytest.fixture(scope="module")
def whole():
    run = Run(seed=0)
    for _ in range(STEPS):
        run.step()
    return run


@pytest.mark.parametrize("stop", range(STEPS))
def test_resumed_after_any_step(whole, stop):
    run = Run(seed=0)
    for _ in range(stop):
        run.step()
    file = io.BytesIO()
    run.save(file)
    file.seek(0)
    run = Run.load(file)
    for _ in range(STEPS - stop):
        run.step()
    assert run.losses == whole.losses
    for a, b in zip(run.model.state_dict().values(), whole.model.state_dict().values()):
        assert np.array_equal(a.numpy(), b.numpy())
