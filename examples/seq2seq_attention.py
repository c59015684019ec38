"""Dates in many spellings, "Thursday, 5 March 1998", are translated into "1998-03-05".

What it shows: batches of unequal length (`pad_sequence`, packing), an encoder and a decoder (GRUs) with additive
attention, teacher forcing, decoding. After Bahdanau, Cho and Bengio, Neural Machine Translation by Jointly Learning to
Align and Translate (2015).

    python -m minitorch examples/seq2seq_attention.py      (or with PyTorch: python examples/seq2seq_attention.py)
"""

import datetime
import random
import string

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import options, progress, pyplot, save
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

SPELLINGS = ["%d %B %Y", "%B %d, %Y", "%A, %d %B %Y", "%d/%m/%Y", "%b %d %Y", "%d-%b-%Y", "%a %d %b %Y", "%Y %B %d"]
SOURCE = {c: i + 1 for i, c in enumerate(string.ascii_lowercase + string.digits + " ,/-")}      # 0 is padding
TARGET = {c: i for i, c in enumerate(string.digits + "->")}      # ">" begins a translation


def pair():
    date = datetime.date(1950, 1, 1) + datetime.timedelta(days=random.randrange(36525))
    return date.strftime(random.choice(SPELLINGS)).lower(), date.isoformat()


def batch(count):
    """Spelt dates (N, S), padded with 0, their lengths, and their translations (N, 10), longest first."""
    pairs = sorted((pair() for _ in range(count)), key=lambda p: -len(p[0]))
    source = pad_sequence([torch.tensor([SOURCE[c] for c in s]) for s, _ in pairs], batch_first=True)
    return source, [len(s) for s, _ in pairs], torch.tensor([[TARGET[c] for c in t] for _, t in pairs]), pairs


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(len(SOURCE) + 1, 32, padding_idx=0)
        self.gru = nn.GRU(32, width // 2, batch_first=True, bidirectional=True)

    def forward(self, source, lengths):
        packed = pack_padded_sequence(self.embedding(source), lengths, batch_first=True)
        output, hidden = self.gru(packed)
        return pad_packed_sequence(output, batch_first=True)[0], torch.cat([hidden[0], hidden[1]], 1)


class Decoder(nn.Module):
    """Writes one character after the other, looking at the source where `attention` tells it to."""

    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(len(TARGET), 32)
        self.query, self.key = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        self.cell = nn.GRUCell(32 + width, width)
        self.out = nn.Linear(2 * width, len(TARGET))

    def attention(self, hidden, keys, memory, mask):
        scores = self.score(torch.tanh(self.query(hidden).unsqueeze(1) + keys)).squeeze(2)
        weights = F.softmax(scores.masked_fill(mask, float("-inf")), dim=1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1), weights

    def forward(self, memory, hidden, mask, target=None, length=10):
        """Scores (N, length, characters) and weights (N, length, S); `target` is fed instead of what was written."""
        keys, scores, looks = self.key(memory), [], []
        last = torch.full((len(memory),), TARGET[">"])
        for i in range(length):
            context, weights = self.attention(hidden, keys, memory, mask)
            hidden = self.cell(torch.cat([self.embedding(last), context], 1), hidden)
            scores.append(self.out(torch.cat([hidden, context], 1)))
            looks.append(weights)
            last = scores[-1].argmax(1) if target is None else target[:, i]
        return torch.stack(scores, 1), torch.stack(looks, 1)


def main():
    args = options(__doc__, steps=400, batch=64)
    random.seed(args.seed)
    encoder, decoder = Encoder(96), Decoder(96)
    model = nn.ModuleList([encoder, decoder])
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    bar = progress(range(args.steps), unit="step")
    for _ in bar:
        source, lengths, target, _ = batch(args.batch)
        optimizer.zero_grad()
        scores, _ = decoder(*encoder(source, lengths), source == 0, target)
        loss = F.cross_entropy(scores.transpose(1, 2), target)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        bar.show(loss.item())
    bar.summary()

    model.eval()
    source, lengths, target, pairs = batch(500)
    with torch.no_grad():
        scores, looks = decoder(*encoder(source, lengths), source == 0)
    found = scores.argmax(2)
    right = (found == target).all(1)
    print(f"new dates translated without a mistake: {right.float().mean():.1%}")
    for i in range(0, 500, 100):
        print(f"  {pairs[i][0]:28} {''.join('0123456789->'[c] for c in found[i])} {'' if right[i] else '(wrong)'}")
    if plt := pyplot(args):
        figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
        axis.imshow(looks[0, :, :lengths[0]], cmap="viridis", aspect="auto")
        axis.set_xticks(range(lengths[0]), list(pairs[0][0]))
        axis.set_yticks(range(10), ["0123456789->"[c] for c in found[0]])
        axis.set_title("where the decoder looked")
        save(figure, args, "seq2seq_attention.png")


if __name__ == "__main__":
    main()
