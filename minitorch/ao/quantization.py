"""``torch.ao.quantization``: marks in models where quantised values would begin and end, which compute nothing.

Models carry `QuantStub` and `DeQuantStub` whether they are quantised or not; before `prepare` and `convert` they pass
their input on, in PyTorch too. Quantising itself is not there: NotImplementedError.
"""

from ..nn import Module

__all__ = ["DeQuantStub", "FakeQuantizeBase", "ObserverBase", "QuantStub", "QuantWrapper",
           "convert", "get_default_qconfig", "prepare",
           "prepare_qat", "quantize", "quantize_dynamic"]


class QuantStub(Module):
    """Passes its input on; where a quantised model begins to compute with small integers."""

    def __init__(self, qconfig=None):
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x):
        return x


class DeQuantStub(QuantStub):
    """Passes its input on; where a quantised model returns to floats."""


class QuantWrapper(Module):
    """A module between a `QuantStub` and a `DeQuantStub`."""

    def __init__(self, module):
        super().__init__()
        self.add_module("quant", QuantStub(getattr(module, "qconfig", None)))
        self.add_module("dequant", DeQuantStub())
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X):
        return self.dequant(self.module(self.quant(X)))


def quantize(*args, **kwargs):
    """NotImplementedError: there are no quantised tensors."""
    raise NotImplementedError("there are no quantised tensors: run the model in float32, or in bfloat16 by "
                              "model.to(torch.bfloat16)")


class ObserverBase(Module):
    """The base of observers of values in PyTorch; making one raises NotImplementedError."""

    def __init__(self, *args, **kwargs):
        quantize()


class FakeQuantizeBase(Module):
    """The base of modules that imitate quantised values in PyTorch; making one raises
    NotImplementedError."""

    def __init__(self, *args, **kwargs):
        quantize()


convert = prepare = prepare_qat = quantize_dynamic = get_default_qconfig = quantize
