"""More cases that planted bugs once survived, found by `tests/mutation`; the first are in `test_noticing.py`."""

import copy
import inspect
import io
import os
import zipfile

import numpy as np
import pytest

import minitorch as torch
import minitorch.nn.functional as F
from minitorch import nn


def test_compiled_functions_tell_numbers_apart():
    compiled = torch.compile(lambda x, n, word="a": x * n if word == "a" else x - n)
    for n, word in ((2, "a"), (3, "a"), (2.0, "b"), (2, "b"), (True, "a"), (3, "a")):
        for _ in range(2):
            assert compiled(torch.full((2,), 5.0), n, word).tolist() == ([5 * n] * 2 if word == "a" else [5 - n] * 2)


def test_compiled_functions_tell_one_tensor_twice_from_two():
    x, y = torch.tensor([1.0]), torch.tensor([10.0])
    compiled = torch.compile(lambda a, b: a.add_(b) + b)
    for a, b in ((x, x), (x, y), (y, y), (y, x)) * 2:
        wanted = (lambda a, b: a.add_(b) + b)(*(c := a.clone(), c if a is b else b.clone()))
        assert compiled(a, b).tolist() == wanted.tolist() and a.tolist() == c.tolist()


def test_files_that_are_none():
    for wrong in (5, None, ["name"]):
        with pytest.raises(AttributeError, match="file-like object with a 'write'"):
            torch.save({}, wrong)


def test_compressed_files_are_refused_with_advice():
    buffer, packed = io.BytesIO(), io.BytesIO()
    torch.save({"a": torch.ones(3)}, buffer)
    with zipfile.ZipFile(buffer) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry))
    packed.seek(0)
    with pytest.raises(RuntimeError, match="compressed or encrypted"):
        torch.load(packed)


def test_what_is_shared_stays_shared_in_a_file():
    inner = [torch.ones(2)]
    buffer = io.BytesIO()
    torch.save({"a": inner, "b": inner, "c": inner[0], "name": "a" * 50, "again": "a" * 50}, buffer)
    buffer.seek(0)
    found = torch.load(buffer)
    assert found["a"] is found["b"] and found["c"].data_ptr() == found["a"][0].data_ptr()
    assert found["name"] == found["again"] == "a" * 50


def test_empty_tensors_anywhere_in_their_storage():
    x = torch.arange(6.0)
    buffer = io.BytesIO()
    torch.save([x, x[2:2], x[6:], x[3:5]], buffer)
    buffer.seek(0)
    found = torch.load(buffer)
    assert [y.tolist() for y in found] == [[0, 1, 2, 3, 4, 5], [], [], [3, 4]]


class Slotted:
    __slots__ = ("a", "__dict__")


def test_objects_with_slots_come_back():
    thing = Slotted()
    thing.a, thing.b = 1, 2
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    for safe in (False, True):
        buffer.seek(0)
        with torch.serialization.safe_globals([Slotted]):
            found = torch.load(buffer, weights_only=safe)
        assert (found.a, found.b) == (1, 2)
    plain = type(copy)("plain")                            # two attributes and no slots: a state of two entries
    from minitorch.serialization.unpickler import set_state
    set_state(plain, {"one": 1, "two": 2})
    assert (plain.one, plain.two) == (1, 2)


def test_a_distributed_sampler_needs_both_numbers():
    sampler = torch.utils.data.distributed.DistributedSampler
    for options in ({}, {"rank": 0}, {"num_replicas": 2}):
        with pytest.raises(RuntimeError, match="num_replicas= and rank="):
            sampler(range(4), **options)
    assert list(sampler(range(4), num_replicas=2, rank=1, shuffle=False)) == [1, 3]


def test_a_scaler_refuses_an_empty_state():
    scaler = torch.amp.GradScaler("cpu")
    with pytest.raises(RuntimeError, match="state dict is empty"):
        scaler.load_state_dict({})


def test_profiles_are_handed_over_when_ready():
    seen = []
    schedule = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1)
    with torch.profiler.profile(schedule=schedule, on_trace_ready=lambda profile: seen.append(profile)) as profile:
        for _ in range(4):
            torch.ones(2) + 1
            profile.step()
    assert seen == [profile]
    with torch.profiler.profile(on_trace_ready=lambda profile: seen.append("end")):
        torch.ones(2) + 1
    assert seen[1:] == ["end"]


def test_products_with_vectors_may_be_taken_again():
    x = torch.tensor([1.0, 2.0])
    _, pull = torch.func.vjp(lambda a: a * a, x)
    for _ in range(2):
        assert pull(torch.ones(2))[0].tolist() == [2, 4]
    _, pull, extra = torch.func.vjp(lambda a: (a * 3, "extra"), x, has_aux=True)
    assert pull(torch.ones(2))[0].tolist() == [3, 3] and extra == "extra"
    _, pull = torch.func.vjp(lambda a, b: a * 2, x, torch.ones(3))
    assert [found.tolist() for found in pull(torch.ones(2))] == [[2, 2], [0, 0, 0]]


def test_one_thread_is_enough():
    from minitorch.settings import blas
    before = torch.get_num_threads()
    try:
        for n in (2, 1) if (os.cpu_count() or 1) > 1 else (1,):
            torch.set_num_threads(n)
            assert torch.get_num_threads() == n and (blas() is None or blas()[1]() == n)
        with pytest.raises(RuntimeError, match="positive integer"):
            torch.set_num_threads(0)
    finally:
        torch.set_num_threads(before)


def test_summaries_end_at_a_depth():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))
    shown = [nn.summary(model, torch.ones(4, 2), depth=depth) for depth in (0, 1, None)]
    assert [len(found.table()) for found in shown] == [1, 3, 5]
    assert shown[0].flops == shown[2].flops == shown[2].rows[0].flops > shown[2].rows[1].flops > 0


def test_gradients_that_count_ties_twice_are_told():
    from minitorch.testing.diagnose import diagnose
    x = np.array([2.0, 2.0, 1.0, 0.5, 0.25])
    share = np.array([[0.5, 0.5, 0.0, 0.0, 0.0]])
    words = diagnose(np.array([1.0, 1.0, 0.0, 0.0, 0.0]), share, np.ones(1), x, ())
    assert any("ties counted twice" in text for text in words)
    assert not any("ties" in text for text in diagnose(np.array([0.5, 0.5, 1.0, 0, 0]), share, np.ones(1), x, ()))


def test_switches_of_other_libraries_have_their_names():
    assert torch.backends.mkldnn.__name__ == "minitorch.backends.mkldnn" and torch.backends.mkldnn.__doc__


def test_views_that_are_gone_are_forgotten():
    x = torch.ones(3, requires_grad=True) * 1
    for _ in range(2000):
        x[0]
    assert len(x._views) <= 32


def test_signatures_name_out():
    assert str(inspect.signature(torch.exp)) == "(input, *, out=None)"
    assert "out" not in inspect.signature(torch.squeeze).parameters


def test_results_of_several_numbers_are_arrays():
    x = torch.arange(6.0).reshape(2, 3)
    for found in (torch.var_mean(x), torch.std_mean(x), torch.aminmax(x), torch.linalg.slogdet(torch.eye(2)),
                  torch.frexp(torch.tensor(2.5)), torch.tensor([2.0, 1.0]).sort(), torch.tensor(3.0).max(0)):
        for part in found:
            assert isinstance(part.array, np.ndarray) and (part + 0).shape == part.shape


def test_functions_of_float32_are_as_exact_as_float32():
    x = torch.linspace(0.1, 9, 200, dtype=torch.float64)
    for name in ("erf", "erfc", "special.erfcx", "lgamma", "digamma", "special.i0e", "special.i1e", "special.log_ndtr",
                 "expm1", "log1p", "special.ndtr"):
        call = torch.special.__dict__[name.split(".")[1]] if "." in name else getattr(torch, name)
        np.testing.assert_allclose(call(x.float()).numpy(), call(x.float().double()).numpy(), rtol=1e-5, atol=2e-38,
                                   err_msg=name)


def test_old_names_of_interpolation():
    x = torch.arange(4.0).reshape(1, 1, 2, 2)
    with pytest.warns(UserWarning, match="deprecated"):
        assert F.upsample_bilinear(x, scale_factor=2).equal(
            F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True))
    with pytest.warns(UserWarning, match="deprecated"):
        assert F.upsample_nearest(x, 3).equal(F.interpolate(x, 3))


def test_lists_of_tensors_are_joined_into_what_is_given():
    a, b, out = torch.ones(2), torch.zeros(1, dtype=torch.int64), torch.zeros(3)
    assert torch.cat([a, a[:1]], out=out) is out and out.tolist() == [1, 1, 1]
    assert torch.cat([a, b]).dtype is torch.float32 and torch.stack([a, a], out=out.new_zeros(2, 2)).sum() == 4


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_einsum_rounds_16_bit_floats_once(dtype):
    torch.manual_seed(0)
    a, b = torch.randn(9, 200).to(dtype), torch.randn(200, 9).to(dtype)
    assert torch.einsum("ij,jk->ik", a, b).equal((a.float() @ b.float()).to(dtype))


def test_einsum_wants_one_dtype():
    with pytest.raises(RuntimeError, match="same dtype"):
        torch.einsum("ij,jk->ik", torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64))
