"""``torch.utils.deterministic``: a switch for programs that set it. New memory is not filled here."""

fill_uninitialized_memory = True
