"""Saving, loading, pickling and copying, without PyTorch: see parity/test_serialization.py for the exchange with it."""

import base64
import copy
import io
import os
import pickle
import stat
import subprocess
import sys
import textwrap
import zipfile
import zlib
from collections import OrderedDict, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minitorch
from minitorch import nn
from minitorch.core.tensor import Tensor
from minitorch.serialization import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    load,
    safe_globals,
    save,
)
from minitorch.serialization.formats import load_file, load_npz, save_file, save_npz
from minitorch.serialization.tensors import rebuild_meta_tensor_no_storage
from tests.helpers.archives import archived, loaded, saved, tensor

DTYPES = "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 complex64 complex128".split()


def same_memory(a, b):
    return a.untyped_storage() == b.untyped_storage()


# ------------------------------------------------------------------ files that PyTorch 2.13 wrote
GOLDEN = {                                                 # zlib-compressed, in base 85
    "zip":
        "c-o~_U2ofD6n^tjCv!(X#-"
        "OY~8Q&>vsgpEGv#w2>l`!yNsi&a`X|i1BZDVll9Q#f8fg%N=lyS!|n7Du&Zn@Y67w{K`#KZ*`NFX7&fWN@|+HPt)bb-"
        "{$i4*5M&w0-AImfAqu{c7>BpNuT&?%%?YE#?83k`)R>DGsOwK9R;4;<ZS2T-"
        "a$MghBK1M3h`Ra4ioN;K23`Kwj~Tez{Isf35<yacgSJwknNLR=*#Wlzg(qUkm-TX?Ij=?$4+!!|8>FU!MNDpgNVXPbH|I~X_@!dG"
        "=uA=liCJR}@K0h09?J*%xYoDfeE;5S7i#>DtOjEiwGvJWReYcc_k5txu*(g6{eYSJK0u9;{in+|N6!Qx_UA5Mu8hJM_IohI;v1W!"
        "6J17=*9r{{`k?DXY4<+x<v4CRXun5BI4^Df8J1fG%L*>(r!>L;j^yo-"
        "s#N(;|9zn`tMy2JAwc)`hg4_h{^BD^R@Y}?+d$DJZu7+$&oFQ<;EUrVtR%8M-"
        "?UO7n4k(7m3siY`@6iYGMgLyI1gV$VXuM;>Y!TGz+m-MHwAb}9b@shdQ(($ce=`#*-"
        "4zg~pIYvx57uj3hB`$QJ=m=L$;{#Z_YZE9*aAC;J&+)K)7(DGY0Ds*ew_CW;kAKmLzX&TdK1X2Hx#c}5v-"
        "oRn{B=)%TQf+ez(a+=B?&gXtJkzUl;#aqjcO0xl;E=W!#2y4`M;&gD(!34=CQ#(@bGp$N`op}Al5nhL05=oWZ=p^yd%N8sw}fi=p"
        "|X^ZA_c~>J6xg5v2#45=gk6u8E1{U*CLtKSR5fS?$OHoI!kl0Mpy1wW|=>Yl&)w^X4$a`0oGx^Czql%#P-"
        "pMa4rtucWe~Ydgj+Hb}LS3yt=FItq(SK=~&8!KxB{q=0Eu?hDwuO|Z$9L$$IzO5B4(*9g%u)6iS_^$fcq+#@wipw+-uTM(+13&#-"
        "PvUbb#ZH>ODb*X(p?R#p!P($l<mr^@RO;~42Z*{g;1-"
        "7$>C_NoinyFT%29zc|Z^qkt_`Au7l0$ee26?m9$`Tqqf0lc<%;JB($^AG&{M_;5qcs+P@2hfpg!qfciyxs~&!TU9d3kww|4pKme)"
        "Rq@mqu^E9M57uxVLkC`25YG?BN1%Qn#_C(G74%VNYvWYg8-g|0zWf^7%|j$Smb^Ss|A%3B{!%J1>=rd7)Uy6-tGIP|7-"
        "6;<vB={3u0rq#TtICbqBBzY?bgl!yO^gwg&5I1@mA979Jf(J+aBiOmK`9{5QHHfNZ}zlf#-JW?DDF2FF{za1t5@P}~}+FfC+e**-"
        "u-LVih6UO?dH;DZyjLn9z{>cks*)uXY?P08cZbEUx*u^l`-}jRN?0X3mp0hC6-;Q$u@DD!lzYj`H<hXMOV--"
        "8!M~;Wi-$lKfnmkz3oU^fuo`d_u9^+ihxa05o{sTK<rlb",
    "before 1.6":
        "c-n<i*>2N76tx{UfuTUzDQnqNmXM@vny{5pD2wTWD<r>Emg@|}m22nNld?#W`jS%k1|E3iGx!u<`2-"
        "{$xMQb<LJ*ek*mLL3x#w<c+6U(U_&EK2X!-"
        "N}U|~(0`Ie!z4JB_4D2mdILJ_*5Z?Ezw_QC)v8CbjN#P@{oxy^&R=LFC;EJjN4rpfKtd&^^F+R*b>A1UKT7zy+lnw6oQ7YJkx-"
        "O?pS7`#Nz&|9rdpVEFMtaBf#OKyGc3i2AWxv0(~Ucc|Tf<YTLk;z*s*}j7AiZF5;1-"
        "m6YKW28sms*}*w*?R4FtS(641M{$m6Jrs(s{{|O|P(NKXk-"
        "Gs$|Gnd&s6XS}Khd%axJJSg~5gj)b$@Y+<L-KP$kV8H$lH^mXhqbVFT7|NDldvs++~iM<IYfq@3OY-AffA@?;>sQnU3H!|xuV5k!"
        "DU<!3e;IN4!2~>ciDO8v7Q%cwt;lVBR(b`C@R;iV%MI0k^mC%n9`tWdyctYT$iBqjMPFp+aioL>xQ+I@eq2&CGMM?!{+c=lxX|vY"
        "n4K<GArKD6VVZ?D^5f}6S$am9;9Kz)h!==B%PY8~UkB?W7CxRLg9G2m09b7il4z8p`uL@i<QP@Z}*WaONqO>jksc@y~^Vi!8SN_v"
        "Ytz5)NHxHxI4S5)oOC@zP-bOVE$_;~M)HY&)8zyf4r;$b&ZvCQC=r$939>}JzZ?U=kM^%c|$|&v-n=G-JNZO}^yOPah%I01-"
        "wiZoBslqTNaNop(u6BWjiD6o1>R|_uOg!!$ypTDN_D@{frHOH4#sm4oU|1SaaF+1Y%E~Eogcp=BvyNF4bFOX6xJYH&Eao&$^NV<9"
        "s7?o_i3Ki4aZ!$9kJ_odGOhIrIMb^)^<Lx9#|x5e`m9YzQMc`tyV<S1s%XmQX|DV2SAKue8}yQ_k$fWgLh_YFnN*Ykk|C1f<WI-"
        "!PAm",
}


@pytest.mark.parametrize("name", GOLDEN)
def test_files_that_pytorch_wrote(name):
    found = loaded(zlib.decompress(base64.b85decode(GOLDEN[name])))
    model, (parameter, conj, short, *rest) = found["model"], found["more"]
    assert list(model) == ["w", "t", "n"] and model._metadata == OrderedDict([("", {"version": 1})])
    assert model["w"].array.tolist() == np.arange(12).reshape(3, 4).tolist() and same_memory(model["w"], model["t"])
    assert model["t"].stride() == (1, 4) and model["n"].array == 7 and model["n"].dtype is minitorch.int64
    assert type(parameter) is nn.Parameter and parameter.requires_grad and parameter.array.tolist() == [1, 1]
    assert conj.array.tolist() == [1 - 2j] and short.array.tolist() == [0, 1, 2] and short.dtype is minitorch.uint16
    assert rest == [minitorch.Size([2]), minitorch.float16, b"ab", {1}]


# ------------------------------------------------------------------ what goes through unchanged
def exact(value):
    """`value` with the types and signs that == does not look at."""
    if isinstance(value, dict):
        return type(value), [(exact(k), exact(v)) for k, v in value.items()]
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(map(repr, value))
    return type(value), [exact(x) for x in value] if isinstance(value, (list, tuple)) else repr(value)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() |
    st.complex_numbers(allow_nan=False),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner) |
    st.sets(st.integers() | st.text()) | st.dictionaries(st.text(), inner).map(OrderedDict), max_leaves=20)


@given(plain, st.integers(2, 5), st.booleans())
@settings(max_examples=60, deadline=None)
def test_plain_objects(value, protocol, zipped):
    data = saved(value, pickle_protocol=protocol, _use_new_zipfile_serialization=zipped)
    for weights_only in (True, False):
        assert exact(loaded(data, weights_only=weights_only)) == exact(value)


@st.composite
def views(draw):
    """An array of any dtype and a few views of it, of any steps that a tensor can have."""
    dtype = draw(st.sampled_from(DTYPES))
    base = np.arange(24).astype(dtype).reshape(draw(st.sampled_from([(24,), (4, 6), (2, 3, 4), (24, 1)])))
    base = base.transpose(draw(st.permutations(range(base.ndim)))).copy(order=draw(st.sampled_from("CFK")))
    found = [base]
    for _ in range(draw(st.integers(0, 3))):
        steps = tuple(slice(draw(st.integers(0, n - 1)), None, draw(st.integers(1, 3))) for n in base.shape)
        found.append(base[steps].transpose(draw(st.permutations(range(base.ndim)))))
    found.append(np.broadcast_to(base[..., :1], base.shape))
    return found


@given(views(), st.booleans())
@settings(max_examples=200, deadline=None)
def test_views_share_memory_again(arrays, zipped):
    tensors = [tensor(a) for a in arrays]
    for found in (loaded(saved(tensors, _use_new_zipfile_serialization=zipped)), pickle.loads(pickle.dumps(tensors)),
                  copy.deepcopy(tensors)):
        for a, b in zip(tensors, found):
            assert np.array_equal(a.array, b.array) and a.dtype == b.dtype
            assert (a.stride(), a.storage_offset()) == (b.stride(), b.storage_offset())
            assert a.untyped_storage().nbytes() == b.untyped_storage().nbytes()
            assert same_memory(b, found[0]) and not same_memory(a, b)
            assert b.array.flags.writeable


def test_arrays_that_no_tensor_describes_are_copied():
    base = np.arange(12, dtype=np.float32)
    odd = np.frombuffer(bytes(13), np.uint8)[1:9].view(np.float32)
    gaps = np.lib.stride_tricks.as_strided(base, (3,), (16,))
    fields = np.zeros(3, [("a", np.int8), ("b", np.float32)])["b"]
    for array in (base[::-1], odd, gaps, fields, base.reshape(3, 4)[:, ::-2]):
        for found in (loaded(saved(tensor(array))), pickle.loads(pickle.dumps(tensor(array)))):
            assert np.array_equal(found.array, array)


def test_bfloat16():
    pytest.importorskip("ml_dtypes", reason="bfloat16 is an optional dtype")
    x = tensor(np.arange(6).astype(minitorch.bfloat16.np).reshape(2, 3).T)
    for found in (loaded(saved(x)), pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert found.dtype is minitorch.bfloat16 and found.stride() == (1, 3)
        assert found.array.tolist() == x.array.tolist()


def test_parameters_and_attributes():
    parameter = nn.Parameter(tensor(np.ones(2, np.float32)), requires_grad=False)
    noted = nn.Parameter(tensor(np.ones(2, np.float32)))
    noted.note = [1]
    leaf = tensor(np.ones(2, np.float32)).requires_grad_()
    leaf.grad = tensor(np.ones(2, np.float32))
    for make in (lambda x: loaded(saved(x)), lambda x: loaded(saved(x), weights_only=False),
                 lambda x: pickle.loads(pickle.dumps(x))):
        a, b, c = make([parameter, noted, leaf])
        assert type(a) is type(b) is nn.Parameter and type(c) is Tensor
        assert (a.requires_grad, b.requires_grad, c.requires_grad) == (False, True, True)
        assert b.note == [1] and c.grad is None


class Marked(Tensor):
    """A subclass, to be allowed by name."""


def test_tensor_subclasses():
    x = tensor(np.arange(3.0))
    x.__class__ = Marked
    x.note = "n"
    assert type(copy.deepcopy(x)) is Marked and copy.deepcopy(x).note == "n"
    data = saved(x)
    with pytest.raises(pickle.UnpicklingError, match="Marked was not an allowed global"):
        loaded(data)
    with safe_globals([Marked]):
        found = loaded(data)
    assert type(found) is Marked and found.note == "n" and found.array.tolist() == [0, 1, 2]


def test_hooks_are_not_saved():
    x = tensor(np.ones(2)).requires_grad_()
    handle = x.register_hook(lambda g: g)
    with pytest.warns(UserWarning, match="hooks of a tensor are not saved"):
        assert loaded(saved(x)).hooks is None
    handle.remove()
    saved(x)


def test_factories_of_defaultdicts():
    for factory in (None, int, list, dict, set, float, str, OrderedDict):
        value = defaultdict(factory, {1: 2})
        found = loaded(saved(value))
        assert found == value and found.default_factory is factory
    with pytest.raises(pickle.UnpicklingError, match="not an allowed global"):
        loaded(saved(defaultdict(textwrap.dedent)))


def test_deepcopy_of_computed_tensors():
    y = tensor(np.ones(2)).requires_grad_() * 2
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(y)
    assert copy.deepcopy(y.detach()).array.tolist() == [2, 2]


def test_deepcopy_keeps_identity():
    shared = nn.Parameter(tensor(np.ones(2)))
    a, b = copy.deepcopy([shared, shared])
    assert a is b and a is not shared


# ------------------------------------------------------------------ where it is written
def test_paths_and_files(tmp_path):
    path = tmp_path / "x.pt"
    for f in (path, str(path), os.fsencode(path)):
        save([1], f)
        assert load(f) == [1]
    with open(path, "wb") as file:
        save([2], file)
    with open(path, "rb") as file:
        assert load(file) == [2]
    with open(path, "rb", buffering=0) as file:
        assert load(file) == [2]
    assert os.listdir(tmp_path) == ["x.pt"]


def test_file_inside_a_file():
    data = saved(tensor(np.arange(3)))
    file = io.BytesIO(b"something before" + data)
    file.seek(16)
    assert load(file).array.tolist() == [0, 1, 2]
    old = io.BytesIO()
    for value in ([1], tensor(np.arange(3)), "x"):        # the old format can stand in a row
        save(value, old, _use_new_zipfile_serialization=False)
    old.seek(0)
    assert load(old) == [1] and load(old).array.tolist() == [0, 1, 2] and load(old) == "x"


class Slow:
    """A stream that cannot seek and takes or gives only a few bytes at a time."""

    def __init__(self, data=b""):
        self.data = io.BytesIO(data)

    def write(self, data):
        return self.data.write(bytes(data)[:100])


class Plain:
    """A file with nothing but read, seek and tell."""

    def __init__(self, data):
        file = io.BytesIO(data)
        self.read, self.seek, self.tell = file.read, file.seek, file.tell


def test_streams():
    stream, value = Slow(), {"x": tensor(np.arange(100.0))}
    save(value, stream)
    data = stream.data.getvalue()
    assert data == saved(value)
    assert load(Plain(data))["x"].array.tolist() == list(range(100))
    with pytest.raises(AttributeError, match="no attribute 'read'.*seekable"):
        load(stream)


def test_the_same_object_gives_the_same_bytes():
    value = {"x": tensor(np.arange(3)), "y": [1, "a"]}
    assert saved(value) == saved(copy.deepcopy(value))


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.pt"
    save("old", path)
    before = path.read_bytes()
    with pytest.raises((AttributeError, pickle.PicklingError)):
        save(lambda: 0, path)
    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, no_space)
            with pytest.raises(OSError, match="No space left"):
                save("new", path)
        assert path.read_bytes() == before and os.listdir(tmp_path) == ["x.pt"]


def no_space(*args):
    raise OSError(28, "No space left on device")


KILLED = """
    import os, sys
    import numpy as np
    from minitorch import backends
    from minitorch.serialization import save
    from minitorch.core.tensor import wrap
    from minitorch.serialization import archive

    put, count = archive.Writer.put, 0

    def put_and_die(self, data):
        global count
        put(self, data)
        count += 1
        if count == int(sys.argv[2]):
            os.kill(os.getpid(), 9)
    archive.Writer.put = put_and_die
    if sys.argv[2] == "-1":
        os.replace = lambda *names: os.kill(os.getpid(), 9)
    save({"x": wrap(np.ones(300_000), backends.get("cpu"))}, sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process with a signal")
@pytest.mark.parametrize("step", [1, 6, 13, -1])
def test_a_killed_save_leaves_the_old_file(tmp_path, step):
    path = tmp_path / "x.pt"
    save({"x": "old"}, path)
    before = path.read_bytes()
    root = os.path.dirname(os.path.dirname(minitorch.__file__))
    died = subprocess.run([sys.executable, "-c", textwrap.dedent(KILLED), str(path), str(step)],
                          env={**os.environ, "PYTHONPATH": root}, capture_output=True)
    assert died.returncode == -9, died.stderr
    assert path.read_bytes() == before and load(path) == {"x": "old"}
    left = [name for name in os.listdir(tmp_path) if name != "x.pt"]
    assert len(left) == 1 and left[0].startswith(".x.pt.") and left[0].endswith(".tmp")
    save({"x": "new"}, path)
    assert load(path) == {"x": "new"}


@pytest.mark.skipif(os.name != "posix", reason="permissions and links as on POSIX systems")
def test_permissions_and_links_are_kept(tmp_path):
    real, link = tmp_path / "real.pt", tmp_path / "link.pt"
    save(1, real)
    real.chmod(0o640)
    link.symlink_to(real)
    save(2, link)
    assert link.is_symlink() and load(real) == 2 and stat.S_IMODE(real.stat().st_mode) == 0o640
    mask = os.umask(0o027)
    try:
        save(1, tmp_path / "new.pt")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new.pt").stat().st_mode) == 0o640
    save(1, "/dev/null")
    assert not os.path.isfile("/dev/null")


def test_long_names(tmp_path):
    path = tmp_path / ("n" * 250 + ".pt")
    save(1, path)
    assert load(path) == 1


# ------------------------------------------------------------------ options
def test_arguments_are_checked(tmp_path):
    data = saved([1])
    cases = [(TypeError, "weights_only is True or False", dict(weights_only=0)),
             (RuntimeError, "explicit pickle_module", dict(pickle_module=pickle)),
             (TypeError, "encoding: options of the Unpickler", dict(encoding="latin1")),
             (ValueError, "must be a file path", dict(mmap=True))]
    for kind, message, options in cases:
        with pytest.raises(kind, match=message):
            loaded(data, **options)
    tensor_data = saved(tensor(np.ones(1)))
    for kind, message, where in ((TypeError, "map_location is a device", 3),
                                 (TypeError, "returns a storage", lambda *a: 3),
                                 (RuntimeError, "don't know how to restore", "nonsense"),
                                 (RuntimeError, "don't know how to restore", {"cpu": "nonsense"})):
        with pytest.raises(kind, match=message):
            loaded(tensor_data, map_location=where)
    with pytest.raises(ValueError, match="pickle_protocol must be 2 to"):
        saved(1, pickle_protocol=0)
    with pytest.raises(RuntimeError, match="mmap can only be used"):
        save(1, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
        load(tmp_path / "old.pt", mmap=True)


def test_memory_mapped(tmp_path):
    x = tensor(np.arange(100_000.0))
    save([x, tensor(x.array[5:]), tensor(np.zeros(0))], tmp_path / "x.pt")
    a, b, empty = load(tmp_path / "x.pt", mmap=True)
    assert same_memory(a, b) and a.untyped_storage().nbytes() == 800_000 and empty.numel() == 0
    a.array[5] = -1
    assert b.array[0] == -1 and load(tmp_path / "x.pt")[1].array[0] == 5


class Point:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return self.x == other.x


class Slotted:
    __slots__ = ("x",)


def test_allowed_classes():
    value = [Point(tensor(np.ones(1)).array.item()), Point("a")]
    data = saved(value)
    try:
        add_safe_globals([Point, (Slotted, "elsewhere.Slotted")])
        assert get_safe_globals() == [Point, (Slotted, "elsewhere.Slotted")]
        assert loaded(data) == value
        with safe_globals([Slotted]):
            assert Slotted in get_safe_globals()
            slotted = Slotted()
            slotted.x = 3
            assert loaded(saved(slotted)).x == 3
        assert Slotted not in get_safe_globals()
    finally:
        clear_safe_globals()
    assert get_safe_globals() == []
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals\(\[.*Point\]\)"):
        loaded(data)
    assert loaded(data, weights_only=False) == value
    with pytest.raises(ValueError, match="tuple of length 2"):
        add_safe_globals([(Point,)])
    with pytest.raises(TypeError, match="second item in tuple to be str"):
        add_safe_globals([(Point, 3)])


def test_modules_whole():
    layer = nn.Linear(2, 3)
    found = loaded(saved(layer), weights_only=False)
    assert type(found) is nn.Linear and found.weight.array.tolist() == layer.weight.array.tolist()
    with pytest.raises(pickle.UnpicklingError, match="not an allowed global"):
        loaded(saved(layer))


def test_names_of_pytorch_in_trusted_files(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)        # importing it would fail
    linear = b"\x80\x02ctorch.nn.modules.linear\nLinear\n."
    assert loaded(archived(linear), weights_only=False) is nn.Linear
    with pytest.raises(pickle.UnpicklingError, match="needs torch.nn.NoSuchThing, which minitorch does not have"):
        loaded(archived(b"\x80\x02ctorch.nn\nNoSuchThing\n."), weights_only=False)


# ------------------------------------------------------------------ other formats
def test_safetensors(tmp_path):
    pytest.importorskip("safetensors", reason="safetensors is an optional package")
    value = {"a": tensor(np.arange(6.0).reshape(2, 3).T), "b": tensor(np.arange(3, dtype=np.int8)),
             "c": tensor(np.array(2))}
    path = tmp_path / "x.safetensors"
    save_file(value, path, metadata={"of": "a test"})
    for found in (load_file(path), load(path)):
        assert sorted(found) == ["a", "b", "c"]
        assert all(np.array_equal(found[k].array, value[k].array) and found[k].dtype == value[k].dtype for k in value)
    with pytest.raises(RuntimeError, match="share memory"):
        save_file({"a": value["a"], "d": value["a"]}, path)
    with pytest.raises(TypeError, match="expected a dict from names to tensors"):
        save_file({"a": 3}, path)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(RuntimeError, match="not a whole safetensors file"):
        load_file(path)
    with pytest.raises(FileNotFoundError):
        load_file(tmp_path / "absent.safetensors")


def test_without_the_safetensors_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(RuntimeError, match="pip install safetensors"):
        save_file({}, tmp_path / "x.safetensors")


def test_npz(tmp_path):
    value = {"a": tensor(np.arange(6.0).reshape(2, 3).T), "b/c": tensor(np.array(True))}
    path = tmp_path / "x.npz"
    save_npz(path, value)
    with np.load(path) as arrays:
        assert sorted(arrays.files) == ["a", "b/c"]
    found = load_npz(path)
    assert all(np.array_equal(found[k].array, value[k].array) and found[k].dtype == value[k].dtype for k in value)
    buffer = io.BytesIO()
    save_npz(buffer, value)
    assert load_npz(io.BytesIO(buffer.getvalue()))["a"].shape == (3, 2)
    np.savez(path, evil=np.array([Point(1)], dtype=object))
    for data in (path.read_bytes(), buffer.getvalue()[:-30], b"hello"):
        with pytest.raises(RuntimeError, match="not a whole .npz file"):
            load_npz(io.BytesIO(data))


def test_modules_saved_under_the_names_of_0_1_0_load():
    """Files hold the module that a class was defined in; 0.1.0 had no core/ and no nn/modules/."""
    from minitorch.serialization.loading import known
    assert known("minitorch.nn.containers", "Sequential") is minitorch.nn.Sequential
    assert known("minitorch.tensor", "Size") is minitorch.Size
    assert known("minitorch.optim.sgd", "SGD") is None     # still there: pickle finds it


@pytest.mark.parametrize("dtype", [minitorch.int16, minitorch.float64, minitorch.bfloat16])
def test_storages_by_themselves_keep_their_kind(dtype):
    """A typed storage is elements, an untyped one bytes; a typed one was saved as bytes."""
    x = minitorch.arange(4).to(dtype)
    for storage in (x.storage(), x.untyped_storage()):
        file = io.BytesIO()
        minitorch.save(storage, file)
        file.seek(0)
        found = minitorch.load(file)
        assert found.tolist() == storage.tolist() and len(found) == len(storage)


def test_tensors_without_values_are_saved_as_pytorch_saves_them():
    layer = nn.Linear(2, 3, device="meta")
    file = io.BytesIO()
    ints = minitorch.ones(4, dtype=minitorch.int8, device="meta")
    save({"state": layer.state_dict(), "p": layer.weight, "ints": ints},
               file)
    with zipfile.ZipFile(file) as archive:
        text = archive.read("archive/data.pkl")
        assert not [name for name in archive.namelist() if "/data/" in name]
    assert b"torch._utils\n_rebuild_meta_tensor_no_storage" in text
    file.seek(0)
    found = load(file, map_location="cpu")
    assert all(x.is_meta for x in (*found["state"].values(), found["p"], found["ints"]))
    assert type(found["p"]) is nn.Parameter and found["p"].requires_grad and found["p"].shape == (3, 2)
    assert found["ints"].dtype is minitorch.int8
    for size, stride in (((-1,), (1,)), ((2, 3), (1,)), ((2.0,), (1,)), ([2], [1])):
        with pytest.raises(RuntimeError, match="meta tensor is made of"):
            rebuild_meta_tensor_no_storage(minitorch.float32, size, stride, False)
