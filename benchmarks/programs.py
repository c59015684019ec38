"""Whole programs beside PyTorch: ``python -m benchmarks.programs [PATTERN] [--seconds N]``.

Small loops as lessons write them, Python's own work included, and networks of images, each a few steps of training.
Writes benchmarks/results/programs.json: for each row the medians of the ratios of processor time, one thread each.
"""

from pathlib import Path

from .models import basic_block, images, labels, training_step
from .native import compare, options
from .rows import row

RESULTS = Path(__file__).with_name("results") / "programs.json"
# Ratios to PyTorch that eager calls must reach (issue 16)
GATES = dict.fromkeys(["program/count_table", "program/bigram", "program/char_mlp", "program/batch_norm_mlp",
                       "program/makemore", "program/micro_gpt", "program/reinforce", "program/resnet18/8x64",
                       "program/resnet18/2x224", "program/vgg11/8x64", "program/unet", "program/ddpm",
                       "program/dcgan"], 1.5)
LETTERS = 26


def words(count):
    """Names of a kind: `count` lists of numbers from 1 to 26, the same on every library."""
    import random
    draw = random.Random(1)
    return [[draw.randint(1, LETTERS) for _ in range(draw.randint(3, 9))] for _ in range(count)]


def contexts(torch, length, count=500):
    xs, ys = [], []
    for word in words(count):
        context = [0] * length
        for letter in [*word, 0]:
            xs.append(context)
            ys.append(letter)
            context = [*context[1:], letter]
    return torch.tensor(xs), torch.tensor(ys)


@row("program/count_table", "programs", "bigrams counted, sampled and scored, element by element")
def count_table(torch):
    names = words(60)

    def program():
        counts = torch.zeros((27, 27), dtype=torch.int32)
        for word in names:
            for a, b in zip([0, *word], [*word, 0]):
                counts[a, b] += 1
        probabilities = (counts + 1).float()
        probabilities /= probabilities.sum(1, keepdims=True)
        generator = torch.Generator().manual_seed(2147483647)
        for _ in range(5):
            letter = 0
            for _ in range(20):
                p = probabilities[letter]
                letter = torch.multinomial(p, num_samples=1, replacement=True, generator=generator).item()
        total, n = 0.0, 0
        for word in names[:30]:
            for a, b in zip([0, *word], [*word, 0]):
                total += torch.log(probabilities[a, b])
                n += 1
        return f"{-total / n}"
    return program


@row("program/bigram", "programs", "bigram network of one-hot rows and a softmax written out")
def bigram(torch):
    xs, ys = contexts(torch, 1, 60)
    xs = xs[:, 0]
    generator = torch.Generator().manual_seed(2147483647)
    weights = torch.randn((27, 27), generator=generator, requires_grad=True)

    def program():
        encoded = torch.nn.functional.one_hot(xs, num_classes=27).float()
        for _ in range(10):
            logits = encoded @ weights
            powers = logits.exp()
            probabilities = powers / powers.sum(1, keepdims=True)
            loss = -probabilities[torch.arange(len(xs)), ys].log().mean() + 0.01 * (weights**2).mean()
            weights.grad = None
            loss.backward()
            weights.data += -1 * weights.grad
        letter, out = 0, []
        for _ in range(10):
            row_of = torch.nn.functional.one_hot(torch.tensor([letter]), num_classes=27).float()
            powers = (row_of @ weights).exp()
            p = powers / powers.sum(1, keepdims=True)
            letter = torch.multinomial(p, num_samples=1, replacement=True, generator=generator).item()
            out.append(letter)
        return loss.item()
    return program


@row("program/char_mlp", "programs", "MLP over three letters, parameters in a list, batch 32")
def char_mlp(torch):
    F = torch.nn.functional
    xs, ys = contexts(torch, 3)
    g = torch.Generator().manual_seed(2147483647)
    table, w1, b1 = (torch.randn(shape, generator=g) for shape in ((27, 10), (30, 200), (200,)))
    w2, b2 = torch.randn((200, 27), generator=g) * 0.01, torch.randn(27, generator=g) * 0
    parameters = [table, w1, b1, w2, b2]
    for p in parameters:
        p.requires_grad = True

    def program():
        for i in range(10):
            chosen = torch.randint(0, xs.shape[0], (32,), generator=g)
            hidden = torch.tanh(table[xs[chosen]].view(-1, 30) @ w1 + b1)
            loss = F.cross_entropy(hidden @ w2 + b2, ys[chosen])
            for p in parameters:
                p.grad = None
            loss.backward()
            rate = 0.1 if i < 8 else 0.01
            for p in parameters:
                p.data += -rate * p.grad
        return loss.log10().item()
    return program


@row("program/batch_norm_mlp", "programs", "the same with layers and a batch norm of its own")
def batch_norm_mlp(torch):
    F = torch.nn.functional
    xs, ys = contexts(torch, 3)
    g = torch.Generator().manual_seed(2147483647)

    class Linear:
        def __init__(self, n, m):
            self.weight, self.bias = torch.randn((n, m), generator=g) / n**0.5, torch.zeros(m)

        def __call__(self, x):
            return x @ self.weight + self.bias

        def parameters(self):
            return [self.weight, self.bias]

    class BatchNorm1d:
        def __init__(self, dim):
            self.gamma, self.beta = torch.ones(dim), torch.zeros(dim)
            self.running_mean, self.running_var = torch.zeros(dim), torch.ones(dim)

        def __call__(self, x):
            mean, var = x.mean(0, keepdim=True), x.var(0, keepdim=True)
            out = self.gamma * ((x - mean) / torch.sqrt(var + 1e-5)) + self.beta
            with torch.no_grad():
                self.running_mean = 0.9 * self.running_mean + 0.1 * mean
                self.running_var = 0.9 * self.running_var + 0.1 * var
            return out

        def parameters(self):
            return [self.gamma, self.beta]

    class Tanh:
        def __call__(self, x):
            return torch.tanh(x)

        def parameters(self):
            return []
    table = torch.randn((27, 10), generator=g)
    layers = [Linear(30, 100), BatchNorm1d(100), Tanh(), Linear(100, 100), BatchNorm1d(100), Tanh(), Linear(100, 27),
              BatchNorm1d(27)]
    parameters = [table] + [p for layer in layers for p in layer.parameters()]
    for p in parameters:
        p.requires_grad = True

    def program():
        for _ in range(5):
            chosen = torch.randint(0, xs.shape[0], (32,), generator=g)
            x = table[xs[chosen]].view(-1, 30)
            for layer in layers:
                x = layer(x)
            loss = F.cross_entropy(x, ys[chosen])
            for p in parameters:
                p.grad = None
            loss.backward()
            for p in parameters:
                p.data += -0.1 * p.grad
        return loss.item()
    return program


@row("program/makemore", "programs", "Transformer over names: Dataset, DataLoader, modules, AdamW, batch 32")
def makemore(torch):
    nn, F = torch.nn, torch.nn.functional
    names, width, longest = words(500), 32, 10

    class Names(torch.utils.data.Dataset):
        def __len__(self):
            return len(names)

        def __getitem__(self, index):
            encoded = torch.tensor(names[index], dtype=torch.long)
            x, y = torch.zeros(longest, dtype=torch.long), torch.zeros(longest, dtype=torch.long)
            x[1:1 + len(encoded)] = encoded
            y[:len(encoded)] = encoded
            y[len(encoded) + 1:] = -1
            return x, y

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.letters, self.places = nn.Embedding(27, width), nn.Embedding(longest, width)
            self.blocks = nn.ModuleList(written_block(torch, width, 4, longest) for _ in range(2))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 27, bias=False)

        def forward(self, x, y):
            h = self.letters(x) + self.places(torch.arange(x.shape[1]).unsqueeze(0))
            for block in self.blocks:
                h = block(h)
            logits = self.head(self.norm(h))
            return F.cross_entropy(logits.view(-1, logits.size(-1)), y.view(-1), ignore_index=-1)
    torch.manual_seed(0)
    model, data = Model(), Names()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.01, betas=(0.9, 0.99), eps=1e-8)
    sampler = torch.utils.data.RandomSampler(data, replacement=True, num_samples=10**6)
    batches = iter(torch.utils.data.DataLoader(data, sampler=sampler, batch_size=32))

    def program():
        for _ in range(3):
            x, y = next(batches)
            loss = model(x, y)
            model.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        return loss.item()
    return program


def written_block(torch, width, heads, context):
    """A block whose attention is written out, as in makemore and nanoGPT."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.register_buffer("mask", torch.tril(torch.ones(context, context)).view(1, 1, context, context))

        def attend(self, x):
            n, t, c = x.size()
            q, k, v = (z.view(n, t, heads, c // heads).transpose(1, 2) for z in self.qkv(x).split(c, dim=2))
            scores = (q @ k.transpose(-2, -1)) * (1.0 / k.size(-1)**0.5)
            scores = F.softmax(scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf")), dim=-1)
            return self.proj((scores @ v).transpose(1, 2).contiguous().view(n, t, c))

        def forward(self, x):
            x = x + self.attend(self.norm1(x))
            h = self.up(self.norm2(x))
            h = 0.5 * h * (1.0 + torch.tanh((2 / 3.141592653589793)**0.5 * (h + 0.044715 * torch.pow(h, 3.0))))
            return x + self.down(h)
    return Block()


@row("program/micro_gpt", "programs", "letters generated one at a time by a small GPT")
def micro_gpt(torch):
    nn, F = torch.nn, torch.nn.functional
    torch.manual_seed(0)
    letters, places = nn.Embedding(27, 32), nn.Embedding(16, 32)
    blocks, head = nn.Sequential(*[written_block(torch, 32, 4, 16) for _ in range(2)]), nn.Linear(32, 27)

    @torch.no_grad()
    def program():
        tokens = torch.zeros((1, 1), dtype=torch.long)
        for _ in range(20):
            seen = tokens if tokens.size(1) <= 16 else tokens[:, -16:]
            logits = head(blocks(letters(seen) + places(torch.arange(seen.size(1)))))[:, -1, :] / 0.9
            v, _ = torch.topk(logits, 10)
            logits[logits < v[:, [-1]]] = -float("inf")
            tokens = torch.cat((tokens, torch.multinomial(F.softmax(logits, dim=-1), num_samples=1)), dim=1)
        return [int(i) for i in tokens[0]]
    return program


@row("program/reinforce", "programs", "policy gradient, one state at a time, Categorical")
def reinforce(torch):
    nn = torch.nn
    torch.manual_seed(0)
    policy = nn.Sequential(nn.Linear(4, 128), nn.Dropout(0.6), nn.ReLU(), nn.Linear(128, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    import numpy as np
    states = np.random.default_rng(0).standard_normal((20, 4))

    def program():
        kept, rewards = [], []
        for state in states:
            p = torch.softmax(policy(torch.from_numpy(state).float().unsqueeze(0)), dim=1)
            drawn = torch.distributions.Categorical(p)
            action = drawn.sample()
            kept.append(drawn.log_prob(action))
            rewards.append(1.0 + action.item())
        total, returns = 0.0, []
        for r in reversed(rewards):
            total = r + 0.99 * total
            returns.insert(0, total)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        loss = torch.cat([-k * r for k, r in zip(kept, returns)]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()
    return program


def resnet18(torch, batch, size):
    """ResNet-18: K. He et al., 2015."""
    nn = torch.nn
    torch.manual_seed(0)
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for n, m in ((64, 64), (64, 128), (128, 256), (256, 512)):
        layers += [basic_block(torch, n, m, 1 if n == m else 2), basic_block(torch, m, m)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    return training_step(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4),
                         nn.CrossEntropyLoss(), images(torch, batch, 3, size, size), labels(torch, batch, 1000))


@row("program/resnet18/8x64", "programs", "ResNet-18 on 64x64, SGD with momentum, batch 8")
def resnet18_small(torch):
    return resnet18(torch, 8, 64)


@row("program/resnet18/2x224", "programs", "ResNet-18 on 224x224, SGD with momentum, batch 2")
def resnet18_large(torch):
    return resnet18(torch, 2, 224)


@row("program/vgg11/8x64", "programs", "VGG-11 on 64x64 with small linear layers, SGD, batch 8")
def vgg11(torch):
    nn = torch.nn
    torch.manual_seed(0)
    layers, n = [], 3
    for m in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
        if m:
            layers += [nn.Conv2d(n, m, 3, padding=1), nn.ReLU(inplace=True)]
            n = m
        else:
            layers.append(nn.MaxPool2d(2))
    model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 512), nn.ReLU(True), nn.Dropout(), nn.Linear(512, 10))
    return training_step(model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), nn.CrossEntropyLoss(),
                         images(torch, 8, 3, 64, 64), labels(torch, 8, 10))


@row("program/unet", "programs", "U-Net of double convolutions with group norm, 64x64, Adam, batch 4")
def unet(torch):
    nn = torch.nn
    torch.manual_seed(0)

    def double(n, m):
        return nn.Sequential(nn.Conv2d(n, m, 3, padding=1), nn.GroupNorm(4, m), nn.ReLU(),
                             nn.Conv2d(m, m, 3, padding=1), nn.GroupNorm(4, m), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self, widths=(16, 32, 64)):
            super().__init__()
            a, b, c = widths
            self.down1, self.down2, self.bottom = double(1, a), double(a, b), double(b, c)
            self.pool = nn.MaxPool2d(2)
            self.up2, self.join2 = nn.ConvTranspose2d(c, b, 2, 2), double(2 * b, b)
            self.up1, self.join1 = nn.ConvTranspose2d(b, a, 2, 2), double(2 * a, a)
            self.head = nn.Conv2d(a, 1, 1)

        def forward(self, x):
            first = self.down1(x)
            second = self.down2(self.pool(first))
            x = self.up2(self.bottom(self.pool(second)))
            x = self.join2(torch.cat([x, second], dim=1))
            return self.head(self.join1(torch.cat([self.up1(x), first], dim=1)))
    model = UNet()
    return training_step(model, torch.optim.Adam(model.parameters(), lr=1e-3), nn.BCEWithLogitsLoss(),
                         images(torch, 4, 1, 64, 64), (images(torch, 4, 1, 64, 64) > 0).float())


@row("program/ddpm", "programs", "diffusion U-Net: time embedding, SiLU, group norm, attention, 32x32, batch 4")
def ddpm(torch):
    nn = torch.nn
    torch.manual_seed(0)
    width = 32

    class Residual(nn.Module):
        def __init__(self, n, m):
            super().__init__()
            self.norm1, self.conv1 = nn.GroupNorm(8, n), nn.Conv2d(n, m, 3, padding=1)
            self.time, self.act = nn.Linear(4 * width, m), nn.SiLU()
            self.norm2, self.conv2 = nn.GroupNorm(8, m), nn.Conv2d(m, m, 3, padding=1)
            self.dropout, self.shortcut = nn.Dropout(0.1), nn.Identity() if n == m else nn.Conv2d(n, m, 1)

        def forward(self, x, t):
            h = self.conv1(self.act(self.norm1(x))) + self.time(self.act(t))[:, :, None, None]
            return self.conv2(self.dropout(self.act(self.norm2(h)))) + self.shortcut(x)

    class Attention(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.norm, self.projection, self.output = nn.GroupNorm(8, n), nn.Linear(n, 3 * n), nn.Linear(n, n)

        def forward(self, x):
            b, c, h, w = x.shape
            seen = self.norm(x).view(b, c, -1).permute(0, 2, 1)
            q, k, v = torch.chunk(self.projection(seen).view(b, -1, 1, 3 * c), 3, dim=-1)
            weights = (torch.einsum("bihd,bjhd->bijh", q, k) * c**-0.5).softmax(dim=2)
            seen = torch.einsum("bijh,bjhd->bihd", weights, v).reshape(b, -1, c)
            return x + self.output(seen).permute(0, 2, 1).view(b, c, h, w)

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.time = nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, 4 * width))
            self.first = nn.Conv2d(3, width, 3, padding=1)
            self.down1, self.smaller = Residual(width, width), nn.Conv2d(width, width, 3, 2, 1)
            self.down2, self.seen = Residual(width, 2 * width), Attention(2 * width)
            self.middle, self.larger = Residual(2 * width, 2 * width), nn.ConvTranspose2d(2 * width, width, 4, 2, 1)
            self.up, self.last = Residual(2 * width, width), nn.Conv2d(width, 3, 3, padding=1)

        def forward(self, x, t):
            scale = torch.exp(torch.arange(width // 2) * -(9.2 / (width // 2 - 1)))
            t = t[:, None] * scale[None, :]
            t = self.time(torch.cat((t.sin(), t.cos()), dim=1))
            x = self.first(x)
            skip = self.down1(x, t)
            x = self.middle(self.seen(self.down2(self.smaller(skip), t)), t)
            return self.last(self.up(torch.cat((self.larger(x), skip), dim=1), t))
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-5)
    x0, kept = images(torch, 4, 3, 32, 32), torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), dim=0)

    def program():
        t = torch.randint(0, 1000, (4,))
        noise = torch.randn_like(x0)
        kept_now = kept.gather(-1, t).reshape(-1, 1, 1, 1)
        noisy = kept_now**0.5 * x0 + (1 - kept_now)**0.5 * noise
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(noise, model(noisy, t))
        loss.backward()
        optimizer.step()
        return loss
    return program


@row("program/dcgan", "programs", "DCGAN on 32x32, two optimisers, batch 16")
def dcgan(torch):
    nn = torch.nn
    torch.manual_seed(0)
    n = 32
    maker = nn.Sequential(nn.ConvTranspose2d(64, 4 * n, 4, 1, 0, bias=False), nn.BatchNorm2d(4 * n), nn.ReLU(True),
                          nn.ConvTranspose2d(4 * n, 2 * n, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * n), nn.ReLU(True),
                          nn.ConvTranspose2d(2 * n, n, 4, 2, 1, bias=False), nn.BatchNorm2d(n), nn.ReLU(True),
                          nn.ConvTranspose2d(n, 3, 4, 2, 1, bias=False), nn.Tanh())
    judge = nn.Sequential(nn.Conv2d(3, n, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
                          nn.Conv2d(n, 2 * n, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * n), nn.LeakyReLU(0.2, True),
                          nn.Conv2d(2 * n, 4 * n, 4, 2, 1, bias=False), nn.BatchNorm2d(4 * n), nn.LeakyReLU(0.2, True),
                          nn.Conv2d(4 * n, 1, 4, 1, 0, bias=False), nn.Sigmoid(), nn.Flatten(0))
    criterion, real = nn.BCELoss(), images(torch, 16, 3, 32, 32)
    optimizers = [torch.optim.Adam(net.parameters(), lr=2e-4, betas=(0.5, 0.999)) for net in (maker, judge)]

    def program():
        judge.zero_grad()
        ones, zeros = torch.full((16,), 1.0), torch.full((16,), 0.0)
        criterion(judge(real), ones).backward()
        fake = maker(torch.randn(16, 64, 1, 1))
        criterion(judge(fake.detach()), zeros).backward()
        optimizers[1].step()
        maker.zero_grad()
        loss = criterion(judge(fake), ones)
        loss.backward()
        optimizers[0].step()
        return loss
    return program


def main():
    compare(options(__doc__), GATES, GATES, {"eager": "minitorch"}, RESULTS)


if __name__ == "__main__":
    main()
