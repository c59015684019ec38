"""The same seed hands out the same samples in the same order here and in PyTorch, from every sampler and loader."""

import collections
import random
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
import minitorch.utils.data as ours

torch = pytest.importorskip("torch", reason="PyTorch is the yardstick")
import torch.utils.data as theirs  # noqa: E402

torch.set_num_threads(1)


def plain(value):
    """Tensors of either library as (dtype, list); containers with their classes."""
    if isinstance(value, (minitorch.Tensor, torch.Tensor)):
        return str(value.dtype), value.tolist()
    if isinstance(value, collections.abc.Mapping):
        return type(value).__name__, {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [plain(item) for item in value]
    return value


def both(run, seed=0):
    """``run(library, data)`` with both libraries after the same seed, and what their generators give afterwards."""
    results = []
    for library, data in ((minitorch, ours), (torch, theirs)):
        library.manual_seed(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = plain(run(library, data))
        results.append((result, library.rand(3).tolist()))
    return results


def check(run, seed=0):
    mine, reference = both(run, seed)
    assert mine == reference


# Samplers


@given(st.integers(1, 80), st.integers(1, 200), st.booleans(), st.booleans(), st.integers(0, 2**63 - 1))
def test_random_sampler(n, count, replacement, own, seed):
    def run(library, data):
        generator = library.Generator().manual_seed(seed) if own else None
        sampler = data.RandomSampler(range(n), replacement, count, generator)
        return [list(sampler), list(sampler), len(sampler)]

    check(run, seed)


@given(st.integers(1, 50), st.integers(0, 2**40))
def test_subset_random_sampler(n, seed):
    check(lambda library, data: list(data.SubsetRandomSampler([3 * i for i in range(n)])), seed)


@given(st.lists(st.floats(0.01, 10), min_size=1, max_size=20), st.integers(1, 20), st.booleans(), st.integers(0, 99))
def test_weighted_random_sampler(weights, count, replacement, seed):
    if not replacement:
        count = min(count, len(weights))
    check(lambda library, data: list(data.WeightedRandomSampler(weights, count, replacement)), seed)


@given(st.integers(1, 40), st.integers(1, 8), st.booleans(), st.booleans(), st.integers(0, 5))
def test_distributed_sampler(n, replicas, shuffle, drop_last, epoch):
    def run(library, data):
        shares = []
        for rank in range(replicas):
            sampler = data.DistributedSampler(range(n), replicas, rank, shuffle, 7, drop_last)
            sampler.set_epoch(epoch)
            shares.append([list(sampler), len(sampler), sampler.total_size])
        return shares

    check(run)


@given(st.integers(0, 30), st.integers(1, 9), st.booleans())
def test_batch_sampler(n, size, drop_last):
    def run(library, data):
        sampler = data.BatchSampler(data.SequentialSampler(range(n)), size, drop_last)
        return [list(sampler), len(sampler)]

    check(run)


@pytest.mark.parametrize("lengths", [[7, 13, 0], [0.5, 0.5], [0.1, 0.2, 0.7], [0.3, 0.3, 0.4], [1.0], [1 / 3] * 3])
@pytest.mark.parametrize("own", [False, True])
def test_random_split(lengths, own):
    def run(library, data):
        more = {"generator": library.Generator().manual_seed(5)} if own else {}
        return [[list(part.indices), list(part)] for part in data.random_split(range(20), lengths, **more)]

    check(run)


# Loaders


LOADERS = [
    {},
    {"shuffle": True},
    {"shuffle": True, "batch_size": 7},
    {"shuffle": True, "batch_size": 7, "drop_last": True},
    {"shuffle": True, "batch_size": None},
    {"batch_size": 5, "sampler": "weighted"},
    {"batch_sampler": "batches"},
    {"batch_size": None, "sampler": "eager"},
    {"batch_size": 4, "sampler": "eager"},
    {"shuffle": True, "batch_size": 8, "generator": 11},
    {"shuffle": True, "batch_size": 8, "num_workers": 2},
    {"shuffle": True, "batch_size": 8, "num_workers": 2, "generator": 11, "prefetch_factor": 1},
    {"shuffle": True, "batch_size": 8, "num_workers": 2, "persistent_workers": True},
    {"batch_size": None, "sampler": "eager", "num_workers": 1},
]


class Eager:
    """A sampler that draws when it is opened, not when it is asked for its first index."""

    def __init__(self, library, n):
        self.library, self.n = library, n

    def __iter__(self):
        return iter(self.library.randperm(self.n).tolist())

    def __len__(self):
        return self.n


def arguments(library, data, wanted, n):
    samplers = {
        "weighted": lambda: data.WeightedRandomSampler([i % 3 + 1.0 for i in range(n)], n),
        "batches": lambda: data.BatchSampler(data.RandomSampler(range(n)), 6, False),
        "eager": lambda: Eager(library, n),
    }
    made = {key: samplers[value]() if isinstance(value, str) else value for key, value in wanted.items()}
    if "generator" in made:
        made["generator"] = library.Generator().manual_seed(made["generator"])
    return made


@pytest.mark.parametrize("wanted", LOADERS, ids=str)
@pytest.mark.parametrize("seed", [0, 123456789])
def test_loader_order_over_three_epochs(wanted, seed):
    def run(library, data):
        dataset = data.TensorDataset(library.arange(40).reshape(20, 2), library.arange(20) * 0.5)
        loader = data.DataLoader(dataset, **arguments(library, data, wanted, 20))
        epochs = []
        for _ in range(3):
            # A loader that is used up draws in its own time; one that is left early shows how far ahead it draws.
            epochs.append([list(loader), library.rand(1)])
        next(iter(loader))
        return [epochs, len(loader)]

    check(run, seed)


class OurStream(ours.IterableDataset):
    def __init__(self, sizes):
        self.sizes = sizes

    def __iter__(self):
        info = ours.get_worker_info()
        return iter(range(100 * info.id, 100 * info.id + self.sizes[info.id]))


class TheirStream(theirs.IterableDataset):
    def __init__(self, sizes):
        self.sizes = sizes

    def __iter__(self):
        info = theirs.get_worker_info()
        return iter(range(100 * info.id, 100 * info.id + self.sizes[info.id]))


@pytest.mark.parametrize("sizes", [[5, 5], [1, 6], [6, 1], [0, 7], [0, 0]])
@pytest.mark.parametrize("more", [{"batch_size": 2}, {"batch_size": 2, "drop_last": True}, {"batch_size": None}])
def test_order_of_streams_from_workers(sizes, more):
    def run(library, data):
        stream = (OurStream if data is ours else TheirStream)(sizes)
        return list(data.DataLoader(stream, num_workers=2, **more))

    check(run)


class Draws:
    """Each sample shows what the worker's three generators draw next."""

    def __init__(self, library):
        self.library = library

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return random.random(), np.random.rand(), self.library.rand(2).tolist(), random.randrange(10**9)


def test_seeds_of_the_workers():
    check(lambda library, data: list(data.DataLoader(Draws(library), batch_size=None, num_workers=2)), seed=3)


# Collation


Point = collections.namedtuple("Point", "x y")

BATCHES = [
    [1, 2],
    [1.5, 2],
    [True, False],
    ["a", "b"],
    [b"a", b"b"],
    [np.float32(1), np.float32(2)],
    [np.float64(1), np.float64(2)],
    [np.int8(1), np.int8(2)],
    [np.bool_(True), np.bool_(False)],
    [np.arange(3), np.arange(3)],
    [np.ones((2, 2), np.float16)] * 3,
    [(1, "a", 2.0), (2, "b", 3.0)],
    [[1, [2, 3]], [4, [5, 6]]],
    [{"a": 1, "b": [1, 2]}, {"a": 2, "b": [3, 4]}],
    [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
    [Point(1, 2.0), Point(3, 4.0)],
    [range(3), range(3)],
]


@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_default_collate(batch):
    check(lambda library, data: data.default_collate(batch))


VALUES = [1, "a", np.float32(2), np.arange(2), np.array(["a"]), None, (1, None)]


@pytest.mark.parametrize("value", [*BATCHES, *VALUES], ids=str)
def test_default_convert(value):
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        assert ours.default_convert(value) is value and theirs.default_convert(value) is value
    else:
        check(lambda library, data: data.default_convert(value))


DTYPES = "float32 float64 float16 bfloat16 int64 int16 uint8 bool complex64".split()


@pytest.mark.parametrize("dtype", DTYPES)
def test_default_collate_of_tensors_of_every_dtype(dtype):
    check(lambda library, data: data.default_collate([library.ones(2, dtype=getattr(library, dtype))] * 2))


BAD_BATCHES = [[object()], [None, None], [[1], [1, 2]], [np.array("a")], [{"a": 1}, {"b": 1}], [{"a": 1}, 2]]


@pytest.mark.parametrize("batch", BAD_BATCHES, ids=["objects", "None", "lengths", "text", "keys", "kinds"])
def test_default_collate_errors_are_of_the_same_class(batch):
    kinds = []
    for data in (ours, theirs):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            data.default_collate(batch)
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


BAD_LOADERS = [
    {"num_workers": -1},
    {"timeout": -1},
    {"prefetch_factor": 2},
    {"num_workers": 1, "prefetch_factor": -1},
    {"persistent_workers": True},
    {"sampler": [0], "shuffle": True},
    {"batch_sampler": [[0]], "batch_size": 2},
    {"batch_sampler": [[0]], "drop_last": True},
    {"batch_size": None, "drop_last": True},
    {"batch_size": 0},
    {"batch_size": -1},
    {"batch_size": 2.5},
    {"drop_last": 1},
    {"multiprocessing_context": "fork"},
    {"num_workers": 1, "multiprocessing_context": "no"},
    {"num_workers": 1, "multiprocessing_context": 3},
]


@pytest.mark.parametrize("wanted", BAD_LOADERS, ids=str)
def test_loader_errors_are_of_the_same_class(wanted):
    kinds = []
    for data in (ours, theirs):
        with pytest.raises(Exception) as caught:  # noqa: PT011
            data.DataLoader([1, 2, 3], **wanted)
        kinds.append(caught.type)
    assert kinds[0] is kinds[1]


ERRORS = [ValueError("v"), KeyError("k"), IndexError("i"), UnicodeDecodeError("utf8", b"x", 0, 1, "r")]


@pytest.mark.parametrize("error", ERRORS, ids=str)
def test_errors_of_workers_are_raised_alike(error):
    class Failing:
        def __len__(self):
            return 1

        def __getitem__(self, i):
            raise error

    caught = []
    for data in (ours, theirs):
        iterator = iter(data.DataLoader(Failing(), num_workers=1))
        with pytest.raises(Exception) as info:  # noqa: PT011
            next(iterator)
        assert list(iterator) == []  # used up, PyTorch's does not wait five seconds for its worker
        caught.append((info.type, str(info.value).splitlines()[:2], str(info.value).splitlines()[-1]))
    assert caught[0] == caught[1]


def test_public_names():
    parts = ("DataPipe", "datapipe", "DataChunk", "validation", "determin")
    datapipes = {name for name in theirs.__all__ if any(part in name for part in parts)}
    assert set(theirs.__all__) - datapipes - {"_DatasetKind"} <= set(ours.__all__)  # data pipes are deprecated there
