# %% [markdown]
# # 18. A compiler you can read
#
# `compile` turns a function into a program, and the program into C. Nothing of it is hidden: in this notebook one small
# function goes all the way, from the trace to a loop, to C, to the instructions of the processor; two of the steps you
# write yourself.
#
# **You will be able to**
# * read what `compile` wrote down, and say what each line came from;
# * say how many passes over a row a function needs, and why softmax needs three;
# * print an expression as C;
# * find the inner loop in a disassembly.
#
# You need: notebooks 2, 4 and 12. Time: an hour.

# %%
import shutil
import subprocess

import minitorch as torch
from minitorch import check, viz
from minitorch.backends import native

print(native.reason() or "there is a C compiler")

# %% [markdown]
# ## The trace
#
# The first call runs as ever and is written down, array call by array call. The second call runs the program.


# %%
def weigh(x, scale):
    """Softmax of a scaled row, by hand."""
    z = x * scale
    powers = (z - z.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True)


x, scale = torch.randn(64, 100), torch.tensor(0.5)
traced = torch.compile(weigh, backend="numpy")
compiled = torch.compile(weigh, backend="c")
for _ in range(2):
    assert torch.allclose(traced(x, scale), weigh(x, scale))
    assert torch.allclose(compiled(x, scale), weigh(x, scale), atol=1e-6)
print(traced.source)

# %% [markdown]
# Each line is a call of NumPy, and each call goes over the whole array once: it reads 25,600 bytes and writes as many.
# The arithmetic costs less than the memory. A loop that does everything while a row is in the cache reads once and
# writes once.
#
# ## Exercise: passes over a row
#
# Not everything fits into one pass. A sum of a row is known only when the last column has been read; what needs it has
# to wait for the next pass. Given statements `(name, op, operands)` in order, in which pass is each value known? The
# ops `"sum"` and `"max"` reduce a row; loads have no operands.


# %%
def passes(statements):
    # <solution>
    found = {}
    for name, op, operands in statements:
        found[name] = max([found[a] for a in operands], default=0) + (op in ("sum", "max"))
    return found
    # </solution>


check.nb18.passes(passes)

# %% [markdown]
# Softmax needs its maximum before its sum, and its sum before its result: three passes, 0, 1 and 2.
#
# ## Fusion
#
# Calls go into one loop if they are over the same rows and columns and share data, unless a memory
# dependency forbids it. The picture has the trace on the left and the loops on the right.

# %%
picture = viz.fusion(compiled) if native.reason() is None else "without a C compiler there are no loops"
assert native.reason() is not None or [piece.kind for piece in picture.pieces] == ["loops"]
picture

# %% [markdown]
# ## Exercise: an expression as C
#
# The statements of a loop are expressions, and a tree of them becomes text by one short function that calls itself. A
# node is a name, a number, or `(op, a, b)` with `"add"`, `"subtract"`, `"multiply"` or `"divide"`.


# %%
def spell(node):
    # <solution>
    if isinstance(node, str):
        return node
    if isinstance(node, float):
        return f"{node}f"
    op, a, b = node
    sign = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}[op]
    return f"({spell(a)} {sign} {spell(b)})"
    # </solution>


check.nb18.spell(spell)

# %% [markdown]
# ## The C
#
# Look for the three passes: each is a loop over `j`. The line `#pragma omp simd` promises the compiler that the columns
# may be computed side by side, several in one instruction.

# %%
text = compiled.c_source
loop = text[text.find("static void k0"):text.find("int run0")] if "static void k0" in text else text
print(loop)
if native.reason() is None:
    assert text.count("#pragma omp simd") == 3 and "m_exp" in text

# %% [markdown]
# ## The instructions
#
# The compiler turned the loop into instructions. Those that work on several numbers at once end in `ps`, for *packed
# single*, on x86 processors; on ARM their registers are called `v0.4s`. The tool `objdump` shows them.

# %%
if native.reason() is None and shutil.which("objdump"):
    path = native.build(text).path
    lines = subprocess.run(["objdump", "-d", "--no-show-raw-insn", str(path)], capture_output=True, text=True).stdout
    packed = [line.strip() for line in lines.splitlines() if "ps " in line or ".4s" in line]
    print(f"{len(packed)} instructions on several numbers at once, such as", *packed[:6], sep="\n")
else:
    print("objdump or a C compiler is not installed here: there are no instructions to be shown.")

# %% [markdown]
# ## A network as one file
#
# The same loops make a file that needs no Python: weights, loops, one function.

# %%
if native.reason() is None:
    import tempfile
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    path = torch.export_c(net, torch.randn(1, 4), tempfile.mkdtemp() + "/net.c")
    text = path.read_text()
    assert "Python" not in text and "malloc" not in text
    print(text[-900:])

# %% [markdown]
# ## In real PyTorch
#
# `torch.compile` works in the same steps: TorchDynamo and AOTAutograd trace forward and backward pass, Inductor lowers
# to loops, fuses them, and prints C++ for the processor or Triton for the GPU; `TORCH_LOGS=output_code` shows it. The
# values are those of the eager function, up to the last digits.


# %%
def softmax_by_hand(torch):
    x = torch.arange(12.0, dtype=torch.float64).reshape(3, 4).requires_grad_()
    z = x * 0.5
    powers = (z - z.amax(-1, keepdim=True)).exp()
    y = powers / powers.sum(-1, keepdim=True)
    (y * y).sum().backward()
    return [y, x.grad]


check.in_pytorch(softmax_by_hand)

# %%
check.report()

# %% [markdown]
# **Remember**
# * Memory costs more than arithmetic: one loop that does ten things beats ten loops.
# * A reduction ends a pass. Count the reductions that wait for each other, and you have the passes.
# * A compiler of this kind is a tracer, one rule for fusion and a function that prints trees.
#
# **Go further.** Compile a whole training step and read its picture: which calls stayed, and what do `notes` say about
# them? Move the inputs to `"sim"` and read the CUDA in `compiled.source`: where are the three passes now?
#
# Next: [19. A model that writes: from counts to embeddings](19_embeddings.ipynb)
