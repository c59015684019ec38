"""LSTM cells learn sine waves of different phases and continue them far beyond what they have seen.

What it shows: LSTMCell in a loop, float64, L-BFGS with a closure. The task is that of PyTorch's example
time_sequence_prediction.

    python -m minitorch examples/time_sequence.py      (or with PyTorch: python examples/time_sequence.py)
"""

import torch
import torch.nn as nn
import torch.optim as optim
from common import options, progress, pyplot, save


class Sequence(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.hidden = hidden
        self.lstm1 = nn.LSTMCell(1, hidden)
        self.lstm2 = nn.LSTMCell(hidden, hidden)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, input, future=0):
        """The next value after each of (N, T), then `future` more, each from the one before: (N, T + future)."""
        outputs = []
        h1 = c1 = h2 = c2 = torch.zeros(input.size(0), self.hidden, dtype=input.dtype)
        for x in input.split(1, dim=1):
            h1, c1 = self.lstm1(x, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs.append(output)
        for _ in range(future):
            h1, c1 = self.lstm1(output, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs.append(output)
        return torch.cat(outputs, dim=1)


def waves(count, length, period=8.0):
    """Sine waves (count, length), float64, each with a phase of its own."""
    phase = torch.randint(-4 * 20, 4 * 20, (count, 1))
    return torch.sin((torch.arange(length) + phase).double() / period * 2)


def main():
    args = options(__doc__, steps=10, length=80)
    data = waves(20, args.length)
    train, test = data[3:], data[:3]
    model = Sequence().double()
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(model.parameters(), lr=0.8, max_iter=8)
    bar = progress(range(args.steps), unit="step")
    for _ in bar:
        def closure():
            optimizer.zero_grad()
            loss = criterion(model(train[:, :-1]), train[:, 1:])
            loss.backward()
            return loss
        bar.show(optimizer.step(closure).item())
    losses = bar.summary()
    print("losses of the steps:", *(f"{loss:.5f}" for loss in losses))

    future = args.length
    with torch.no_grad():
        prediction = model(test[:, :-1], future=future)
        seen = prediction[:, :-future]
        print(f"error on new waves: {criterion(seen, test[:, 1:]).item():.5f}")
    if plt := pyplot(args):
        figure, axis = plt.subplots(figsize=(9, 3.5), layout="constrained")
        for row, colour in zip(prediction, "rgb"):
            axis.plot(torch.arange(seen.size(1)), row[:-future], colour)
            axis.plot(torch.arange(seen.size(1), len(row)), row[-future:], colour + ":")
        axis.set(xlabel="step", title="predicted sine waves; dotted, from the network's own predictions")
        save(figure, args, "time_sequence.png")


if __name__ == "__main__":
    main()
