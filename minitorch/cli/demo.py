"""The main job: train a small convolutional network on handwritten digits, and show what it learned.

    python -m minitorch demo
    python -m minitorch demo --device sim     # some steps on the CUDA simulator, beside the same on the CPU

The digits come with the package. Progress needs tqdm and the pictures matplotlib (extra ``demo``); without them the
training is the same, and the program says what is missing.
"""

import argparse
import time
from pathlib import Path

__all__ = ["main"]


def main(argv=None):
    args = parse(argv)
    import minitorch

    from .. import nn, optim

    minitorch.manual_seed(args.seed)
    train, test = load(args.data, args.root)
    if args.device.startswith("sim"):
        with minitorch.backends.cudnn.flags(allow_tf32=False):       # convolutions would round to 10 bits
            return side_by_side(train, args)
    model = network(nn, train[0].shape[-1]).to(args.device)
    count = sum(p.numel() for p in model.parameters())
    print(f"{len(train[0])} training and {len(test[0])} test images of {train[0].shape[-2]}x{train[0].shape[-1]} "
          f"pixels; a network of {count:,} parameters, on {args.device}")
    epochs = args.epochs or (3 if args.data == "mnist" else 15)
    optimizer = optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    batches = -(-len(train[0]) // args.batch_size)
    schedule = optim.lr_scheduler.OneCycleLR(optimizer, 4 * args.lr, total_steps=epochs * batches)
    started, history = time.perf_counter(), []
    for epoch in range(1, epochs + 1):
        losses = train_epoch(model, optimizer, schedule, train, args, f"epoch {epoch:2d}/{epochs}")
        accuracy = evaluate(model, test, args)
        history.append((losses, accuracy))
        print(f"epoch {epoch:2d}/{epochs}  loss {sum(losses) / len(losses):.4f}  test accuracy {accuracy:6.2%}")
    seconds = time.perf_counter() - started
    print(f"trained in {seconds:.1f} s, {len(train[0]) * epochs / seconds:,.0f} images a second")
    report(model, history, test, args)
    return 0


def parse(argv):
    parser = argparse.ArgumentParser("minitorch demo", description="Train a small convolutional network on digits.")
    parser.add_argument("--data", choices=["digits", "mnist"], default="digits",
                        help="the 8x8 digits that come with the package, or MNIST (downloaded)")
    parser.add_argument("--root", default="data", help="where downloaded data are kept")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, or sim: the CUDA kernels without a GPU")
    parser.add_argument("--steps", type=int, default=5, help="how many steps on sim, which is slow (default: 5)")
    parser.add_argument("--epochs", type=int, default=0, help="default: 15 for the digits, 3 for MNIST")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="demo_output", help="folder for the model and the pictures")
    args = parser.parse_args(argv)
    for name in ("batch_size", "lr"):
        if getattr(args, name) <= 0:
            parser.error(f"--{name.replace('_', '-')} must be positive")
    return args


def load(data, root):
    """(images (N, 1, H, W) from 0 to 1, labels (N,)) for training and for testing."""
    from .. import datasets
    if data == "digits":
        return datasets.Digits(train=True).tensors(), datasets.Digits(train=False).tensors()
    parts = [datasets.MNIST(root, train=train, download=True) for train in (True, False)]
    return [(part.data.unsqueeze(1).float() / 255, part.targets) for part in parts]


def network(nn, side, dropout=0.3):
    """Two convolutions and two linear layers; `side` is the height and width of the images."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(32 * (side // 2) ** 2, 64), nn.ReLU(),
        nn.Linear(64, 10))


def side_by_side(data, args):
    """Train on the simulator and on the CPU from the same start and say how far they differ; 1 if by too much.

    Without dropout: devices draw random numbers of their own. Losses and outputs may differ by a few roundings of
    float32, which grow from step to step.
    """
    import copy

    from .. import nn, optim
    count, steps = min(args.batch_size, 16), args.steps
    print(f"{steps} steps of {count} images on the processor and, kernel by kernel, on the CUDA simulator (the first "
          f"step compiles)")
    models = [network(nn, data[0].shape[-1], dropout=0.0)]
    models.append(copy.deepcopy(models[0]).to(args.device))
    optimizers = [optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01) for model in models]
    criterion, worst = nn.CrossEntropyLoss(), 0.0
    for step in range(steps):
        started = time.perf_counter()
        batch = [x[step * count:(step + 1) * count] for x in data]
        outputs, losses = [], []
        for model, optimizer, device in zip(models, optimizers, ("cpu", args.device)):
            images, labels = [x.to(device) for x in batch]
            optimizer.zero_grad()
            outputs.append(model(images))
            loss = criterion(outputs[-1], labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        difference = (outputs[0] - outputs[1].cpu()).abs().max().item() / outputs[0].abs().max().item()
        worst = max(worst, difference)
        print(f"step {step + 1}  loss {losses[0]:.6f} on cpu, {losses[1]:.6f} on {args.device}  outputs differ by "
              f"{difference:.1e}  ({time.perf_counter() - started:.1f} s)")
    agree = worst < 1e-3
    print("the two agree" if agree else f"the two do not agree: outputs differ by {worst:.1e} of the largest")
    return 0 if agree else 1


def train_epoch(model, optimizer, schedule, data, args, label):
    """One pass over the data in random order; the loss of each batch."""
    from .. import nn
    from ..utils.data import DataLoader, TensorDataset
    model.train()
    losses, criterion = [], nn.CrossEntropyLoss()
    for images, labels in progress(DataLoader(TensorDataset(*data), args.batch_size, shuffle=True), label):
        optimizer.zero_grad()
        loss = criterion(model(images.to(args.device)), labels.to(args.device))
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


def progress(batches, label):
    try:
        from tqdm import tqdm
    except ImportError:
        return batches
    return tqdm(batches, desc=label, unit="batch", leave=False)


def predict(model, images, args):
    """The class of each image."""
    import minitorch
    model.eval()
    with minitorch.no_grad():
        parts = [model(images[i:i + 512].to(args.device)).argmax(1).cpu() for i in range(0, len(images), 512)]
    return minitorch.cat(parts)


def evaluate(model, data, args):
    """The share of images that are classified rightly."""
    images, labels = data
    return (predict(model, images, args) == labels).float().mean().item()


def report(model, history, test, args):
    """Save the model and, with matplotlib, a picture of the losses and of some predictions."""
    import minitorch
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    path = out / "model.pt"
    minitorch.save(model.state_dict(), path)
    print(f"model:    {path}")
    try:
        picture = draw(model, history, test, args, out / "digits.png")
    except ImportError:
        print("pictures: matplotlib is not installed; `pip install matplotlib` to get them")
    else:
        print(f"pictures: {picture}")


def draw(model, history, test, args, path):
    """The losses and accuracies, and a grid of test images with their predictions, mistakes first."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    images, labels = test
    found = predict(model, images, args)
    order = ((found == labels).long()).argsort(stable=True)[:24]
    figure = plt.figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.2])
    axis = left.subplots()
    losses = [loss for epoch, _ in history for loss in epoch]
    axis.plot(losses, color="#1f4e79", linewidth=0.8, label="loss of a batch")
    axis.set(xlabel="step", ylabel="cross-entropy", yscale="log", title="training")
    twin = axis.twinx()
    steps = [(i + 1) * len(history[0][0]) for i in range(len(history))]
    twin.plot(steps, [accuracy for _, accuracy in history], color="#d55e00", marker="o", markersize=3,
              label="test accuracy")
    twin.set(ylim=(min(0.9, min(a for _, a in history)), 1.0), ylabel="test accuracy")
    axis.legend(handles=[*axis.lines, *twin.lines], loc="center right")
    cells = right.subplots(4, 6).ravel()
    right.suptitle("predictions on test images, mistakes in orange")
    for cell, i in zip(cells, order.tolist()):
        right_answer = found[i].item() == labels[i].item()
        cell.imshow(images[i, 0].numpy(), cmap="gray_r")
        text = f"{found[i].item()}" if right_answer else f"{found[i].item()} (is {labels[i].item()})"
        cell.set_title(text, fontsize=9, color="black" if right_answer else "#d55e00")
        cell.axis("off")
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path
