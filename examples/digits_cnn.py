"""A convolutional network classifies handwritten digits, as in PyTorch's 60-minute blitz.

What it shows: a module of your own, DataLoader, SGD with momentum, evaluation by class, saving and
loading a model.

    python -m minitorch examples/digits_cnn.py      (or with PyTorch: python examples/digits_cnn.py)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from common import digits, options, progress, pyplot, save
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 2 * 2, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = F.relu(self.fc1(x))
        return self.fc2(x)


def train(net, loader, epochs):
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    bar = progress(range(epochs), unit="epoch")
    for _ in bar:
        running_loss = 0.0
        for inputs, labels in loader:
            optimizer.zero_grad()
            loss = criterion(net(inputs), labels)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
        bar.show(running_loss / len(loader))
    return bar.summary()


def confusion(net, loader):
    """How often an image of digit i is classified as digit j, (10, 10)."""
    counts = torch.zeros(10, 10, dtype=torch.long)
    net.eval()
    with torch.no_grad():
        for images, labels in loader:
            _, predicted = torch.max(net(images), 1)
            counts += torch.bincount(labels * 10 + predicted, minlength=100).view(10, 10)
    return counts


def main():
    args = options(__doc__, epochs=15)
    trainloader = DataLoader(TensorDataset(*digits(train=True)), batch_size=32, shuffle=True)
    testloader = DataLoader(TensorDataset(*digits(train=False)), batch_size=256)
    net = Net()
    losses = train(net, trainloader, args.epochs)

    args.out.mkdir(parents=True, exist_ok=True)
    torch.save(net.state_dict(), args.out / "digits_cnn.pt")
    net = Net()
    net.load_state_dict(torch.load(args.out / "digits_cnn.pt", weights_only=True))

    counts = confusion(net, testloader)
    print(f"test accuracy: {counts.diag().sum() / counts.sum():.2%}")
    for digit, row in enumerate(counts):
        print(f"  digit {digit}: {row[digit] / row.sum():6.1%} of {row.sum().item()}")

    if plt := pyplot(args):
        figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
        left.plot(losses, marker="o")
        left.set(xlabel="epoch", ylabel="cross-entropy", yscale="log", title="training")
        right.imshow(counts, cmap="Blues", vmax=5)
        right.set(xlabel="predicted", ylabel="digit", xticks=range(10), yticks=range(10), title="test images")
        for i, j in counts.nonzero().tolist():
            right.text(j, i, counts[i, j].item(), ha="center", va="center", color="white" if i == j else "black")
        save(figure, args, "digits_cnn.png")


if __name__ == "__main__":
    main()
