"""Workloads: steps of small models as programs write them, forward, backward and update."""

import numpy as np

from .rows import row


def training_step(model, optimizer, criterion, x, y):
    def step():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        return loss
    return step


def images(torch, *shape):
    return torch.from_numpy(np.random.default_rng(0).standard_normal(shape, dtype=np.float32))


def labels(torch, n, classes):
    return torch.from_numpy(np.random.default_rng(1).integers(0, classes, n))


@row("article", "models", "article: MLP 1-10-1, sigmoid, SGD, one sample", 0.25, 0.16, wall=(0.12, 0.08), steps=51)
def article(torch):
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 10), nn.Sigmoid(), nn.Linear(10, 1))
    optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.1), nn.MSELoss()
    samples = torch.linspace(-1, 1, 51).reshape(51, 1, 1)
    pairs = list(zip(samples.unbind(), (3 * samples).sin().unbind()))

    def epoch():
        for x, y in pairs:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
        return loss
    return epoch


def multilayer(torch, sizes, batch):
    nn = torch.nn
    torch.manual_seed(0)
    layers = []
    for n, m in zip(sizes, sizes[1:]):
        layers += [nn.Linear(n, m), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    return training_step(model, torch.optim.Adam(model.parameters()), nn.CrossEntropyLoss(),
                         images(torch, batch, sizes[0]), labels(torch, batch, sizes[-1]))


@row("mlp", "models", "MLP 784-128-10, Adam, batch 64", 0.65, 0.50)
def mlp(torch):
    return multilayer(torch, (784, 128, 10), 64)


@row("wide_mlp", "models", "MLP 784-1024-1024-10, Adam, batch 256", 0.65, 0.50)
def wide_mlp(torch):
    return multilayer(torch, (784, 1024, 1024, 10), 256)


@row("lenet", "models", "LeNet-like CNN on 28x28, SGD with momentum, batch 64", 1.0, 0.75)
def lenet(torch):
    nn = torch.nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 5), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 10))
    return training_step(model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), nn.CrossEntropyLoss(),
                         images(torch, 64, 1, 28, 28), labels(torch, 64, 10))


def basic_block(torch, channels_in, channels, stride=1):
    """Two 3x3 convolutions with batch normalisation around a shortcut: K. He et al., 2015."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
            self.norm1 = nn.BatchNorm2d(channels)
            self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
            self.norm2 = nn.BatchNorm2d(channels)
            self.relu = nn.ReLU()
            self.shortcut = nn.Identity() if stride == 1 else nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

        def forward(self, x):
            out = self.relu(self.norm1(self.conv1(x)))
            return self.relu(self.norm2(self.conv2(out)) + self.shortcut(x))
    return Block()


@row("resnet_block", "models", "ResNet basic block 64x32x32, batch 32, forward and backward", 1.2, 0.9)
def resnet_block(torch):
    torch.manual_seed(0)
    block = basic_block(torch, 64, 64)
    x = images(torch, 32, 64, 32, 32).requires_grad_()
    g = images(torch, 32, 64, 32, 32)

    def step():
        x.grad = None
        block.zero_grad()
        out = block(x)
        out.backward(g)
        return out
    return step


@row("resnet20", "models", "ResNet-20 on 32x32, SGD with momentum, batch 32", 1.3, 1.0)
def resnet20(torch):
    nn = torch.nn
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    for n, m in ((16, 16), (16, 32), (32, 64)):
        layers += [basic_block(torch, n, m, 1 if n == m else 2), basic_block(torch, m, m), basic_block(torch, m, m)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    return training_step(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4),
                         nn.CrossEntropyLoss(), images(torch, 32, 3, 32, 32), labels(torch, 32, 10))


LAYERS, HEADS, WIDTH, CONTEXT, BATCH, VOCABULARY = 4, 4, 128, 64, 16, 65


def transformer_block(torch):
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            n, t, _ = x.shape
            q, k, v = [z.view(n, t, HEADS, WIDTH // HEADS).transpose(1, 2)
                       for z in self.qkv(self.norm1(x)).split(WIDTH, 2)]
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.proj(seen.transpose(1, 2).reshape(n, t, WIDTH))
            return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))
    return Block()


def gpt_model(torch):
    """A GPT of 4 layers."""
    nn = torch.nn
    torch.manual_seed(0)

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
            self.blocks = nn.Sequential(*[transformer_block(torch) for _ in range(LAYERS)])
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

        def forward(self, x):
            h = self.tokens(x) + self.places(torch.arange(CONTEXT, device=x.device))
            return self.head(self.norm(self.blocks(h))).view(-1, VOCABULARY)
    return GPT()


@row("gpt", "models", "GPT, 4 layers, d=128, context 64, AdamW, batch 16", 0.75, 0.55)
def gpt(torch):
    nn, model = torch.nn, gpt_model(torch)
    return training_step(model, torch.optim.AdamW(model.parameters(), lr=1e-3), nn.CrossEntropyLoss(),
                         labels(torch, (BATCH, CONTEXT), VOCABULARY), labels(torch, BATCH * CONTEXT, VOCABULARY))


def recurrent(torch, kind):
    torch.manual_seed(0)
    model = getattr(torch.nn, kind)(128, 128)
    x = images(torch, 50, 32, 128).requires_grad_()
    g = images(torch, 50, 32, 128)

    def step():
        x.grad = None
        model.zero_grad()
        out = model(x)[0]
        out.backward(g)
        return out
    return step


@row("lstm", "models", "LSTM 128, 50 steps, batch 32, forward and backward", 1.4, 1.0)
def lstm(torch):
    return recurrent(torch, "LSTM")


@row("gru", "models", "GRU 128, 50 steps, batch 32, forward and backward")
def gru(torch):
    return recurrent(torch, "GRU")
