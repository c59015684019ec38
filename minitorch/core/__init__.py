"""The core, in reading order: `registry`, `arrays`, `dtypes`, `device`, `errors`, `storage`
(leaves); `grad_mode`, `graph`, `engine` (the graph and its backward pass); `tensor`; `layers`,
`backend` (the backend interface); `template`, `op`, `call`, `inplace` (from a definition to a
call). docs/architecture.md says what each teaches.
"""
