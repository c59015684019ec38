"""A residual network, as for CIFAR but narrower, on handwritten digits shifted at random.

What it shows: residual blocks built in a loop, your own initialisation, batch norm in training and
evaluation, label smoothing, Nesterov momentum with weight decay, a one-cycle schedule. After He,
Zhang, Ren and Sun, Deep Residual Learning for Image Recognition (2016).

    python -m minitorch examples/resnet.py      (or with PyTorch: python examples/resnet.py)
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import digits, options, progress, pyplot, save
from torch.utils.data import DataLoader, Dataset


class ShiftedDigits(Dataset):
    """The digits, each time shifted by up to one pixel in both directions."""

    def __init__(self):
        images, self.labels = digits(train=True)
        self.padded = F.pad(images, (1, 1, 1, 1))

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        down, right = torch.randint(3, (2,)).tolist()
        return self.padded[index, :, down:down + 8, right:right + 8], self.labels[index]


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(nn.Conv2d(in_planes, planes, 1, stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, num_blocks, width=12, num_classes=10):
        super().__init__()
        self.in_planes = width
        self.conv1 = nn.Conv2d(1, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.layer1 = self._make_layer(width, num_blocks[0], stride=1)
        self.layer2 = self._make_layer(width * 2, num_blocks[1], stride=2)
        self.layer3 = self._make_layer(width * 4, num_blocks[2], stride=2)
        self.linear = nn.Linear(width * 4, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def _make_layer(self, planes, num_blocks, stride):
        layers = []
        for i in range(num_blocks):
            layers.append(BasicBlock(self.in_planes, planes, stride if i == 0 else 1))
            self.in_planes = planes
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer3(self.layer2(self.layer1(out)))
        out = F.adaptive_avg_pool2d(out, 1).flatten(1)
        return self.linear(out)


def evaluate(model, images, labels):
    model.eval()
    with torch.no_grad():
        return (model(images).argmax(1) == labels).float().mean().item()


def main():
    args = options(__doc__, epochs=12, blocks=2)
    loader = DataLoader(ShiftedDigits(), batch_size=64, shuffle=True, drop_last=True)
    test = digits(train=False)
    model = ResNet([args.blocks] * 3)
    print(f"{6 * args.blocks + 2} layers, {sum(p.numel() for p in model.parameters()):,} parameters")
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, epochs=args.epochs, steps_per_epoch=len(loader))
    rates, accuracies, bar = [], [], progress(range(args.epochs), unit="epoch")
    for _ in bar:
        model.train()
        total = 0.0
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            loss.backward()
            optimizer.step()
            rates.append(scheduler.get_last_lr()[0])
            scheduler.step()
            total += loss.item()
        accuracies.append(evaluate(model, *test))
        bar.show(total / len(loader), test=f"{accuracies[-1]:.1%}")
    losses = bar.summary()
    print(f"test accuracy: {accuracies[-1]:.2%}")
    if plt := pyplot(args):
        figure, axes = plt.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
        for axis, values, title in zip(axes, [losses, accuracies, rates], ["loss", "test accuracy", "learning rate"]):
            axis.plot(values)
            axis.set(title=title, xlabel="step" if values is rates else "epoch")
        save(figure, args, "resnet.png")


if __name__ == "__main__":
    main()
