"""Same seed, same training: models built, fed and trained from ``manual_seed(0)`` give PyTorch's losses."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")

import minitorch  # noqa: E402


def mlp(T, dtype):
    nn = T.nn
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 16), nn.GELU(), nn.LayerNorm(16),
                        nn.Linear(16, 4)).to(dtype)
    return net, lambda: (T.randn(16, 8, dtype=dtype), T.randint(0, 4, (16,))), nn.CrossEntropyLoss()


def cnn(T, dtype):
    nn = T.nn
    net = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
                        nn.Conv2d(6, 8, 3, stride=2), nn.SiLU(), nn.Dropout2d(0.1), nn.AdaptiveAvgPool2d(2),
                        nn.Flatten(), nn.Linear(32, 5)).to(dtype)
    return net, lambda: (T.randn(8, 1, 12, 12, dtype=dtype), T.randint(0, 5, (8,))), nn.CrossEntropyLoss()


def lstm(T, dtype):
    nn = T.nn

    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(11, 6, padding_idx=0)
            self.lstm = nn.LSTM(6, 7, num_layers=2, dropout=0.3, bidirectional=True, batch_first=True)
            self.head = nn.Linear(14, 3)

        def forward(self, x):
            return self.head(self.lstm(self.embed(x))[0]).flatten(0, 1)

    return (Tagger().to(dtype), lambda: (T.randint(0, 11, (4, 9)), T.randint(0, 3, (36,))),
            nn.CrossEntropyLoss(label_smoothing=0.1))


def gpt(T, dtype):
    nn = T.nn

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(13, 16), nn.Embedding(8, 16)
            layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, activation="gelu", batch_first=True,
                                               norm_first=True)
            self.blocks = nn.TransformerEncoder(layer, 2, nn.LayerNorm(16), enable_nested_tensor=False)
            self.head = nn.Linear(16, 13, bias=False)
            self.head.weight = self.tokens.weight
            self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(8))

        def forward(self, x):
            x = self.tokens(x) + self.places(T.arange(8))
            return self.head(self.blocks(x, mask=self.mask)).flatten(0, 1)

    return GPT().to(dtype), lambda: (T.randint(0, 13, (4, 8)), T.randint(0, 13, (32,))), nn.CrossEntropyLoss()


def losses(T, make, dtype, steps):
    T.manual_seed(0)
    net, batch, loss_fn = make(T, getattr(T, dtype))
    optimiser = T.optim.Adam(net.parameters(), lr=0.01)
    found = []
    for _ in range(steps):
        x, y = batch()
        loss = loss_fn(net(x), y)
        optimiser.zero_grad()
        loss.backward()
        T.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("dtype, steps, rel", [("float64", 20, 1e-9), ("float32", 50, 1e-4)])
@pytest.mark.parametrize("make", [mlp, cnn, lstm, gpt])
def test_same_losses(make, dtype, steps, rel):
    assert losses(minitorch, make, dtype, steps) == pytest.approx(losses(torch, make, dtype, steps), rel=rel)
