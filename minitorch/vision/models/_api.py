"""Constructors of models and their trained weights: `get_model`, `list_models`, enumerations of weights."""

import enum
import fnmatch
import functools
import json
import warnings
from dataclasses import dataclass, field
from pathlib import Path

from ...hub import load_state_dict_from_url
from ..presets import ImageClassification

__all__ = ["Weights", "WeightsEnum", "get_model", "get_model_builder", "get_model_weights", "get_weight", "list_models",
           "register_model"]

constructors: dict = {}                                    # name -> constructor
HERE = Path(__file__).parent


@dataclass
class Weights:
    """Trained weights: where they are, the transform of images that they expect, and facts about them."""

    url: str
    transforms: object
    meta: dict = field(default_factory=dict)

    def __hash__(self):
        return hash(self.url)


class WeightsEnum(enum.Enum):
    """The trained weights of one model; `DEFAULT` is the best."""

    @classmethod
    def verify(cls, obj):
        """The member for a member, its name (also with the class, ``"ResNet18_Weights.DEFAULT"``), or None. TypeError
        for others, ValueError for an unknown name."""
        if obj is None or isinstance(obj, cls):
            return obj
        if not isinstance(obj, str):
            raise TypeError(f"Invalid Weight class provided; expected {cls.__name__} but received "
                            f"{type(obj).__name__}.")
        name = obj.removeprefix(f"{cls.__name__}.")
        if name not in cls.__members__:
            raise ValueError(f"{obj!r} is not a member of {cls.__name__}: "
                             f"there are {', '.join(cls.__members__)}")
        return cls[name]

    def get_state_dict(self, *args, **kwargs):
        """The weights, loaded from the cache, or over the network (see `hub.load_state_dict_from_url`)."""
        return load_state_dict_from_url(self.url, *args, **kwargs)

    def __repr__(self):
        return f"{type(self).__name__}.{self.name}"

    url = property(lambda self: self.value.url)
    transforms = property(lambda self: self.value.transforms)
    meta = property(lambda self: self.value.meta)


@functools.cache
def table():
    """The published weights: {class: {member: facts, "DEFAULT": member}}, from `weights.json`."""
    return json.loads((HERE / "weights.json").read_text(encoding="utf-8"))


@functools.cache
def categories():
    """The 1,000 classes of ImageNet-1K, in the order of the models' results."""
    return (HERE / "imagenet_classes.txt").read_text(encoding="utf-8").splitlines()


@functools.cache
def weights_class(name):
    """The enumeration of that name, such as ``ResNet18_Weights``."""
    members = {}
    for member, facts in table()[name].items():
        if member == "DEFAULT":
            continue
        meta = {key: facts[key] for key in ("num_params", "min_size")}
        accuracy = {key: facts[key] for key in ("acc@1", "acc@5")}
        meta.update(categories=categories(), _metrics={"ImageNet-1K": accuracy})
        members[member] = Weights(facts["url"], functools.partial(ImageClassification, **facts["transform"]), meta)
    members["DEFAULT"] = members[table()[name]["DEFAULT"]]
    return WeightsEnum(name, members, module=__name__)


# ------------------------------------------------------------------ constructors
def register_model(weights):
    """Decorator of a constructor ``f(**options)``: gives it `weights`, `progress` and the older `pretrained`, and
    enters it in the list. `weights` names the enumeration."""
    def enter(function):
        @functools.wraps(function)
        def construct(pretrained=None, progress=True, *, weights=None, **options):
            kind = weights_class(construct.weights)
            if pretrained is not None:
                if isinstance(pretrained, bool):
                    warnings.warn(f"the parameter 'pretrained' is deprecated, write weights="
                                  f"{kind.__name__ + '.DEFAULT' if pretrained else None} instead", stacklevel=2)
                    pretrained = "DEFAULT" if pretrained else None
                weights = pretrained
            weights = kind.verify(weights)
            if weights is None:
                return function(**options)
            count = len(weights.meta["categories"])
            if options.setdefault("num_classes", count) != count:
                raise ValueError(f"The parameter 'num_classes' expected value {count} but got "
                                 f"{options['num_classes']} instead.")
            model = function(**options)
            model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
            return model
        construct.weights = weights
        construct.__doc__ = (f"{function.__doc__}\n\n    `weights`: a member of `{weights}`, its name, or None for "
                             f"random ones; `progress` shows a bar\n    while they are loaded. Other arguments are the "
                             f"model's.\n    ")
        del construct.__wrapped__
        constructors[function.__name__] = construct
        function.__globals__[weights] = weights_class(weights)
        return construct
    return enter


def list_models(module=None, include=None, exclude=None):
    """The names of all models, sorted; of one module, and those that match the patterns (or one) `include` and none of
    `exclude`, if given."""
    def matching(patterns):
        patterns = [patterns] if isinstance(patterns, str) else patterns
        return {n for n in names for p in patterns if fnmatch.fnmatch(n, p)}
    names = {n for n, f in constructors.items() if module is None or f.__module__.startswith(module.__name__)}
    found = matching(include) if include else names
    return sorted(found - matching(exclude) if exclude else found)


def get_model_builder(name):
    """The constructor of that name, in any case. ValueError if there is none."""
    if name.lower() not in constructors:
        raise ValueError(f"Unknown model {name}: there are {', '.join(list_models())}")
    return constructors[name.lower()]


def get_model(name, **config):
    """The model of that name: ``get_model("resnet18", num_classes=10)``."""
    return get_model_builder(name)(**config)


def get_model_weights(name):
    """The enumeration of weights of a model, by its name or constructor."""
    return weights_class((name if callable(name) else get_model_builder(name)).weights)


def get_weight(name):
    """The weights of a full name such as ``"ResNet18_Weights.IMAGENET1K_V1"``. ValueError for an unknown one."""
    kind, _, member = name.partition(".")
    if kind not in table():
        raise ValueError(f"Unknown weights {name}")
    return weights_class(kind).verify(member)
