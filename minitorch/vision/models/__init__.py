"""Models of images under torchvision's names: constructors, classes, enumerations of weights, keys of state dicts.

>>> from minitorch.vision import models
>>> model = models.squeezenet1_1(num_classes=10)
>>> len(models.list_models())
54

`weights=` loads torchvision's published weights, from the cache or over the network.
"""

from . import (
               alexnet,
               convnext,
               densenet,
               efficientnet,
               mobilenetv2,
               mobilenetv3,
               resnet,
               squeezenet,
               swin_transformer,
               vgg,
               vision_transformer,
)
from ._api import (
               Weights,
               WeightsEnum,
               constructors,
               get_model,
               get_model_builder,
               get_model_weights,
               get_weight,
               list_models,
               weights_class,
)

mobilenet = mobilenetv3
MODULES = (alexnet, convnext, densenet, efficientnet, mobilenetv2, mobilenetv3, resnet, squeezenet, swin_transformer,
           vgg, vision_transformer)
globals().update({name: getattr(module, name) for module in MODULES for name in module.__all__})
globals().update({f.weights: weights_class(f.weights) for f in constructors.values()})

__all__ = ["Weights", "WeightsEnum", "get_model", "get_model_builder", "get_model_weights", "get_weight", "list_models",
           *sorted({name for module in MODULES for name in module.__all__}),
           *sorted({f.weights for f in constructors.values()})]
