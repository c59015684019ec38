"""An LSTM learns to write Python's documentation, character by character.

What it shows: embedding, a two-layer LSTM whose state is carried from piece to piece, clipping of gradients, a schedule
of learning rates, sampling with a temperature. After Karpathy, The Unreasonable Effectiveness of Recurrent Neural
Networks (2015).

    python -m minitorch examples/char_rnn.py      (or with PyTorch: python examples/char_rnn.py)
"""

import torch
import torch.nn as nn
from common import documentation, options, progress, pyplot, save


class CharRNN(nn.Module):
    def __init__(self, vocabulary, hidden=128, layers=2):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 32)
        self.lstm = nn.LSTM(32, hidden, layers, batch_first=True, dropout=0.1)
        self.decoder = nn.Linear(hidden, vocabulary)

    def forward(self, characters, state=None):
        """Characters (N, T) -> scores of the characters that follow (N, T, vocabulary), and the state of the LSTM."""
        output, state = self.lstm(self.embedding(characters), state)
        return self.decoder(output), state


def pieces(data, batch, length):
    """Without end: (inputs, targets) of shape (batch, length), each row going on where it ended the time before."""
    rows = data[: len(data) // batch * batch].view(batch, -1)
    while True:
        for start in range(0, rows.size(1) - length - 1, length):
            yield start == 0, rows[:, start:start + length], rows[:, start + 1:start + length + 1]


@torch.no_grad()
def sample(model, characters, prompt, length=400, temperature=0.7):
    model.eval()
    code = {c: i for i, c in enumerate(characters)}
    scores, state = model(torch.tensor([[code[c] for c in prompt]]))
    text = prompt
    for _ in range(length):
        probabilities = torch.softmax(scores[0, -1] / temperature, -1)
        chosen = torch.multinomial(probabilities, 1)
        text += characters[chosen.item()]
        scores, state = model(chosen.view(1, 1), state)
    return text


def main():
    args = options(__doc__, steps=300, batch=32, length=64)
    text = documentation()
    characters = sorted(set(text))
    code = {c: i for i, c in enumerate(characters)}
    data = torch.tensor([code[c] for c in text])
    print(f"{len(text):,} characters, {len(characters)} different ones")

    model = CharRNN(len(characters))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps, eta_min=5e-4)
    bar, state = progress(range(args.steps), unit="step"), None
    for _, (fresh, inputs, targets) in zip(bar, pieces(data, args.batch, args.length)):
        state = None if fresh else tuple(s.detach() for s in state)
        optimizer.zero_grad()
        scores, state = model(inputs, state)
        loss = criterion(scores.flatten(0, 1), targets.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        bar.show(loss.item())
    losses = bar.summary()

    print("-" * 70, sample(model, characters, "The "), "-" * 70, sep="\n")
    if plt := pyplot(args):
        figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
        axis.plot(losses, linewidth=0.8)
        axis.set(xlabel="step", ylabel="cross-entropy of a character", title="an LSTM on Python's documentation")
        save(figure, args, "char_rnn.png")


if __name__ == "__main__":
    main()
