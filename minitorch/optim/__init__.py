"""`minitorch.optim`: optimisers, learning-rate schedules and averaging of weights, spelt as in ``torch.optim``.

`SparseAdam` is left out: there are no sparse tensors here.
"""

from . import lr_scheduler, swa_utils
from .adafactor import Adafactor
from .adam import Adam, Adamax, AdamW, NAdam, RAdam
from .adaptive import Adadelta, Adagrad, RMSprop, Rprop
from .lbfgs import LBFGS
from .muon import Muon
from .optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from .sgd import ASGD, SGD

__all__ = ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam",
           "Optimizer", "RAdam", "RMSprop", "Rprop", "SGD", "lr_scheduler", "register_optimizer_step_post_hook",
           "register_optimizer_step_pre_hook", "swa_utils"]
