"""The text of a sparse tensor, as PyTorch 2.13 prints it."""

from ..printing import format_array, format_tensor, suffixes_of

__all__ = ["text_of"]

NAMES = {"sparse_coo": ("indices",), "sparse_csr": ("crow_indices", "col_indices"),
         "sparse_csc": ("ccol_indices", "row_indices")}


def text_of(tensor):
    """``tensor(indices=tensor(...), values=tensor(...), size=..., nnz=..., layout=...)``."""
    own, indent = tensor.array.pattern, len("tensor(")
    arrays = [own.indices] if tensor.is_sparse else [own.compressed, own.plain]
    texts = []
    for name, array in zip((*NAMES[own.layout], "values"), (*arrays, tensor.array.values)):
        head = f"{name}=tensor("
        text = head + format_array(array, indent + len(head))
        texts.append(text + (f", size={tuple(array.shape)}" if not array.size else "") + ")")
    said = [s for s in suffixes_of(tensor) if not s.startswith("size=")]
    device, dtype, rest = [[s for s in said if s.startswith(word) == wanted] for word, wanted in (
        ("device=", True), ("dtype=", True), (("device=", "dtype="), False))]
    suffixes = [*device, f"size={tuple(tensor.shape)}", f"nnz={own.nnz}", *dtype, f"layout={tensor.layout}", *rest]
    return format_tensor(None, suffixes=suffixes, contents=(",\n" + " " * indent).join(texts),
                         new_line=tensor.is_sparse)
