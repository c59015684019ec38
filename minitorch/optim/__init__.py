"""`minitorch.optim`: optimisers, learning-rate schedules and averaging of weights, spelt as in ``torch.optim``.

The optimisers are the names that the files here list in their ``__all__``; a new file needs a line here.
"""

# ruff: noqa: F401, F403

from . import lr_scheduler, swa_utils
from .adafactor import *
from .adam import *
from .adaptive import *
from .lbfgs import *
from .muon import *
from .optimizer import Optimizer, register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from .sgd import *
from .sparse_adam import *

__all__ = ["lr_scheduler", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "swa_utils"]
__all__ += [name for name, found in vars().items() if isinstance(found, type)]
