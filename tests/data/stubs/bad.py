"""Ten mistakes, which type checkers find before the program is run."""

import minitorch as torch
from minitorch.nn import functional as F

x = torch.ones(2, 3)
torch.rnd(2, 3)                                            # mistake: no such function
x.summ()                                                   # mistake: no such method
x.sum(dimension=1)                                         # mistake: no such argument
torch.narrow(x, x, 0, 1)                                   # mistake: a tensor for an int
torch.sin("x")                                             # mistake: a string for a tensor
torch.matmul(x)                                            # mistake: an argument is missing
torch.nn.functional.relu(x, False, 3)                      # mistake: an argument too many
best = x.max(dim=1).value                                  # mistake: the field is called values
count: int = x.mean()                                      # mistake: a tensor is not an int
F.cross_entropy(x, x, reduction=torch.mean)                # mistake: a function for a string
