"""The run doctor: `watch` listens to a training loop, `seen` keeps what was seen, `rules` say what is wrong, `blame`
finds where numbers stopped being numbers.
"""
