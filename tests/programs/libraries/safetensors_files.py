"""safetensors: every dtype, tied weights, metadata, slices, and what is refused."""
# needs: safetensors

import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
from shown import show

torch.manual_seed(0)
KINDS = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16, torch.int32,
         torch.int64, torch.bool, torch.complex64]
tensors = {str(kind).split(".")[1]: (torch.randn(3, 4) * 5).to(kind) for kind in KINDS}
tensors["empty"], tensors["number"] = torch.zeros(0, 3), torch.tensor(2.5)
save_file(tensors, "x.safetensors", metadata={"format": "pt"})
back = load_file("x.safetensors")
for name in sorted(back):
    show(name, back[name].dtype, back[name].shape, torch.equal(back[name], tensors[name]))
back = load(save({"a": tensors["bfloat16"], "b": tensors["float16"]}))
show("bytes", back["a"].float(), back["b"].float())
with safe_open("x.safetensors", framework="pt", device="cpu") as file:
    show("keys", sorted(file.keys()), file.metadata())
    part = file.get_slice("float32")
    show("slice", part.get_shape(), part.get_dtype(), part[1:, ::1], part[:, 2:3])
    show("tensor", file.get_tensor("bfloat16").float())


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(7, 4)
        self.head = torch.nn.Linear(4, 7, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, x):
        return self.head(self.embedding(x))


first, second = Tied(), Tied()
save_model(first, "y.safetensors")
show("loaded", *load_model(second, "y.safetensors"))
x = torch.arange(5)
show("same", torch.equal(first(x), second(x)), first(x).sum(), second.head.weight is second.embedding.weight)
view = torch.arange(10.0)
for bad in (first.state_dict(), {"a": view[::2]}, {"a": view[:5], "b": view[2:]}, {"a": [1]}):
    try:
        save_file(bad, "z.safetensors")
        show("saved")
    except (RuntimeError, ValueError) as error:
        show(type(error).__name__, str(error).strip().split(".")[0][:40])
