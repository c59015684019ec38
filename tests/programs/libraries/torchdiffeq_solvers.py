"""torchdiffeq: all kinds of solvers and their adjoint, times with gradients, events, training."""
# needs: torchdiffeq scipy

import torch
from shown import show
from torch import nn
from torchdiffeq import odeint, odeint_adjoint, odeint_event

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        self.calls = 0

    def forward(self, t, y):
        self.calls += 1
        return self.net(y**3)


class Ball(nn.Module):
    def __init__(self):
        super().__init__()
        self.gravity = nn.Parameter(torch.tensor(9.8))

    def forward(self, t, state):
        return state[1], -self.gravity


field, times = Field(), torch.linspace(0, 1.5, 4)
start = torch.tensor([[2.0, 0.0]], requires_grad=True)
for solve in (odeint, odeint_adjoint):
    for method in ("dopri5", "dopri8", "adaptive_heun", "rk4", "euler", "explicit_adams", "implicit_adams"):
        t = times.clone().requires_grad_()
        field.calls = 0
        y = solve(field, start, t, method=method, rtol=1e-4, atol=1e-5)
        loss = y.abs().mean()
        gradients = torch.autograd.grad(loss, [start, *field.parameters(), t])
        show(f"{solve.__name__} {method}", loss, gradients[0], gradients[1].norm(), gradients[-1], field.calls)

ball, state, time = Ball(), (torch.tensor(10.0), torch.tensor(0.0)), torch.tensor(0.0)
for _ in range(2):
    time, solution = odeint_event(ball, state, time, event_fn=lambda t, s: s[0], atol=1e-7, rtol=1e-7)
    state = (solution[0][-1] + 1e-6, -solution[1][-1] * 0.8)
    show("bounce", time, state[1])
time.backward()
show("gravity", ball.gravity.grad)

optimiser = torch.optim.RMSprop(field.parameters(), lr=1e-2)
for _ in range(3):
    optimiser.zero_grad()
    loss = (odeint_adjoint(field, start.detach(), times, rtol=1e-3, atol=1e-4) - 1).abs().mean()
    loss.backward()
    optimiser.step()
    show("loss", loss)
