"""Figures of machine code: a device that runs nothing, occupancy, and the loop that works, found in a text of SASS."""


import pytest

pytest.importorskip("benchmarks", reason="only beside the sources")
pytest.importorskip("cupy", reason="arrays of the device are CuPy's")

import minitorch as torch  # noqa: E402
from benchmarks import cubins, dry, sass  # noqa: E402
from benchmarks.gpu_rows import ROWS  # noqa: E402

SASS = """
.section .text.other,"ax"
.text.other:
        /*0000*/                   EXIT ;
.text.sum:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/               @P0 EXIT ;
.L_x_1:
        /*0020*/                   LDG.E.128 R8, desc[UR4][R2.64] ;
        /*0030*/                   FADD.FTZ R4, R4, R8 ;
        /*0040*/                   FADD.FTZ R5, R5, R9 ;
        /*0050*/                   IADD3 R2, P1, R2, 0x10, RZ ;
        /*0060*/                   ISETP.NE.AND P0, PT, R2, R3, PT ;
        /*0070*/               @P0 BRA `(.L_x_1) ;
.L_x_2:
        /*0080*/                   LDG.E R8, desc[UR4][R2.64] ;
        /*0090*/                   FADD.FTZ R4, R4, R8 ;
        /*00a0*/                   FADD.FTZ R4, R4, R8 ;
        /*00b0*/                   FADD.FTZ R4, R4, R8 ;
        /*00c0*/                   FADD.FTZ R4, R4, R8 ;
        /*00d0*/              @!P1 BRA `(.L_x_2) ;
        /*00e0*/                   STG.E.U16 desc[UR4][R6.64], R4 ;
        /*00f0*/                   EXIT ;
.L_x_3:
        /*0100*/                   BRA `(.L_x_3) ;
"""


def test_the_loop_that_works_and_its_instructions(monkeypatch):
    class Done:
        returncode, stdout, stderr = 0, SASS, ""
    monkeypatch.setattr(sass, "tool", lambda name: name)
    monkeypatch.setattr(sass.subprocess, "run", lambda *args, **options: Done)
    instructions, labels = sass.code_of("some.cubin", "sum")
    assert len(instructions) == 17 and labels[".L_x_1"] == 2
    part = sass.main_part(instructions, labels)            # not the remainder, which has more arithmetic
    assert part.what == "loop" and part.bytes == 16
    assert sass.mix(part) == {"load": 1, "float": 2, "integer": 2, "control": 1}
    assert sass.cycles(part) == 6 / 128
    assert [i.bytes for i in instructions if i.kind == "store"] == [2]
    with pytest.raises(ValueError, match="no kernel 'product'"):
        sass.code_of("some.cubin", "product")


@pytest.mark.parametrize("word, kind", [
    ("HMMA.16816.F32.BF16", "tensor"), ("HGMMA.64x256x16.F32.BF16", "tensor"), ("IMAD.MOV.U32", "move"),
    ("IMAD.WIDE.U32", "integer"), ("FSETP.GEU.FTZ.AND", "float"), ("F2FP.BF16.F32.PACK_AB", "pack"),
    ("F2F.F64.F32", "convert"), ("MUFU.EX2", "special"), ("LDGSTS.E.BYPASS.128", "load"), ("LDSM.16.M88.4", "shared"),
    ("RED.E.ADD.F32.FTZ.RN.STRONG.GPU", "store"), ("REDUX.SUM", "shuffle"), ("STL.64", "spill"),
    ("LDGDEPBAR", "control"), ("DADD", "double"), ("SHF.R.U32.HI", "integer")])
def test_classes(word, kind):
    assert sass.kind_of(word) == kind


@pytest.mark.parametrize("threads, registers, shared, expected", [      # CUDA's occupancy calculator
    (256, 32, 0, (8, "warps")), (256, 141, 0, (1, "registers")), (256, 128, 16384, (2, "registers")),
    (384, 168, 197696, (1, "registers")), (128, 32, 100 << 10, (2, "shared memory")), (32, 16, 0, (32, "blocks"))])
def test_occupancy(threads, registers, shared, expected):
    assert cubins.occupancy(threads, registers, shared, cubins.LIMITS["90"]) == expected


def test_launches_at_full_size_without_a_gpu():
    rows = {row.name: row for row in ROWS}
    launch, = cubins.launches_of(rows["matmul 8192, bfloat16, NN"])
    assert (launch.entry, launch.code.arch, launch.blocks, launch.threads) == ("matmul_hopper", "90a", 132, 384)
    work, _ = rows["matmul 8192, bfloat16, NN"].make(torch, "dry", False)
    with dry.launches() as found:
        for _ in range(3):                                 # by a plan, from the second on
            work()
    assert found == [launch] * 3
    launch, = cubins.launches_of(rows["x + y, float32, 64M"])
    assert launch.entry == "map2" and launch.blocks * launch.threads * 8 == 1 << 26
    x = torch.ones(3, device="dry")
    with dry.launches() as found:
        assert (x + 1).tolist() == [0, 0, 0]               # nothing ran
    assert [launch.entry for launch in found] == ["map2"]
