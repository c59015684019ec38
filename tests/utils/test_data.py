"""Datasets, samplers, collation and the DataLoader of one process."""

import collections
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minitorch
from minitorch.utils.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    get_worker_info,
    random_split,
)
from minitorch.utils.data import dataset as dataset_module


class Squares(Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        return i * i


class Stream(IterableDataset):
    def __init__(self, n, length=None):
        self.n, self.length = n, length

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        if self.length is None:
            raise TypeError("no length")
        return self.length


def lists(batches):
    return [batch.tolist() for batch in batches]


# Datasets


def test_tensor_dataset():
    data = TensorDataset(minitorch.arange(6).reshape(3, 2), minitorch.tensor([7, 8, 9]))
    assert len(data) == 3
    x, y = data[1]
    assert x.tolist() == [2, 3] and y.item() == 8
    assert [part.tolist() for part in data[1:]] == [[[2, 3], [4, 5]], [8, 9]]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(minitorch.zeros(3), minitorch.zeros(4))


def test_stack_dataset():
    pairs = StackDataset(Squares(3), TensorDataset(minitorch.arange(3)))
    assert pairs[2][0] == 4 and pairs[2][1][0].item() == 2
    named = StackDataset(a=Squares(3), b=range(3))
    assert named[2] == {"a": 4, "b": 2}
    assert named.__getitems__([0, 2]) == [{"a": 0, "b": 0}, {"a": 4, "b": 2}]
    assert len(named) == 3
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        StackDataset(Squares(3), Squares(4))
    with pytest.raises(ValueError, match="not both"):
        StackDataset(Squares(3), b=Squares(3))
    with pytest.raises(ValueError, match="At least one dataset"):
        StackDataset()


def test_stack_dataset_checks_nested_getitems():
    class Short(Squares):
        def __getitems__(self, indices):
            return [0]

    with pytest.raises(ValueError, match="Nested dataset's output size mismatch. Expected 2, got 1"):
        StackDataset(Short(3), Squares(3)).__getitems__([0, 1])


def test_concat_dataset():
    both = Squares(3) + Squares(2)
    assert isinstance(both, ConcatDataset) and len(both) == 5 and both.cumulative_sizes == [3, 5]
    assert [both[i] for i in range(5)] == [0, 1, 4, 0, 1]
    assert [both[i] for i in range(-5, 0)] == [0, 1, 4, 0, 1]
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        both[-6]
    with pytest.raises(AssertionError, match="empty iterable"):
        ConcatDataset([])
    with pytest.raises(AssertionError, match="IterableDataset"):
        ConcatDataset([Stream(2)])


def test_chain_dataset():
    both = Stream(2, length=2) + Stream(3, length=3)
    assert isinstance(both, ChainDataset) and list(both) == [0, 1, 0, 1, 2] and len(both) == 5
    with pytest.raises(AssertionError, match="only supports IterableDataset"):
        list(ChainDataset([Squares(2)]))


def test_subset_and_its_subclasses():
    part = Subset(Squares(10), [7, 1])
    assert len(part) == 2 and part[0] == 49 and part.__getitems__([1, 0]) == [1, 49]

    class Half(Subset):
        def __getitem__(self, i):
            return super().__getitem__(i) / 2

    with pytest.raises(NotImplementedError, match="__getitems__"):
        Half(Squares(10), [1])


def test_base_dataset_says_what_is_missing():
    with pytest.raises(NotImplementedError, match="__getitem__"):
        Dataset()[0]
    with pytest.raises(TypeError):
        IterableDataset()


def test_datasets_can_be_pickled():
    data = pickle.loads(pickle.dumps(Subset(TensorDataset(minitorch.arange(4)), [3, 0])))
    assert [data[i][0].item() for i in range(2)] == [3, 0]


# random_split


@given(st.integers(1, 60), st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 2**31))
def test_random_split_by_fractions_is_a_partition(n, parts, seed):
    fractions = [part / sum(parts) for part in parts]
    if sum(fractions) > 1:
        return  # rounding: not fractions in random_split's sense
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of empty parts
        splits = random_split(range(n), fractions, generator=minitorch.Generator().manual_seed(seed))
    assert sorted(i for split in splits for i in split.indices) == list(range(n))
    for split, fraction in zip(splits, fractions):
        assert 0 <= len(split) - int(n * fraction) <= len(parts)


def test_random_split_lengths_errors_and_repeatability():
    first = random_split(range(10), [3, 7], generator=minitorch.Generator().manual_seed(42))
    again = random_split(range(10), [3, 7], generator=minitorch.Generator().manual_seed(42))
    assert [list(a) for a in first] == [list(b) for b in again]
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        random_split(range(10), [3, 6])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        random_split(range(10), [1.5, -0.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        random_split(range(1), [0.5, 0.5])


# Samplers


@given(st.integers(0, 30), st.integers(1, 8), st.booleans())
def test_batch_sampler_cuts_the_sequence(n, size, drop_last):
    sampler = BatchSampler(range(n), size, drop_last)
    batches = list(sampler)
    assert len(batches) == len(sampler)
    flat = [i for batch in batches for i in batch]
    assert flat == list(range(n - n % size if drop_last else n))
    assert all(len(batch) == size for batch in batches[:-1])


@given(st.integers(1, 40), st.integers(1, 100), st.booleans(), st.integers(0, 2**40))
def test_random_sampler_covers(n, count, replacement, seed):
    generator = minitorch.Generator().manual_seed(seed)
    drawn = list(RandomSampler(range(n), replacement, count, generator))
    assert len(drawn) == count and set(drawn) <= set(range(n))
    if not replacement:
        for start in range(0, count - n + 1, n):
            assert sorted(drawn[start : start + n]) == list(range(n))


def test_samplers_follow_the_seed():
    minitorch.manual_seed(5)
    first = [list(RandomSampler(range(20))), list(SubsetRandomSampler(range(20)))]
    minitorch.manual_seed(5)
    assert first == [list(RandomSampler(range(20))), list(SubsetRandomSampler(range(20)))]
    assert list(SequentialSampler("abc")) == [0, 1, 2]


def test_weighted_random_sampler():
    drawn = list(WeightedRandomSampler([0.0, 1.0, 0.0, 3.0], 100))
    assert set(drawn) == {1, 3} and len(drawn) == 100
    assert sorted(WeightedRandomSampler([0.1, 0.2, 0.3], 3, replacement=False)) == [0, 1, 2]
    with pytest.raises(ValueError, match="1d sequence"):
        WeightedRandomSampler([[0.5, 0.5]], 1)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: RandomSampler(range(3), replacement=1), TypeError, "replacement should be a boolean"),
        (lambda: RandomSampler(range(3), num_samples=0), ValueError, "num_samples should be a positive integer"),
        (lambda: RandomSampler([]), ValueError, "num_samples should be a positive integer"),
        (lambda: WeightedRandomSampler([1.0], True), ValueError, "num_samples should be a positive integer"),
        (lambda: WeightedRandomSampler([1.0], 1, replacement=1), ValueError, "replacement should be a boolean"),
        (lambda: BatchSampler(range(3), 0, False), ValueError, "batch_size should be a positive integer"),
        (lambda: BatchSampler(range(3), 2, 1), ValueError, "drop_last should be a boolean"),
        (lambda: DistributedSampler(range(3), 2, 2), ValueError, "Invalid rank 2"),
    ],
)
def test_sampler_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_base_sampler_says_what_is_missing():
    with pytest.raises(NotImplementedError, match="__iter__"):
        iter(Sampler())


@given(st.integers(1, 30), st.integers(1, 7), st.booleans(), st.booleans(), st.integers(0, 3))
def test_distributed_sampler_shares_out(n, replicas, shuffle, drop_last, epoch):
    samplers = [DistributedSampler(range(n), replicas, rank, shuffle, 3, drop_last) for rank in range(replicas)]
    shares = []
    for sampler in samplers:
        sampler.set_epoch(epoch)
        shares.append(list(sampler))
        assert len(shares[-1]) == len(sampler)
    assert len({len(share) for share in shares}) == 1
    seen = [i for share in shares for i in share]
    if drop_last:
        assert len(set(seen)) == len(seen) == n - n % replicas
    else:
        assert set(seen) == set(range(n))


# Collation


def test_default_collate_kinds():
    Point = collections.namedtuple("Point", "x y")
    assert default_collate([1, 2]).dtype == minitorch.int64
    assert default_collate([1.0, 2.0]).dtype == minitorch.float64
    assert default_collate([True, False]).dtype == minitorch.bool
    assert default_collate([np.float32(1), np.float32(2)]).dtype == minitorch.float32
    assert default_collate([np.float64(1), np.float64(2)]).dtype == minitorch.float64
    assert default_collate(["a", "b"]) == ["a", "b"]
    assert default_collate([b"a", b"b"]) == [b"a", b"b"]
    point = default_collate([Point(1, "a"), Point(2, "b")])
    assert type(point) is Point and point.x.tolist() == [1, 2] and point.y == ("a", "b")
    pair = default_collate([(1, 2), (3, 4)])
    assert type(pair) is list and lists(pair) == [[1, 3], [2, 4]]
    arrays = default_collate([np.array([1, 2], np.int16), np.array([3, 4], np.int16)])
    assert arrays.dtype == minitorch.int16 and arrays.tolist() == [[1, 2], [3, 4]]


def test_default_collate_keeps_container_classes():
    counts = default_collate([collections.defaultdict(list, a=1), collections.defaultdict(list, a=2)])
    assert type(counts) is collections.defaultdict and counts["new"] == [] and counts["a"].tolist() == [1, 2]
    ordered = default_collate([collections.OrderedDict(b=1, a=2)] * 2)
    assert type(ordered) is collections.OrderedDict and list(ordered) == ["b", "a"]
    queue = default_collate([collections.deque([1, 2]), collections.deque([3, 4])])
    assert type(queue) is collections.deque and lists(queue) == [[1, 3], [2, 4]]


def test_default_collate_errors():
    with pytest.raises(TypeError, match="found <class 'object'>"):
        default_collate([object(), object()])
    with pytest.raises(TypeError, match="found <U1"):
        default_collate([np.array("a"), np.array("b")])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal size"):
        default_collate([[1, 2], [3]])
    with pytest.raises(RuntimeError, match="stack expects each tensor to be equal size"):
        default_collate([minitorch.zeros(2), minitorch.zeros(3)])


def test_default_convert():
    out = default_convert({"a": np.array([1, 2]), "b": [np.array(3.0), "s"], "c": (np.array([0]), None)})
    assert out["a"].tolist() == [1, 2] and out["b"][0].item() == 3.0 and out["b"][1] == "s"
    assert type(out["c"]) is list and out["c"][1] is None
    text = np.array(["a"])
    assert default_convert(text) is text


# The loader in one process


def test_loader_batches_in_order_and_shuffled():
    assert lists(DataLoader(Squares(5), batch_size=2)) == [[0, 1], [4, 9], [16]]
    assert lists(DataLoader(Squares(5), batch_size=2, drop_last=True)) == [[0, 1], [4, 9]]
    assert list(DataLoader(Squares(3), batch_size=None)) == [0, 1, 4]
    minitorch.manual_seed(1)
    loader = DataLoader(Squares(50), batch_size=8, shuffle=True)
    epochs = [sum(lists(loader), []) for _ in range(2)]
    assert epochs[0] != epochs[1]
    assert sorted(epochs[0]) == sorted(epochs[1]) == [i * i for i in range(50)]
    minitorch.manual_seed(1)
    assert [sum(lists(loader), []) for _ in range(2)] == epochs


def test_loader_generator_decides_alone():
    loader = DataLoader(Squares(20), shuffle=True, generator=minitorch.Generator().manual_seed(3))
    first = lists(loader)
    loader.generator.manual_seed(3)
    minitorch.manual_seed(99)
    assert lists(loader) == first


def test_loader_with_samplers():
    assert lists(DataLoader(Squares(9), batch_size=2, sampler=[5, 1, 3])) == [[25, 1], [9]]
    loader = DataLoader(Squares(9), batch_sampler=[[1], [2, 3]])
    assert lists(loader) == [[1], [4, 9]] and len(loader) == 2 and loader.batch_size is None
    keys = DataLoader({"a": 1, "b": 2}, sampler=["b", "a"], batch_size=None)
    assert list(keys) == [2, 1]


def test_loader_of_a_stream():
    assert lists(DataLoader(Stream(5), batch_size=2)) == [[0, 1], [2, 3], [4]]
    assert lists(DataLoader(Stream(5), batch_size=2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(3), batch_size=None)) == [0, 1, 2]
    assert len(DataLoader(Stream(5, length=5), batch_size=2)) == 3
    assert len(DataLoader(Stream(5, length=5), batch_size=2, drop_last=True)) == 2
    with pytest.raises(TypeError):
        len(DataLoader(Stream(5)))
    loader = DataLoader(Stream(3, length=1), batch_size=1)
    assert len(loader) == 1
    with pytest.warns(UserWarning, match="reported to be 1"):
        list(loader)


def test_loader_uses_getitems_and_custom_collate():
    class Batched(Squares):
        def __getitems__(self, indices):
            return [-i for i in indices]

    assert lists(DataLoader(Batched(4), batch_size=3)) == [[0, -1, -2], [-3]]
    data = TensorDataset(minitorch.arange(4))
    assert list(DataLoader(data, batch_size=2, collate_fn=lambda batch: type(batch))) == [list, list]


@given(st.lists(st.integers(-5, 4), min_size=1, max_size=8), st.booleans())
def test_gathering_rows_gives_what_collating_samples_gives(indices, nested):
    x = minitorch.arange(30.0).reshape(5, 2, 3)
    data = TensorDataset(x, minitorch.arange(5), x[:, 0].t()[0])
    if nested:
        data = Subset(Subset(data, [4, 3, 2, 1, 0]), range(5))
        indices = [i % 5 for i in indices]
    fast = dataset_module.gather(data, indices)
    slow = default_collate([data[i] for i in indices])
    assert type(fast) is type(slow) is list
    for a, b in zip(fast, slow):
        assert a.dtype == b.dtype and a.shape == b.shape and a.tolist() == b.tolist()
        assert a.stride() == b.stride()


def test_gathering_gives_way_to_subclasses():
    class Doubled(TensorDataset):
        def __getitem__(self, i):
            return self.tensors[0][i] * 2

    assert lists(DataLoader(Doubled(minitorch.arange(3)), batch_size=3)) == [[0, 2, 4]]
    assert dataset_module.gather(Doubled(minitorch.arange(3)), [0]) is None


def test_batches_of_a_tensor_dataset_are_copies():
    x = minitorch.zeros(4)
    for (batch,) in DataLoader(TensorDataset(x), batch_size=2):
        batch += 1
    assert x.tolist() == [0, 0, 0, 0]


def test_gradients_flow_through_a_tensor_dataset():
    x = minitorch.ones(3, requires_grad=True)
    (batch,) = next(iter(DataLoader(TensorDataset(x), batch_size=2)))
    batch.sum().backward()
    assert x.grad.tolist() == [1, 1, 0]


BAD_ARGUMENTS = [
    (dict(num_workers=-1), ValueError, "num_workers option should be non-negative"),
    (dict(timeout=-1), ValueError, "timeout option should be non-negative"),
    (dict(prefetch_factor=2), ValueError, "prefetch_factor option could only be specified in multiprocessing"),
    (dict(num_workers=1, prefetch_factor=-1), ValueError, "prefetch_factor option should be non-negative"),
    (dict(persistent_workers=True), ValueError, "persistent_workers option needs num_workers > 0"),
    (dict(sampler=[0], shuffle=True), ValueError, "sampler option is mutually exclusive with shuffle"),
    (dict(batch_sampler=[[0]], batch_size=2), ValueError, "batch_sampler option is mutually exclusive"),
    (dict(batch_sampler=[[0]], shuffle=True), ValueError, "batch_sampler option is mutually exclusive"),
    (dict(batch_sampler=[[0]], sampler=[0]), ValueError, "batch_sampler option is mutually exclusive"),
    (dict(batch_sampler=[[0]], drop_last=True), ValueError, "batch_sampler option is mutually exclusive"),
    (dict(batch_size=None, drop_last=True), ValueError, "batch_size=None option disables auto-batching"),
    (dict(batch_size=0), ValueError, "batch_size should be a positive integer"),
    (dict(multiprocessing_context="fork"), ValueError, "multiprocessing_context can only be used with"),
    (dict(num_workers=1, multiprocessing_context="no"), ValueError, "should specify a valid start method"),
    (dict(num_workers=1, multiprocessing_context=3), TypeError, "should be a valid context object"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), BAD_ARGUMENTS)
def test_loader_argument_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        DataLoader(Squares(4), **arguments)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [(dict(shuffle=True), "shuffle"), (dict(sampler=[0]), "sampler"), (dict(batch_sampler=[[0]]), "batch_sampler")],
)
def test_a_stream_admits_no_order(arguments, name):
    with pytest.raises(ValueError, match=f"expected unspecified {name} option"):
        DataLoader(Stream(3), **arguments)


def test_loader_attributes_are_fixed():
    loader = DataLoader(Squares(4), batch_size=2)
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader.batch_size = 3
    loader.collate_fn = sum
    assert list(loader) == [1, 13]


def test_loader_timeout_needs_workers_and_iterators_stay_here():
    with pytest.raises(AssertionError, match="timeout"):
        iter(DataLoader(Squares(4), timeout=1))
    with pytest.raises(NotImplementedError, match="cannot be pickled"):
        pickle.dumps(iter(DataLoader(Squares(4))))
    assert get_worker_info() is None


def test_pin_memory_without_an_accelerator_warns():
    if hasattr(minitorch, "cuda") and minitorch.cuda.is_available():
        pytest.skip("there is page-locked memory here")
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert lists(DataLoader(Squares(2), batch_size=2, pin_memory=True)) == [[0, 1]]


def test_a_sampler_without_end_begins_at_once():
    sampler = minitorch.utils.data.RandomSampler(range(10), replacement=True, num_samples=10**10)
    assert len(sampler) == 10**10 and next(iter(sampler)) in range(10)


def test_a_distributed_sampler_needs_both_numbers():
    sampler = minitorch.utils.data.distributed.DistributedSampler
    for options in ({}, {"rank": 0}, {"num_replicas": 2}):
        with pytest.raises(RuntimeError, match="num_replicas= and rank="):
            sampler(range(4), **options)
    assert list(sampler(range(4), num_replicas=2, rank=1, shuffle=False)) == [1, 3]


def test_collate_functions_at_their_private_place():
    from minitorch.utils.data import _utils
    from minitorch.utils.data._utils.collate import collate_tensor_fn, default_collate
    assert default_collate is minitorch.utils.data.default_collate and _utils.collate.default_collate is default_collate
    assert collate_tensor_fn([minitorch.ones(2), minitorch.zeros(2)]).shape == (2, 2)


def test_N_23_the_loader_shuffles_drops_and_counts():
    data = TensorDataset(minitorch.arange(10))
    loader = DataLoader(data, batch_size=4)
    assert len(loader) == len(list(loader)) == 3 and loader.batch_size == 4
    assert len(DataLoader(data, batch_size=4, drop_last=True)) == 2
    shuffled = minitorch.cat([x for x, in DataLoader(data, batch_size=4, shuffle=True)])
    assert sorted(shuffled.tolist()) == list(range(10))
