"""Workloads: `func.vmap` with gradients, after PyTorch's tutorials. The gate is the time that the project allows."""

from .rows import row

ROW = dict(gate=1.5, target=1.0)


@row("vmap/grad/2048", "transforms", "gradients of a linear model for each of 2,048 samples", **ROW)
def gradients(torch):
    torch.manual_seed(0)
    weight, x, y = torch.randn(32), torch.randn(2048, 32), torch.randn(2048)

    def loss(weight, x, y):
        return ((x @ weight).tanh() - y) ** 2
    each = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))
    return lambda: each(weight, x, y)


@row("vmap/grad/mlp", "transforms", "gradients of an MLP 64-64-10 for each of 256 samples", **ROW)
def mlp(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 10))
    return of_model(torch, model, torch.randn(256, 64))


@row("vmap/grad/cnn", "transforms", "gradients of a CNN for each of 64 images of 28x28", **ROW)
def cnn(torch):
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(),
                          nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 10))
    return of_model(torch, model, torch.randn(64, 1, 28, 28))


def of_model(torch, model, x):
    """A step that computes the gradients of a classifier's loss for each of the samples `x`."""
    params = {k: p.detach() for k, p in model.named_parameters()}
    labels = torch.randint(0, 10, (len(x),))

    def loss(params, x, label):
        out = torch.func.functional_call(model, params, (x.unsqueeze(0),))
        return torch.nn.functional.cross_entropy(out, label.unsqueeze(0))
    each = torch.func.vmap(torch.func.grad(loss), (None, 0, 0))
    return lambda: each(params, x, labels)


@row("vmap/hessian", "transforms", "Hessians of an MLP 16-16-1 in its input for each of 8 samples", **ROW)
def hessians(torch):
    torch.manual_seed(0)
    first, second, x = torch.randn(16, 16), torch.randn(16), torch.randn(8, 16)

    def f(x):
        return (first @ x).tanh() @ second
    each = torch.func.vmap(torch.func.hessian(f))
    return lambda: each(x)


@row("jacrev/256", "transforms", "Jacobian of 256 outputs by 256 inputs, backwards", **ROW)
def jacobian(torch):
    torch.manual_seed(0)
    weight, x = torch.randn(256, 256), torch.randn(256)
    of_x = torch.func.jacrev(lambda x: (weight @ x).sin())
    return lambda: of_x(x)


@row("vmap/ensemble", "transforms", "10 MLPs 784-128-10 at once, batch 64", **ROW)
def ensemble(torch):
    torch.manual_seed(0)
    models = [torch.nn.Sequential(torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
              for _ in range(10)]
    params, buffers = torch.func.stack_module_state(models)
    params = {k: p.detach() for k, p in params.items()}
    x = torch.randn(64, 784)
    each = torch.func.vmap(lambda p, b, x: torch.func.functional_call(models[0], (p, b), (x,)), (0, 0, None))
    return lambda: each(params, buffers, x)
