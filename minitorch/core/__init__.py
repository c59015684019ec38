"""The core: everything that a call and a backward pass run. In reading order:

- `registry`: definitions and public functions by name, and the three ways to what lies above
- `arrays`, `errors`, `attributes`: questions about raw arrays, errors, attributes of tensors
- `dtypes`, `ranges`: PyTorch's names over NumPy's dtypes, promotion, which numbers fit
- `device`, `storage`: where memory lies (devices and their backends), and in which layout
- `grad_mode`, `graph`: a node for each recorded call, a version counter for each piece of memory
- `tensor`: an array with a node in the graph
- `hooks`, `layouts`: what runs beside a backward pass; the memory order of results and gradients
- `engine`, `recording`: the backward pass, a loop; and one that is itself recorded
- `layers`, `backend`: all that tensors and autograd know of an array library and its hardware
- `op`, `template`: definitions, which hold every fact about an op; the source of its calls
- `promotion`, `older`: inputs of different dtypes; signatures of older versions
- `memory`, `views`: elements that share memory; writes to views and to their bases
- `inplace`, `out`: the ops with a trailing underscore, assignment to a slice, ``out=``
- `call`, `typed`, `complex`: everything but the common case; nodes whose gradients change dtype
- `generate`: the functions that users call, compiled from their source when first called

docs/architecture.md has the table with line counts. Every file rests on earlier ones.
"""
