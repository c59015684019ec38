"""The assembler takes the kernels and the simulator's conformance suite: the simulator itself never asks it."""


import pytest

sass = pytest.importorskip("benchmarks.sass", reason="only beside the sources")
pytest.importorskip("cupy", reason="CUDA sources are compiled by CuPy's NVRTC")
try:
    sass.tool("ptxas")
except FileNotFoundError as error:
    pytest.skip(str(error), allow_module_level=True)

from minitorch.backends.cuda.backend import kernel  # noqa: E402
from minitorch.core.registry import OPS  # noqa: E402
from tests.backends.cuda import kernel_checks  # noqa: E402, F401  skips where no kernel can be compiled
from tests.backends.cuda.assembled import (  # noqa: E402
    ROWS,
    codes_of_ops,
    complaint,
    conformance_codes,
    dry,
    one_of_each,
)

QUICK = ("-O0",)                                           # the same rules, in a third of the time


@pytest.mark.parametrize("code", list(conformance_codes()), ids=lambda code: code.entry)
def test_conformance_suite(code):
    assert complaint(code, "90", QUICK) == ""


def test_a_specialisation_of_each_source():
    rows = [OPS[name] for name in kernel.found if OPS[name] in ROWS]
    codes = one_of_each(dry.codes_of_programme() + codes_of_ops(rows))
    assert len({code.source.name for code in codes}) > 20
    said = {code.entry: complaint(code, "90", QUICK) for code in codes}
    assert not any(said.values()), {k: v[:300] for k, v in said.items() if v}


def test_what_ptxas_refuses_is_told(tmp_path):
    bad = tmp_path / "bad.ptx"
    bad.write_text(""".version 8.0
.target sm_90
.address_size 64
.visible .entry widen() { .reg .b32 a; .reg .b64 b; cvt.sat.s64.s32 b, a; ret; }
""")
    assert "Illegal modifier '.sat'" in sass.assemble(bad, "90", QUICK)
