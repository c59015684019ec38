"""Files exchanged with PyTorch, both ways: the same objects, saved by one and loaded by the other."""

import copy
import io
import pickle
import zipfile
from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

import minitorch
from minitorch import backends
from minitorch.core.tensor import Tensor, wrap
from minitorch.nn.parameter import Parameter
from minitorch.serialization import load, safe_globals, save

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick here")
torch.set_num_threads(1)

DTYPES = ("bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 "
          "complex128").split()
GEOMETRIES = {                                             # of the storage: size; of the tensor: size, stride, offset
    "contiguous": (6, (2, 3), (3, 1), 0),
    "transposed": (6, (3, 2), (1, 3), 0),
    "piece": (20, (2, 3), (5, 2), 4),
    "expanded": (2, (3, 2), (0, 1), 0),
    "zero_dim": (1, (), (), 0),
    "zero_dim_inside": (5, (), (), 3),
    "overlapping": (5, (3, 3), (1, 1), 0),
    "odd_stride_of_size_one": (4, (1, 4), (77, 1), 0),
    "six_dims": (64, (2,) * 6, (1, 2, 4, 8, 16, 32), 0),
}
EMPTY = {"empty": (0, (0,), (1,), 0), "empty_2d": (0, (3, 0), (1, 1), 0), "empty_in_something": (6, (0, 2), (2, 1), 4)}


class Ours:
    """minitorch, by the few things that the recipes below need."""

    module, Tensor, Parameter = minitorch, Tensor, Parameter

    @staticmethod
    def flat(dtype, n):
        return wrap(np.arange(n).astype(getattr(minitorch, dtype).np), backends.get("cpu"))

    @staticmethod
    def view(base, size, stride, offset):
        unit = base.array.itemsize
        array = np.lib.stride_tricks.as_strided(base.array[offset:], size, [s * unit for s in stride])
        if not array.size:
            array = np.ndarray(size, array.dtype, base.array.view(np.uint8), offset * unit, [s * unit for s in stride])
        return wrap(rebased(array, base.array), backends.get("cpu"))

    @staticmethod
    def bytes(x):
        return np.ascontiguousarray(x.array).tobytes()

    @staticmethod
    def storage(x):
        return x.untyped_storage().data_ptr(), x.untyped_storage().nbytes()


def rebased(array, owner):
    """The same view with `owner` as its base, which NumPy's as_strided hides."""
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    return np.ndarray(array.shape, array.dtype, owner.view(np.uint8), start, array.strides)


class Theirs:
    """PyTorch, by the same."""

    module, Tensor, Parameter = torch, torch.Tensor, torch.nn.Parameter

    @staticmethod
    def flat(dtype, n):
        return torch.from_numpy(np.arange(n)).to(getattr(torch, dtype))

    @staticmethod
    def view(base, size, stride, offset):
        return base.as_strided(size, stride, offset)

    @staticmethod
    def bytes(x):
        if not x.numel():
            return b""
        return bytes(x.detach().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8).tolist())

    @staticmethod
    def storage(x):
        return x.untyped_storage().data_ptr(), x.untyped_storage().nbytes()


def description(value, lib, storages=None):
    """A description of `value` by which both libraries can be compared; storages are numbered as
    they come."""
    storages = {} if storages is None else storages

    def of(x):
        return description(x, lib, storages)
    if isinstance(value, lib.Tensor):
        pointer, nbytes = lib.storage(value)
        number = storages.setdefault(pointer, len(storages)) if nbytes else None
        extra = {k: v for k, v in value.__dict__.items() if k in ("note", "persistent")}
        return ("tensor", isinstance(value, lib.Parameter), str(value.dtype), tuple(value.shape), value.stride(),
                value.storage_offset(), nbytes, number, value.requires_grad, str(value.device), lib.bytes(value),
                of(extra))
    if isinstance(value, dict):
        extra = of(value.__dict__) if isinstance(value, OrderedDict) else None
        factory = getattr(value, "default_factory", None)
        return type(value).__name__, factory, [(of(k), of(v)) for k, v in value.items()], extra
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [of(x) for x in value]
    if isinstance(value, (set, frozenset)):
        return type(value).__name__, sorted(map(repr, value))
    if isinstance(value, (lib.module.dtype, lib.module.device)):
        return repr(value)
    return type(value).__name__, repr(value)


def saved(lib, value, **options):
    file = io.BytesIO()
    (torch.save if lib is Theirs else save)(value, file, **options)
    return file.getvalue()


def loaded(lib, data, **options):
    return (torch.load if lib is Theirs else load)(io.BytesIO(data), **options)


def exchange(recipe, writer, reader, **options):
    data = saved(writer, recipe(writer), **options)
    assert description(loaded(reader, data), reader) == description(recipe(reader), reader)


BOTH_WAYS = pytest.mark.parametrize("writer, reader", [(Ours, Theirs), (Theirs, Ours), (Ours, Ours)],
                                    ids=["to_torch", "from_torch", "round_trip"])


# ------------------------------------------------------------------ single tensors
@BOTH_WAYS
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_dtypes_and_geometries(dtype, geometry, writer, reader):
    n, *where = GEOMETRIES[geometry]
    exchange(lambda lib: lib.view(lib.flat(dtype, n), *where), writer, reader)


@BOTH_WAYS
@pytest.mark.parametrize("geometry", EMPTY)
def test_empty_tensors(geometry, writer, reader):
    n, *where = EMPTY[geometry]
    exchange(lambda lib: lib.view(lib.flat("float32", n), *where), writer, reader)


# ------------------------------------------------------------------ everything else
def shared(lib):
    base = lib.flat("float32", 12)
    rows = lib.view(base, (3, 4), (4, 1), 0)
    return {"rows": rows, "columns": lib.view(base, (4, 3), (1, 4), 0), "tail": [lib.view(base, (3,), (1,), 9), rows]}


def state_dict(lib):
    found = OrderedDict([("layer.weight", lib.view(lib.flat("float32", 6), (2, 3), (3, 1), 0)),
                         ("layer.bias", lib.flat("float32", 2)), ("norm.num_batches_tracked",
                                                                  lib.view(lib.flat("int64", 1), (), (), 0))])
    found._metadata = OrderedDict([("", {"version": 1}), ("layer", {"version": 1}), ("norm", {"version": 2})])
    return found


def parameters(lib):
    base = lib.flat("float64", 6)
    noted = lib.Parameter(lib.flat("float32", 2))
    noted.note = "a note"
    tensor = lib.flat("float32", 3)
    tensor.note = {"on": "a tensor"}
    return [lib.Parameter(lib.view(base, (2, 3), (3, 1), 0)), lib.Parameter(base, requires_grad=False), noted, tensor]


def optimiser(lib):
    return {"state": {0: {"step": lib.view(lib.flat("float32", 1), (), (), 0), "exp_avg": lib.flat("float32", 4),
                          "momentum_buffer": None}, 1: {}},
            "param_groups": [{"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "amsgrad": False, "foreach": None,
                              "params": [0, 1]}]}


RECIPES = {
    "scalars": lambda lib: [0, -1, 255, 256, 65536, 2**31, -2**31 - 1, 2**63, -2**100, 1.5, -0.0, float("inf"), True,
                            False, None, 3 + 4j, 10**400],
    "text": lambda lib: ["", "abc", "ä ∑ 𝔘", "\ud800", "x" * 300, "y" * 70000],
    "bytes": lambda lib: [b"abc", bytes(range(256)), b"", bytearray(b"xy"), bytearray()],
    "containers": lambda lib: {"list": [1, [2, [3, []]]], "tuple": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)),
                               "dict": {1: {}, "a": {"b": {2.5: None}}, (1, "x"): 4}, "set": {1, 2, 3}, "empty": set()},
    "ordered": lambda lib: OrderedDict([("b", 1), ("a", OrderedDict())]),
    "counter": lambda lib: Counter("banana"),
    "sizes": lambda lib: [lib.module.Size([2, 3]), lib.module.Size([])],
    "dtypes": lambda lib: [getattr(lib.module, name) for name in DTYPES],
    "devices": lambda lib: [lib.module.device("cpu"), lib.module.device("cuda:1"), lib.module.device("cuda")],
    "same_object": lambda lib: [[1, 2]] * 3,
    "keys": lambda lib: {lib.module.float32: 1, 2: "two", None: 3, True: 4, 1.5: 5, ("a", (1, 2)): 6},
    "shared": shared,
    "state_dict": state_dict,
    "parameters": parameters,
    "optimiser": optimiser,
    "requires_grad": lambda lib: [lib.flat("float32", 3).requires_grad_(), lib.flat("float64", 3)],
    "generator_state": lambda lib: {"rng": lib.flat("uint8", 5056)},
    "many": lambda lib: [lib.view(lib.flat("float32", 3), (3,), (1,), 0) for _ in range(300)],
    "large": lambda lib: lib.flat("int32", 300_000),
    "empty_of_two_dtypes": lambda lib: [lib.flat("float32", 0), lib.flat("int16", 0)],
}


@BOTH_WAYS
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_objects(recipe, writer, reader):
    exchange(recipe, writer, reader)


@BOTH_WAYS
@pytest.mark.parametrize("recipe", ["shared", "state_dict", "parameters", "scalars", "bytes", "many"])
def test_format_before_1_6(recipe, writer, reader):
    exchange(RECIPES[recipe], writer, reader, _use_new_zipfile_serialization=False)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("recipe", ["shared", "state_dict", "parameters", "scalars", "bytes", "containers", "dtypes"])
def test_protocols(recipe, protocol, zipped):
    options = dict(pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
    expected = description(RECIPES[recipe](Ours), Ours)
    assert description(loaded(Ours, saved(Theirs, RECIPES[recipe](Theirs), **options)), Ours) == expected
    data = saved(Ours, RECIPES[recipe](Ours), **options)
    assert description(loaded(Ours, data), Ours) == expected
    assert description(loaded(Ours, data, weights_only=False), Ours) == expected
    theirs = loaded(Theirs, data, weights_only=False)
    assert description(theirs, Theirs) == description(RECIPES[recipe](Theirs), Theirs)


@BOTH_WAYS
def test_what_torch_does_not_load_without_trust(writer, reader):
    def recipe(lib):
        return [frozenset([1, 2]), defaultdict(list, {1: [2]}), defaultdict(None), defaultdict(int, a=1)]
    data = saved(writer, recipe(writer))
    found = loaded(reader, data, weights_only=reader is Ours)
    assert description(found, reader) == description(recipe(reader), reader)


def test_lazy_conjugates_and_negatives():
    x = torch.arange(6.0).view(2, 3) * (1 + 2j)
    conj, neg = x.conj(), x.conj().imag                    # the imaginary part of a conjugate is a lazy negative
    for zipped in (True, False):
        found = load(io.BytesIO(saved(Theirs, [conj, conj.T, x], _use_new_zipfile_serialization=zipped)))
        assert [f.array.tolist() for f in found] == [conj.tolist(), conj.T.tolist(), x.tolist()]
        assert found[0].untyped_storage() == found[1].untyped_storage()
    found = load(io.BytesIO(saved(Theirs, neg)))
    assert found.array.tolist() == neg.tolist()


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_themselves():
    x = torch.arange(4, dtype=torch.int16)
    found = load(io.BytesIO(saved(Theirs, x.untyped_storage())))
    assert found.tolist() == x.untyped_storage().tolist()
    ours = Ours.flat("int16", 4)
    typed, untyped = (loaded(Theirs, saved(Ours, s)) for s in (ours.storage(), ours.untyped_storage()))
    assert typed.tolist() == [0, 1, 2, 3] and untyped.tolist() == x.untyped_storage().tolist()


def test_same_memory_as_two_dtypes_is_refused_by_both():
    ours, theirs = Ours.flat("float32", 4), Theirs.flat("float32", 4)
    pair = [ours, wrap(ours.array.view(np.int32), backends.get("cpu"))]
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved(Ours, pair)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved(Theirs, [theirs, theirs.view(torch.int32)])


def test_computed_tensors_are_saved_as_leaves():
    y = Ours.flat("float32", 3).requires_grad_() * 2
    found = loaded(Theirs, saved(Ours, y))
    assert found.is_leaf and found.requires_grad and found.tolist() == [0, 2, 4]


def test_other_byte_order():
    for x in (Theirs.flat("complex64", 3), Theirs.flat("int16", 3), Theirs.flat("float64", 3), Theirs.flat("bool", 2)):
        data = repacked(saved(Theirs, x), {"byteorder": b"big"})
        assert Ours.bytes(load(io.BytesIO(data))) == Theirs.bytes(torch.load(io.BytesIO(data)))


def test_files_of_older_versions_lack_some_records():
    data = saved(Theirs, {"a": torch.arange(3)})
    for lacking in (["byteorder"], [".format_version", ".storage_alignment"], [".data/serialization_id", "version"]):
        assert load(io.BytesIO(repacked(data, dict.fromkeys(lacking))))["a"].tolist() == [0, 1, 2]


def test_without_checksums():
    torch.serialization.set_crc32_options(False)
    try:
        data = saved(Theirs, torch.arange(3))
    finally:
        torch.serialization.set_crc32_options(True)
    assert load(io.BytesIO(data)).tolist() == [0, 1, 2]


def repacked(data, changes):
    """The same archive with some records replaced, or left out where the change is None."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(target, "w") as new:
        for info in old.infolist():
            change = changes.get(info.filename.partition("/")[2], old.read(info))
            if change is not None:
                new.writestr(info.filename, change)
    return target.getvalue()


# ------------------------------------------------------------------ whole checkpoints
def training(lib):
    nn, optim = lib.module.nn, lib.module.optim
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    return model, optimizer, optim.lr_scheduler.StepLR(optimizer, 2)


def steps(lib, model, optimizer, scheduler):
    x, losses = lib.module.tensor([[1.0, 2, 3], [4, 5, 7], [0, 1, 0], [3, 1, 2]]), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("writer, reader", [(Ours, Theirs), (Theirs, Ours)], ids=["to_torch", "from_torch"])
def test_training_continues_in_the_other_library(writer, reader):
    begun, continued = training(writer), training(reader)
    steps(writer, *begun)
    states = loaded(reader, saved(writer, [part.state_dict() for part in begun]))
    for part, state in zip(continued, states):
        part.load_state_dict(state)
    assert steps(reader, *continued) == pytest.approx(steps(writer, *begun), rel=1e-5)


# ------------------------------------------------------------------ the container
def test_layout_of_the_archive():
    data = saved(Ours, {"a": Ours.flat("float32", 3), "b": Ours.flat("uint8", 1000), "e": Ours.flat("int8", 0)})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        names = [info.filename for info in archive.infolist()]
        assert names == [f"archive/{name}" for name in ("data.pkl", "byteorder", "data/0", "data/1", "data/2",
                                                        "version", ".data/serialization_id")]
        for info in archive.infolist():
            lengths = np.frombuffer(data, "<u2", 2, info.header_offset + 26)
            assert (info.header_offset + 30 + lengths.sum()) % 64 == 0 and info.compress_type == 0
    reader = torch._C.PyTorchFileReader(io.BytesIO(data))
    assert reader.get_record("version") == b"3\n" and len(reader.serialization_id()) == 40


def test_pickle_is_the_one_that_torch_writes():
    for recipe in ("state_dict", "optimiser", "shared", "parameters", "sizes"):
        pickles = []
        for lib in (Ours, Theirs):
            with zipfile.ZipFile(io.BytesIO(saved(lib, RECIPES[recipe](lib)))) as archive:
                pickles.append(archive.read("archive/data.pkl"))
        assert pickles[0] == pickles[1], recipe


def test_memory_mapping(tmp_path):
    ours, theirs = tmp_path / "ours.pt", tmp_path / "theirs.pt"
    save(shared(Ours), ours)
    torch.save(shared(Theirs), theirs)
    assert description(torch.load(ours, mmap=True), Theirs) == description(shared(Theirs), Theirs)
    for path in (ours, theirs):
        found = load(path, mmap=True)
        assert description(found, Ours) == description(shared(Ours), Ours)
        found["rows"].array[0] = 9                         # private: the file stays as it is
        assert description(load(path), Ours) == description(shared(Ours), Ours)


@pytest.mark.parametrize("limit", [0, 100])
def test_archives_beyond_the_32_bit_fields(limit, monkeypatch):
    """The zip64 form, which files of more than 4 GiB take, made by lowering the limit."""
    value = {"a": Ours.flat("float32", 30), "b": Ours.flat("int64", 1)}
    expected = saved(Ours, value)
    with monkeypatch.context() as patch:
        patch.setattr("minitorch.serialization.archive.needs_64", lambda n: n >= limit)
        data = saved(Ours, value)
    assert data != expected
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
    assert loaded(Theirs, data)["a"].tolist() == loaded(Ours, data)["a"].tolist() == list(range(30))


# ------------------------------------------------------------------ pickle and copy
def test_deepcopy_keeps_sharing_as_torch_does():
    for lib in (Ours, Theirs):
        found = copy.deepcopy(shared(lib))
        assert description(found, lib) == description(shared(lib), lib)
        originals = parameters(lib)
        copies = copy.deepcopy(originals)
        assert lib.storage(copies[0]) != lib.storage(copies[1])       # parameters are copied one by one
        assert not hasattr(copies[2], "note") and copies[3].note == {"on": "a tensor"}
        base = lib.flat("float32", 6)
        whole = copy.deepcopy(lib.view(base, (2,), (1,), 3))
        assert whole.storage_offset() == 3 and whole.untyped_storage().nbytes() == 24
        leaf = lib.flat("float32", 2).requires_grad_()
        leaf.grad = lib.flat("float32", 2)
        copied = copy.deepcopy(leaf)
        assert copied.requires_grad and copied.grad.tolist() == [0, 1] and copied.grad is not leaf.grad
        with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user .graph leaves. support the "
                                               "deepcopy protocol at the moment"):
            copy.deepcopy(leaf * 2)


def test_plain_pickle():
    for protocol in range(2, 6):
        for recipe in ("shared", "parameters", "state_dict", "dtypes", "sizes"):
            value = RECIPES[recipe](Ours)
            assert description(pickle.loads(pickle.dumps(value, protocol)), Ours) == description(value, Ours)


# ------------------------------------------------------------------ errors
def test_errors_are_of_the_same_classes(tmp_path):
    whole = saved(Theirs, torch.ones(3))
    cases = {
        "empty": io.BytesIO(b""), "text": io.BytesIO(b"garbage garbage"), "head": io.BytesIO(b"PK\x03\x04garbage"),
        "half": io.BytesIO(whole[:len(whole) // 2]), "number": 3, "absent": tmp_path / "absent.pt",
        "class": io.BytesIO(saved(Theirs, Fraction(1))), "no_pickle": io.BytesIO(repacked(whole, {"data.pkl": None})),
        "no_storage": io.BytesIO(repacked(whole, {"data/0": None})),
        "short_storage": io.BytesIO(repacked(whole, {"data/0": b"1234"})),
        "pickle": io.BytesIO(repacked(whole, {"data.pkl": b"\x80\x02c"}))}
    for name, file in cases.items():
        errors = []
        for function in (torch.load, load):
            with pytest.raises(Exception) as caught:
                function(file)
            errors.append(caught.type)
            if isinstance(file, io.BytesIO):
                file.seek(0)
        theirs, ours = errors
        assert issubclass(ours, theirs) or (name, ours) == ("pickle", pickle.UnpicklingError), (name, errors)
    for value, options in ((3, dict(mmap=True)), (torch.ones(1), dict(map_location="cuda:7")),
                           (torch.ones(1), dict(map_location="nonsense"))):
        data = saved(Theirs, value)
        for lib in (Theirs, Ours):
            with pytest.raises((ValueError, RuntimeError)):
                loaded(lib, data, **options)
    for function in (torch.save, save):
        with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
            function(3, str(tmp_path / "absent" / "file.pt"))
        with pytest.raises(AttributeError, match="file-like object with a 'write' attribute"):
            function(3, 3)


class Fraction:
    """A class that loaders know nothing of."""

    def __init__(self, of):
        self.of = of


def test_safe_globals():
    data = saved(Theirs, [Fraction(3), torch.ones(1)])
    with pytest.raises(pickle.UnpicklingError, match="Fraction was not an allowed global by default"):
        load(io.BytesIO(data))
    with safe_globals([Fraction]):
        assert load(io.BytesIO(data))[0].of == 3
    with pytest.raises(pickle.UnpicklingError, match="Fraction"):
        load(io.BytesIO(data))


def test_map_location():
    data = saved(Theirs, torch.arange(3.0))
    seen = []

    def place(storage, location):
        seen.append((storage.nbytes(), location))
    for where in ("cpu", minitorch.device("cpu"), {"cpu": "cpu"}, {"cuda:0": "cpu"}, place, lambda s, where: s):
        assert load(io.BytesIO(data), map_location=where).tolist() == [0, 1, 2]
    assert seen == [(12, "cpu")]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        pickled = archive.read("archive/data.pkl").replace(b"X\x03\x00\x00\x00cpu", b"X\x06\x00\x00\x00cuda:0")
    data = repacked(data, {"data.pkl": pickled})
    if not torch.cuda.is_available():
        for function in (load, torch.load):
            with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device but"):
                function(io.BytesIO(data))
    for function in (load, torch.load):
        for where in ("cpu", {"cuda:0": "cpu"}, lambda storage, where: storage):
            assert function(io.BytesIO(data), map_location=where).tolist() == [0, 1, 2]
