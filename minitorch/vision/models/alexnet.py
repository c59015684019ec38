"""AlexNet, in the form of A. Krizhevsky, "One weird trick for parallelizing convolutional neural networks" (2014)."""

from ... import nn
from ._api import register_model

__all__ = ["AlexNet", "alexnet"]


class AlexNet(nn.Module):
    """Images (N, 3, H, W), H and W at least 63, to scores (N, num_classes)."""

    def __init__(self, num_classes=1000, dropout=0.5):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(True), nn.MaxPool2d(3, 2),
            nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(True), nn.MaxPool2d(3, 2),
            nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(True),
            nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(True),
            nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(True), nn.MaxPool2d(3, 2))
        self.avgpool = nn.AdaptiveAvgPool2d((6, 6))
        self.classifier = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(256 * 6 * 6, 4096), nn.ReLU(True),
            nn.Dropout(dropout), nn.Linear(4096, 4096), nn.ReLU(True), nn.Linear(4096, num_classes))

    def forward(self, x):
        """The scores."""
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


@register_model("AlexNet_Weights")
def alexnet(**options):
    """AlexNet."""
    return AlexNet(**options)
