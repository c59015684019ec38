"""A network learns to balance a pole on a cart by trial and error.

What it shows: policy gradients, many episodes at once, losses built from what was done. The environment
is the classical one (Barto, Sutton and Anderson 1983), its equations are in this file; the method is REINFORCE with a
baseline (Williams 1992).

    python -m minitorch examples/reinforce.py      (or with PyTorch: python examples/reinforce.py)
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import options, progress, pyplot, save


class CartPole:
    """Push a cart left or right so that the pole stays up; each step is worth 1, 200 steps are an episode.

    Many carts at once: states are (N, 4), position, speed, angle and angular speed.
    """

    gravity, cart, pole, half_length, force, step_time = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def reset(self, count):
        self.state = torch.rand(count, 4) * 0.1 - 0.05
        return self.state

    def step(self, action):
        """The next states, and which carts have failed."""
        x, speed, angle, turning = self.state.unbind(1)
        force = self.force * (2.0 * action - 1.0)
        total, moment = self.cart + self.pole, self.pole * self.half_length
        push = (force + moment * turning ** 2 * angle.sin()) / total
        twist = (self.gravity * angle.sin() - angle.cos() * push) / (
            self.half_length * (4 / 3 - self.pole * angle.cos() ** 2 / total))
        pull = push - moment * twist * angle.cos() / total
        self.state = torch.stack([x + self.step_time * speed, speed + self.step_time * pull,
                                  angle + self.step_time * turning, turning + self.step_time * twist], 1)
        return self.state, (self.state[:, 0].abs() > 2.4) | (self.state[:, 2].abs() > 12 * math.pi / 180)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(4, 64)
        self.action_head = nn.Linear(64, 2)
        self.value_head = nn.Linear(64, 1)

    def forward(self, x):
        x = torch.tanh(self.affine1(x))
        return F.log_softmax(self.action_head(x), dim=-1), self.value_head(x).squeeze(-1)


@torch.no_grad()
def play(policy, carts, limit=200):
    """Play one episode with each cart: states (T, N, 4), actions (T, N), alive (T, N)."""
    env = CartPole()
    state, alive = env.reset(carts), torch.ones(carts, dtype=torch.bool)
    states, actions, lives = [], [], []
    while alive.any() and len(states) < limit:
        log_probabilities, _ = policy(state)
        action = torch.multinomial(log_probabilities.exp(), 1).squeeze(1)
        states.append(state)
        actions.append(action)
        lives.append(alive)
        state, failed = env.step(action)
        alive = alive & ~failed
    return torch.stack(states), torch.stack(actions), torch.stack(lives)


def returns(alive, gamma=0.99):
    """The return of each step: 1 for every later step that was survived, discounted."""
    result, running = torch.zeros(alive.shape), torch.zeros(alive.shape[1])
    for t in reversed(range(len(alive))):
        running = alive[t].float() * (1 + gamma * running)
        result[t] = running
    return result


def main():
    args = options(__doc__, steps=60, carts=16)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    bar, lengths = progress(range(args.steps), unit="update"), []
    for _ in bar:
        states, actions, alive = play(policy, args.carts)
        log_probabilities, values = policy(states[alive])
        gains = returns(alive)[alive]
        advantage = gains - values.detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        chosen = log_probabilities.gather(1, actions[alive].unsqueeze(1)).squeeze(1)
        loss = -(chosen * advantage).mean() + 0.01 * F.smooth_l1_loss(values, gains)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(alive.sum().item() / args.carts)
        bar.show(loss.item(), steps=f"{lengths[-1]:.0f}")
    bar.summary()
    tenth = max(1, len(lengths) // 10)
    print(f"steps balanced: {sum(lengths[:tenth]) / tenth:.0f} at first, {sum(lengths[-tenth:]) / tenth:.0f} at last")
    if plt := pyplot(args):
        states, _, alive = play(policy, 1)
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
        left.plot(lengths)
        left.set(xlabel="update", ylabel="steps balanced (200 at most)", title="training")
        right.plot(states[:, 0, 0], label="position of the cart, m")
        right.plot(states[:, 0, 2] * 180 / math.pi, label="angle of the pole, degrees")
        right.set(xlabel="step", title="an episode after training")
        right.legend()
        save(figure, args, "reinforce.png")


if __name__ == "__main__":
    main()
