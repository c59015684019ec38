"""Programs for `torch.fx`, for either library: `programs(torch)` gives functions and modules with arguments."""

import operator


def checked(x):
    """A program with an assertion, in a module whose assertions pytest leaves as they are."""
    assert x.shape[0] == 2, "two rows"
    return x + 1


def programs(torch):
    """{name: (function or module, arguments)} over the library `torch`; traceable, all of them."""
    nn = torch.nn

    def operators(x, y):
        return -x + abs(x) * y - x @ y.T / 3 ** y % 2 // (y * y + 1) + 2 / (y + 3) + operator.iadd(x * 1, y)

    def comparisons(x, y):
        return ((x < y) & (x >= 0.5)) | ~(x != y) ^ (y > x) & (x <= y)

    def slices(x, y):
        return x[..., None, 1:, ::2].sum() + y[{"key": 0}["key"], [0, 1]] + x[y > 0].sum()

    def unpacked(x, y):
        a, b = x.chunk(2)
        values, places = torch.topk(y, 2)
        return (a + b).sum() + values.sum(), {"places": places, "nested": [(values, 1.5), slice(None)]}

    def dtypes(x, y):
        return x.to(torch.float64, copy=True).type(torch.int64) + torch.ones(3, dtype=torch.int32, device="cpu")

    def shapes(x, y):
        return x.view(x.shape[0] * x.size(1), -1).expand(-1, 2) * float("inf") + y.mean(dim=(0, 1), keepdim=True)

    def many(input, list=2.0):
        for i in range(11):
            input = input.add(i)
        add_1 = input + list
        return add_1 * add_1.clamp(min=0, max=3.5)

    def in_place(x, y):
        z = x.clone()
        z += y
        z.mul_(2)
        return torch.relu(z).add_(1)

    def joined(x, y):
        return torch.cat([x, y], dim=1), torch.stack((x, y)), torch.where(x > 0, x, y)

    def starred(x, *rest, scale: float = 2.0, **named):
        return x * scale

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.linear, self.norm = nn.Linear(width, width), nn.LayerNorm(width)
            self.scale = nn.Parameter(torch.full((width,), 0.5))
            self.register_buffer("shift", torch.ones(width))
            self.constant = torch.full((1,), 2.0)

        def forward(self, x):
            return (self.norm(self.linear(x)).tanh() * self.scale + self.shift) * self.constant

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.Sequential(Block(3), nn.Sequential(nn.ReLU(), Block(3)))
            self.heads = nn.ModuleList([nn.Linear(3, 2), nn.Linear(2, 4)])
            self.named = nn.ModuleDict({"out": nn.Linear(4, 1)})

        def forward(self, x: torch.Tensor, y=None, factor: float = 1.5) -> torch.Tensor:
            x = self.blocks(x)
            for head in self.heads:
                x = head(x)
            return self.named["out"](x).squeeze(-1) * factor

    torch.manual_seed(0)
    net = Net()
    x = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.25, -0.75]])
    y = torch.tensor([[1.0, 1.5, -0.5], [0.5, 2.0, 1.0]])
    square = x[:, :2], y[:, :2]
    found = {f.__name__: (f, (x, y)) for f in (slices, unpacked, dtypes, shapes, in_place, joined)}
    found |= {"operators": (operators, square), "comparisons": (comparisons, (x, y)), "many": (many, (x,)),
              "starred": (starred, (x,)), "net": (net, (x,))}
    return found
