"""``torch.utils.model_zoo``: the old place of `load_url`, which `hub` has as `load_state_dict_from_url`."""

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
