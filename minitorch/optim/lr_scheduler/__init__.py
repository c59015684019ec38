"""Learning-rate schedules, spelt as in ``torch.optim.lr_scheduler``.

base.py is what all share, decay.py has the ones that a short formula defines, cycles.py those that go up and down,
plateau.py the one that watches a metric, compose.py those that combine others.
"""

from .base import LRScheduler
from .compose import ChainedScheduler, SequentialLR
from .cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .decay import ConstantLR, ExponentialLR, LambdaLR, LinearLR, MultiplicativeLR, MultiStepLR, PolynomialLR, StepLR
from .plateau import ReduceLROnPlateau

_LRScheduler = LRScheduler       # its name before PyTorch 2.0, still in use

__all__ = ["ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
           "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR",
           "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR"]
