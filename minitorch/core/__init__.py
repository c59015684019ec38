"""The core: all that a call and a backward pass run. In reading order:

- leaves: `registry`, `arrays`, `errors`, `dtypes`, `ranges`, `device`, `storage`, `attributes`
- the graph: `grad_mode`, `graph`, `tensor`, `hooks`, `layouts`, `engine` (the backward pass),
  `recording` (a backward pass that is itself recorded)
- the backend interface: `layers`, `backend`
- from a definition to a call: `op`, `template`, `generate`; `call` is all but the common case, with
  `promotion`, `older`, and the nodes `typed` and `complex`
- writes: `memory`, `views`, `inplace`, `out`

docs/architecture.md says what each teaches. Above the core, `registry` says how it reaches what
lies there: words and pictures (`late`), packages that may be absent (`guests`), and hooks.
"""
