"""Transforms of transforms, and functions of your own."""

from collections.abc import Callable, Sequence
from typing import Any

from ... import multinomial, rand, randperm, tensor
from .transform import Transform


class Container(Transform):
    """The base of lists of transforms; ValueError for an empty one."""

    def __init__(self, transforms: Sequence[Callable]) -> None:
        super().__init__()
        if not isinstance(transforms, Sequence) and not hasattr(transforms, "__iter__"):
            raise TypeError("Argument transforms should be a sequence of callables")
        if not len(transforms):
            raise ValueError("Pass at least one transform")
        self.transforms = transforms

    def one_by_one(self, order: Sequence[int], inputs: tuple) -> Any:
        """The sample after the transforms in an order."""
        for i in order:
            outputs = self.transforms[i](*inputs)
            inputs = outputs if len(inputs) > 1 else (outputs,)
        return inputs if len(inputs) > 1 else inputs[0]

    def extra_repr(self) -> str:
        return "\n".join(f"    {transform}" for transform in self.transforms)


class Compose(Container):
    """One transform after another."""

    def forward(self, *inputs: Any) -> Any:
        return self.one_by_one(range(len(self.transforms)), inputs)


class RandomApply(Container):
    """All of ``transforms``, with probability ``p``, or none."""

    def __init__(self, transforms: Sequence[Callable], p: float = 0.5) -> None:
        super().__init__(transforms)
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0].")
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        return self.one_by_one(range(len(self.transforms)) if rand(1).item() < self.p else [], inputs)


class RandomOrder(Container):
    """All of ``transforms`` in random order."""

    def forward(self, *inputs: Any) -> Any:
        return self.one_by_one(randperm(len(self.transforms)).tolist(), inputs)


class RandomChoice(Container):
    """One of ``transforms``, with the probabilities ``p``, equal ones by default."""

    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        p = [1.0] * len(transforms) if p is None else p
        if len(p) != len(transforms):
            raise ValueError(f"Length of p doesn't match the number of transforms: {len(p)} != {len(transforms)}")
        self.p = [share / sum(p) for share in p]

    def forward(self, *inputs: Any) -> Any:
        return self.one_by_one([int(multinomial(tensor(self.p), 1))], inputs)


class Lambda(Transform):
    """A function of your own, on the inputs of the given ``types``, everything by default."""

    def __init__(self, lambd: Callable, *types: type) -> None:
        super().__init__()
        self.lambd, self.types = lambd, types or (object,)
        self._transformed_types = self.types

    def _needs_transform_list(self, leaves: list[Any]) -> list[bool]:
        return [isinstance(x, self.types) for x in leaves]

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return self.lambd(inpt)


class Identity(Transform):
    """The sample as it is."""

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        return inpt
