"""The registry: every op definition and public function, and how the core calls the packages above.

It imports nothing from the package, so every module can register what it defines here and find
what others defined, without importing them. The core calls the packages above it in three ways
only:

- `late`: text and pictures, which no computation uses: `repr`, explanations of errors, formulas
- `guests`: public methods and functions implemented in a package that may be absent
  (``x.to_sparse()``)
- a `Hook`: a function with a default, which a package above fills: when it is imported, or, named
  by the package's root, when the hook is first called
"""

from importlib import import_module
from importlib.util import find_spec
from types import FunctionType

OPS: dict = {}             # name -> Op: every op definition; filled by `op.Op`
# (namespace, public name) -> Public: every public function; filled by `op.publish`
FUNCTIONS: dict = {}
METHODS: dict = {}  # name -> function: methods with a signature of their own; filled by `op.method`
HOOKS: dict = {}           # name -> Hook: what packages above may fill


def find(place):
    """The function that "module:function" names."""
    module, _, function = place.partition(":")
    return getattr(import_module(module), function)


def imported(module, wanted):
    """A module for the name `wanted`; ModuleNotFoundError says which package a copy without it
    lacks."""
    package = ".".join(module.split(".")[:2])
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{error.name}.".startswith(f"{package}."):
            raise
        needed = "" if wanted == package else f", and {wanted} needs it"
        raise ModuleNotFoundError(f"{package} is not in this copy{needed}",
                                  name=error.name) from None


class Late:
    """Functions of higher modules, imported when first called: ``late.tensor_repr(x)``.

    `places` maps each name to "module:function". Only the package's root fills it, since only the
    root knows what lies above the core; a test resolves every entry.
    """

    def __init__(self):
        self.places = {}

    def __getattr__(self, name):
        if name not in self.__dict__.get("places", ()):
            raise AttributeError(f"no late function {name!r} (listed in minitorch/__init__.py)")
        found = self.found(name)
        setattr(self, name, found)
        return found

    def found(self, name):
        return find(self.places[name])


class Guests(Late):
    """Like `Late`, for packages that a copy of the library may lack; ModuleNotFoundError names the
    missing one."""

    def package_of(self, name):
        return ".".join(self.places[name].split(":")[0].split(".")[:2])

    def __contains__(self, name):
        """True if this copy has the package that defines `name`."""
        return find_spec(self.package_of(name)) is not None

    def found(self, name):
        module, _, function = self.places[name].partition(":")
        return getattr(imported(module, name), function)


late, guests = Late(), Guests()


class Hook:
    """A function that a package above may replace. The decorated function is the default, which
    runs while nothing has replaced it.

        @Hook
        def accelerator():
            '''The backend of the GPU in use; None without a GPU. Filled by `backends`.'''

    Whoever fills it decorates its own function with ``@accelerator.fill``, a guest with
    ``@extend.fills("accelerator")``. A package of the kernel that is loaded with its first use is
    named by the package's root (`fill_from`).
    """

    place = None               # "module:function" of a function that is imported when first called

    def __init__(self, default):
        HOOKS[default.__name__] = self
        self.__name__, self.__doc__ = default.__name__, default.__doc__
        self.default = self.call = default
        self.filled = False

    def __call__(self, *args, **kwargs):
        return self.call(*args, **kwargs)

    def fill(self, function):
        """Have `function` called from now on."""
        self.call, self.filled = function, True
        return function

    def fill_from(self, place):
        """Have the function "module:function" called from now on, imported with the first call."""
        def first(*args, **kwargs):
            return self.fill(find(place))(*args, **kwargs)
        self.place = place
        self.fill(first)


def fills(name):
    """A decorator of the function that the hook `name` calls from now on; its docstring says what
    it is called with."""
    return HOOKS[name].fill


@Hook
def process_group_place():
    """The rank and the size of the default process group; None without one. Filled by
    `distributed.world`."""


@Hook
def is_shared(tensor):
    """True if a tensor lies in memory that processes share. Filled by `multiprocessing.sharing`."""
    return False


def extends(cls, name=None, kind=None):
    """A decorator that makes a function of a higher module an attribute of a class of the core.

    It is used for methods that are shorthand for a function of that module, such as
    ``x.backward()``. `kind` is `property` or `staticmethod` for an attribute of that kind.
    """
    def enter(function):
        if name and isinstance(function, FunctionType):
            function.__name__, function.__qualname__ = name, f"{cls.__qualname__}.{name}"
        setattr(cls, name or function.__name__, function if kind is None else kind(function))
        return function
    return enter
