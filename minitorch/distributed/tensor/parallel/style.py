"""How a layer is split over the ranks of a mesh of one dimension, and what is brought to and from it.

Shoeybi et al., "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism" (2019);
`SequenceParallel`: Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models" (2022).
"""

import warnings
from fnmatch import fnmatch

from .... import Tensor
from ....nn import Embedding, Linear, Parameter
from ...device_mesh import current_mesh
from ..api import DTensor, distribute_module, distribute_tensor
from ..placement_types import Placement, Replicate, Shard, normalized

__all__ = ["ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput",
           "RowwiseParallel", "SequenceParallel", "parallelize_module"]


class ParallelStyle:
    """The base of styles: ``_apply(module, mesh)`` changes the module and returns it.

    `src_data_rank` is the rank whose parameters count, as `parallelize_module` was told.
    """

    src_data_rank: int | None = 0

    def _apply(self, module, device_mesh):
        raise NotImplementedError

    def __repr__(self):
        shown = {name: value for name, value in vars(self).items() if name != "src_data_rank"}
        return f"{type(self).__name__}({', '.join([f'{name}={value}' for name, value in shown.items()])})"


def brought(x, mesh, layout, wanted):
    """`x`, whose parts lie as `layout` says unless it is a DTensor, as a DTensor at the placement `wanted`."""
    if not isinstance(x, DTensor):
        x = DTensor.from_local(x, mesh, (layout,))
    return x if wanted is None or x.placements == normalized((wanted,), mesh, x.dim()) else x.redistribute(
        placements=(wanted,))


def given_back(x, mesh, layout, use_local_output):
    """An output at the placement `layout`, as a DTensor or as this rank's part."""
    x = brought(x, mesh, layout, layout)
    return x.to_local() if use_local_output else x


class Split(ParallelStyle):
    """A style that splits the parameters of a layer: the placement of each, by the kind of layer and its name."""

    def __init__(self, input_layouts, output_layouts, use_local_output):
        self.input_layouts, self.output_layouts = (input_layouts,), (output_layouts,)
        self.use_local_output = use_local_output

    def places(self, module):
        """The placement of the input while the module runs, and a dict of those of its parameters."""
        raise NotImplementedError

    def _apply(self, module, device_mesh):
        wanted, places = self.places(module)

        def partition(name, part, mesh):
            for name, p in list(part._parameters.items()):
                if p is not None:
                    part.register_parameter(name, Parameter(distribute_tensor(
                        p, mesh, [places[name]], src_data_rank=self.src_data_rank), p.requires_grad))
        return distribute_module(
            module, device_mesh, partition,
            lambda m, inputs, mesh: (brought(inputs[0], mesh, self.input_layouts[0], wanted), *inputs[1:]),
            lambda m, outputs, mesh: given_back(outputs, mesh, self.output_layouts[0], self.use_local_output))


class ColwiseParallel(Split):
    """Split the outputs of a `Linear` (its rows of weights and biases), or the columns of an `Embedding`.

    input_layouts: how the input lies (`Replicate`). output_layouts: how the output is to lie (``Shard(-1)``: nothing
    need be sent). use_local_output: return this rank's part instead of a DTensor (True).
    """

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output=True):
        super().__init__(input_layouts or Replicate(), output_layouts or Shard(-1), use_local_output)

    def places(self, module):
        if isinstance(module, Linear):
            return Replicate(), {"weight": Shard(0), "bias": Shard(0)}
        if isinstance(module, Embedding):
            return Replicate(), {"weight": Shard(1)}
        raise NotImplementedError("ColwiseParallel currently only support nn.Linear and nn.Embedding!")


class RowwiseParallel(Split):
    """Split the inputs of a `Linear` (its columns of weights), or the rows of an `Embedding`.

    input_layouts: how the input lies (``Shard(-1)``, as `ColwiseParallel` leaves it). output_layouts: how the output,
    a sum over the ranks, is to lie (`Replicate`). use_local_output: return this rank's part, no DTensor (True).
    """

    def __init__(self, *, input_layouts=None, output_layouts=None, use_local_output=True):
        super().__init__(input_layouts or Shard(-1), output_layouts or Replicate(), use_local_output)

    def places(self, module):
        if isinstance(module, Linear):
            return Shard(-1), {"weight": Shard(1), "bias": Replicate()}
        if isinstance(module, Embedding):
            return Replicate(), {"weight": Shard(0)}
        raise NotImplementedError("RowwiseParallel currently only support nn.Linear and nn.Embedding!")


class SequenceParallel(ParallelStyle):
    """Run a norm or dropout on the parts of a sequence, with parameters on all ranks.

    sequence_dim: the dimension of the sequence (1). A plain input is taken to be this rank's part. use_local_output:
    return this rank's part instead of a DTensor (False). The parameters of the ranks are taken to be equal.
    """

    def __init__(self, *, sequence_dim=1, use_local_output=False):
        self.sequence_sharding, self.use_local_output = (Shard(sequence_dim),), use_local_output

    def _apply(self, module, device_mesh):
        place, = self.sequence_sharding

        def replicated(name, part, mesh):
            for name, p in list(part._parameters.items()):
                if p is not None:
                    part.register_parameter(name, Parameter(DTensor.from_local(p.detach(), mesh, [Replicate()]),
                                                            p.requires_grad))

        def taken(m, inputs, mesh):
            if not isinstance(inputs[0], Tensor):
                raise ValueError(f"expecting input of {m} to be a torch.Tensor or DTensor, but got {inputs[0]}")
            return (brought(inputs[0], mesh, place, place), *inputs[1:])
        return distribute_module(module, device_mesh, replicated, taken,
                                 lambda m, out, mesh: out.to_local() if self.use_local_output else out)


def listed(layouts):
    return (layouts,) if isinstance(layouts, Placement) else layouts


def prepared(x, mesh, layout, wanted, local):
    """An argument or a result with a layout, as a DTensor at `wanted` or this rank's part; one without as it is."""
    if layout is None:
        return x
    if not isinstance(x, Tensor):
        raise AssertionError(f"expecting input to be a torch.Tensor, got {type(x).__name__}")
    x = brought(x, mesh, layout, wanted)
    return x.to_local() if local else x


class PrepareModuleInput(ParallelStyle):
    """Make the inputs of a module DTensors, and bring them to other placements.

    input_layouts, desired_input_layouts: how each positional argument lies, and how it is to lie; None: it is left
    alone. input_kwarg_layouts, desired_input_kwarg_layouts: dicts of the same for keyword arguments.
    use_local_output: give the module this rank's parts instead of DTensors (False).
    """

    def __init__(self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None,
                 desired_input_kwarg_layouts=None, use_local_output=False):
        self.input_layouts, self.desired_input_layouts = listed(input_layouts), listed(desired_input_layouts)
        self.use_local_output, self.with_kwargs = use_local_output, input_kwarg_layouts is not None
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError("input_layouts and desired_input_layouts should have same length!")
        if self.with_kwargs and len(self.input_kwarg_layouts) != len(self.desired_input_kwarg_layouts):
            raise AssertionError("input_kwarg_layouts and desired_input_kwarg_layouts should have same length!")

    def _arguments(self, args, kwargs, mesh):
        if self.input_layouts is not None:
            if len(args) != len(self.input_layouts):
                raise ValueError("module inputs and input_layouts should have same length!")
            args = tuple([prepared(x, mesh, layout, wanted, self.use_local_output)
                          for x, layout, wanted in zip(args, self.input_layouts, self.desired_input_layouts)])
        return args, {name: prepared(x, mesh, self.input_kwarg_layouts.get(name),
                                     self.desired_input_kwarg_layouts.get(name), self.use_local_output)
                      for name, x in kwargs.items()}

    def _apply(self, module, device_mesh):
        module.register_forward_pre_hook(lambda _, args, kwargs: self._arguments(args, kwargs, device_mesh),
                                         with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Make the outputs of a module DTensors, and bring them to other placements.

    output_layouts, desired_output_layouts: how each output lies, and how it is to lie; None: it is left alone.
    use_local_output: return this rank's parts instead of DTensors (True).
    """

    def __init__(self, *, output_layouts, desired_output_layouts, use_local_output=True):
        self.output_layouts, self.desired_output_layouts = listed(output_layouts), listed(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError("output_layouts and desired_output_layouts should have same length!")

    def _outputs(self, outputs, mesh):
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(outputs) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        found = tuple([prepared(x, mesh, layout, wanted, self.use_local_output)
                       for x, layout, wanted in zip(outputs, self.output_layouts, self.desired_output_layouts)])
        return found[0] if len(found) == 1 else found

    def _apply(self, module, device_mesh):
        module.register_forward_hook(lambda _, args, outputs: self._outputs(outputs, device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """`PrepareModuleInput` and `PrepareModuleOutput` in one."""

    def __init__(self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None,
                 desired_input_kwarg_layouts=None, use_local_input=False, output_layouts, desired_output_layouts,
                 use_local_output=True):
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts, desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input)
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output)

    def _apply(self, module, device_mesh):
        self.prepare_module_input._apply(module, device_mesh)
        return self.prepare_module_output._apply(module, device_mesh)


def parallelize_module(module, device_mesh=None, parallelize_plan=None, *, src_data_rank=0):
    """Apply a style to a module, or each style of a dict to the submodules that its path names; returns the module.

    device_mesh: of one dimension, as ``mesh["tp"]``. Paths are dotted and may have wildcards: ``"layers.*.w1"``; ""
    is the module itself; a warning names a path that finds nothing. src_data_rank: the rank whose parameters count;
    None: each rank's own.
    """
    mesh = current_mesh() if device_mesh is None else device_mesh
    if mesh.ndim != 1:
        raise ValueError(f"parallelize_module takes a mesh of one dimension, got {mesh}: take one as in mesh['tp']")
    if parallelize_plan is None:
        warnings.warn("No parallelize_plan is provided and auto-parallel is not supported at the moment, so this "
                      "parallelize_module call will do nothing.", stacklevel=2)
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(f"Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
                        f"{type(parallelize_plan)} found!")
    for path, style in parallelize_plan.items():
        found = submodules(module, path)
        if not found:
            warnings.warn(f"Parallelize plan key '{path}' could not be resolved: no submodule matches it, skipping "
                          f"this plan entry.", stacklevel=2)
        for part in found:
            parallelize_module(part, mesh, style, src_data_rank=src_data_rank)
    return module


def submodules(module, path):
    """The submodules that a path names."""
    if not path:
        return [module]
    name, _, rest = path.partition(".")
    return [found for child, part in module.named_children() if fnmatch(child, name)
            for found in submodules(part, rest)]
