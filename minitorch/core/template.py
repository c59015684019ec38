"""The template of generated calls: the source of one op's public function and of its backward step.

This file decides what a call costs. `write_call` writes the source that, for `mul`,
``print(minitorch.mul.source)`` shows: unpack the inputs, check that they are the common case, run
the forward pass, wrap the result, and make a node if an input needs a gradient.

Each `fill` fills one of the templates below; the other functions return the lines for its slots.
"""

from inspect import Parameter

# promotions that leave two integers of one type as they are, so that the fast call takes them
WHOLE = ("common", "compared", "factor", "fitting")
HALF = "d.itemsize == 2 and d.kind in 'fV'"                # a 16-bit float
WIDEN = [f"if {HALF}:", "    F = F.fp32"]


def fill(template, **slots):
    """The lines of a template. A slot alone on its line is replaced by a list of lines with its
    indentation; a slot within a line is replaced by text."""
    lines = []
    for line in template.strip().split("\n"):
        text = line.lstrip()
        found = slots.get(text[1:-1]) if text.startswith("{") else None
        if found.__class__ is list:
            lines += indent(found, line[:len(line) - len(text)])
        else:
            lines.append(line.format(**slots))
    return lines


# ------------------------------------------------------------------ the call
# ``print(minitorch.exp.source)`` shows this one filled in.
CALL = """
def {name}({signature}):
    try:
        {unpack}
        {forward}
    except Exception as error:
        {failed}
    {wrap}
    {record}
    return result
"""


def write_call(op, bare, failed="return failed({})"):
    """The source of the function that users call; with `bare`, of ``op.bare``, to which the general
    call passes inputs that it has converted, of any dtype.

    `failed` is the statement for an error.
    """
    if op.variadic:
        return write_variadic(op, bare)
    given = f"op, error, ({arguments(op)}), {attributes(op)}"
    return "\n".join(fill(CALL, name=op.name, signature=signature(op), unpack=unpack(op, bare),
                          forward=run_forward(op), failed=[failed.format(given)],
                          wrap=wrap_result(op, op.inputs[0].name, bare), record=record(op, bare)))


def signature(op):
    parameters = [f"{x.name}=None" if x.optional else x.name for x in op.inputs]
    renamed = {ours for _, ours in numpy_names(op)}
    parameters += [f"{k}={d!r}" if d is not Parameter.empty else f"{k}=required" if k in renamed
                   else k for k, d in op.attrs]
    named = [f"{k}=None" for k, _ in numpy_names(op)] + (["out=None"] if takes_out(op) else [])
    return ", ".join(parameters + (["*", *named] if named else []))


# PyTorch accepts these names of NumPy's too: ``x.sum(axis=0, keepdims=True)``
NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}


def numpy_names(op):
    """Pairs of NumPy's name and ours for attributes of an op."""
    needed = [k for k, d in op.attrs if d is Parameter.empty]
    return [(theirs, ours) for theirs, ours in NUMPY_NAMES.items()
            if ours in dict(op.attrs) and (ours not in needed or needed[-1] == ours)]


def takes_out(op):
    return not op.view and "out" not in dict(op.attrs)


def arguments(op):
    return "".join(f"{x.name}, " for x in op.inputs)


def attributes(op):
    return "{" + ", ".join(f"{k!r}: {k}" for k, _ in op.attrs) + "}"


def indent(lines, by="    "):
    return [by + line for line in lines]


# ------------------------------------------------------------------ inputs
def unpack(op, bare):
    """Lines that set F (the backend), x0, x1, .. (raw arrays or numbers) and g0, g1, .. (True if
    they need gradients); in the fast call also `d` (the dtype) and `plain` (True if all inputs
    share it and the backend).

    With `bare` there are no checks, since the general call has already converted the inputs.
    """
    given = f"op, ({arguments(op)}), {attributes(op)}, {'out' if takes_out(op) else 'None'}"
    lines = [*renamed(op), *([] if bare else handed_over(op, given))]
    if [x.kind for x in op.inputs] == ["number", "number"]:
        lines += unpack_pair(op, bare)
    else:
        lines += [line for i, x in enumerate(op.inputs) for line in unpack_one(op, i, x, bare)]
    if not bare:
        lines += [*check_plain(op, given), *cast_dtype(op)]
    else:
        lines += [*(WIDEN if op.promotion and not op.native else []), *cast_dtype(op)]
    return [part for line in lines for part in line.split("\n")]


def renamed(op):
    """Lines that take attributes under NumPy's names."""
    lines = []
    for theirs, ours in numpy_names(op):
        lines += [f"if {theirs} is not None:", f"    {ours} = {theirs}"]
        if dict(op.attrs)[ours] is Parameter.empty:
            missing = f"{op.name}() missing 1 required positional argument: \"{ours}\""
            lines += [f"elif {ours} is required:", f"    raise TypeError('{missing}')"]
    return lines


def handed_over(op, given):
    """Lines that pass on calls in older signatures, and all calls in mixed precision."""
    lines = [f"if {x}.__class__ in SCALARS: "
             f"{f'return older({given})' if op.older else f'{x} = number_of({x})'}" for x in op.scalars]
    return (lines + (["if autocast.enabled:", f"    return autocast_call({given})"] if op.autocast
                     else []))


def check_plain(op, given):
    """Lines that pass all but the common case on to the general call."""
    checks = ["not plain"] if len(op.inputs) > 1 else []
    if op.promotion:
        checks += ["(d is not f32 and d is not f64)"]
    elif op.refuses:
        checks += [f"(x0.dtype is not f32 and x0.dtype.kind in {op.refuses!r})"]
    checks += ["out is not None"] if takes_out(op) else []
    if not checks:
        return []
    lines = but_for_integers(op, [*halves(op), f"return general({given})"])
    return [f"if {' or '.join(checks)}:", *indent(lines)]


def cast_dtype(op):
    """Lines for an attribute `dtype`: PyTorch casts the input before it computes."""
    if "dtype" not in dict(op.attrs):
        return []
    cast = [f"    return cast_first(op, ({arguments(op)}), {attributes(op)})"] if op.casts else []
    return ["if dtype is not None:", "    dtype = as_np(dtype)", *cast]


def halves(op):
    """Lines that call ``op.bare`` on tensors of one 16-bit type, which need no promotion."""
    numbers = [x.kind == "number" for x in op.inputs]
    if (not op.promotion or op.check or "V" in op.refuses or any(numbers)
        and numbers != [True, True]):
        return []
    checks = (["plain"] * (len(numbers) > 1) + ["x0.__class__ is x1.__class__"] * any(numbers)
              + [HALF])
    call = arguments(op) + ", ".join([f"{k}={k}" for k, _ in op.attrs])
    return [f"if {' and '.join(['out is None'] * takes_out(op) + checks)}:",
            f"    return op.bare({call})"]


def but_for_integers(op, lines):
    """`lines` under a condition that excludes two int32 or two int64 tensors, or one and a number:
    these stay in the fast call, as floats do."""
    if op.promotion not in WHOLE or len(op.inputs) != 2 or "i" in op.refuses or not takes_out(op):
        return lines
    fit = " and ".join([f"(x{i}.__class__ is F.ndarray or x{i}.__class__ is int and -2147483648 <= "
                        f"x{i} <= 2147483647)" for i in (0, 1)])
    unless = " or ".join([f"not (plain and (d is i64 or d is i32) and {fit})", "out is not None"])
    return [f"if {unless}:", *indent(lines), *(["op.check(x0, x1)"] if op.check else [])]


def unpack_one(op, i, x, bare):
    """Unpack one input; the first sets the backend and the dtype that the others must share."""
    t = x.name
    if i == 0:
        lines = [f"F = {t}.backend", f"x0 = {t}.array", f"g0 = {t}.needs_grad"]
        if op.promotion:
            lines += ["d = None" if x.kind == "other" else "d = x0.dtype"]
        return lines + ([] if bare or len(op.inputs) == 1 else ["plain = True"])
    same = f"{t}.backend is F"
    if x.kind != "other" and op.promotion:
        same += f" and x{i}.dtype is d"
    if op.inputs[0].kind == "other" and i == 1 and op.promotion:
        body = [f"x{i} = {t}.array", f"g{i} = {t}.needs_grad", f"d = x{i}.dtype",
                f"plain = {t}.backend is F"]
        other = [f"x{i} = {t}", f"g{i} = False", "plain = False", "d = f32"]
    else:
        body = [f"x{i} = {t}.array", f"g{i} = {t}.needs_grad",
                *([] if bare else [f"plain = plain and {same}"])]
        number = (f"({t} is None or {t}.__class__ in NUMBERS)" if x.optional
                  else f"{t}.__class__ in NUMBERS")
        other = [f"x{i} = {t}", f"g{i} = False", *([] if bare else [f"plain = plain and {number}"])]
    if x.kind == "number":
        return [f"if isinstance({t}, Tensor):", *indent(body), "else:", *indent(other)]
    if x.optional:
        return [f"if {t} is None:", f"    x{i} = None", f"    g{i} = False", "else:", *indent(body)]
    return body


PAIR = """
if isinstance({a}, Tensor):
    F = {a}.backend
    x0 = {a}.array
    g0 = {a}.needs_grad
    d = x0.dtype
    if isinstance({b}, Tensor):
        x1 = {b}.array
        g1 = {b}.needs_grad
        plain = x1.dtype is d and {b}.backend is F
    else:
        x1 = {b}
        g1 = False
        plain = {b}.__class__ in NUMBERS
{neither}
else:
    F = {b}.backend
    x0 = {a}
    g0 = False
    x1 = {b}.array
    g1 = {b}.needs_grad
    d = x1.dtype
    plain = {a}.__class__ in NUMBERS
"""


def unpack_pair(op, bare):
    """Unpack the inputs of an arithmetic operator: two, and either may be a number."""
    a, b = [x.name for x in op.inputs]
    if bare:
        return [line for line in fill(PAIR, a=a, b=b, neither=[]) if "plain" not in line]
    handed_over = f"    return general(op, ({a}, {b}), {attributes(op)}, out)"
    return fill(PAIR, a=a, b=b, neither=[f"elif not isinstance({b}, Tensor):", handed_over])


# ------------------------------------------------------------------ the forward pass and its result
def run_forward(op):
    attrs = [f"{k}={k}" for k, _ in op.attrs]
    arrays = ", ".join([f"x{i}" for i in range(len(op.inputs))] + attrs)
    if not op.keeps:
        return [f"y = F.{op.name}({arrays})"]
    full = f"{', '.join(['y', *kept(op)])} = F.full_{op.name}({arrays})"
    return [f"if {needs_grad(op)} and grad_mode.enabled:", f"    {full}", "else:",
            f"    y = F.{op.name}({arrays})"]


def kept(op):
    return ["kept_" + k for k in op.keeps]


RESULT = """
if y.__class__ is not F.ndarray:
    y = F.asarray(y)
{layout}
result = new(Tensor)
result.array = y
result.backend = {backend}
{view}
"""
RESULTS = """
{layout}
result = graph.wrap_outputs(y, {backend}, Tensor)
{view}
"""


def wrap_result(op, source, bare):
    """Lines that make tensors of the raw results."""
    backend = "F.backend" if bare else "F"                 # F may be a `Float32Compute`
    if op.outputs == 1:
        view = [f"mark_view(result, {source})"] if op.view else []
        return fill(RESULT, backend=backend, layout=lay_out(op, "elif"), view=view)
    view = [f"for t in result: mark_view(t, {source})"] if op.view else []
    return fill(RESULTS, backend=backend, layout=lay_out(op, "if"), view=view)


def lay_out(op, branch):
    """Lines that give the result the memory layout of the column `layout`. Most calls only check
    the flags of one array."""
    if not op.layout:
        return []
    arrays = "*x" if op.variadic else ", ".join([f"x{i}" for i in range(len(op.inputs))])
    results = ["y"] if op.outputs == 1 else [f"y[{i}]" for i in range(len(op.outputs))]
    look = " and ".join([f"{y}.flags.c_contiguous" for y in results])
    if op.outputs == 1 and "keepdim" in dict(op.attrs):
        look = f"y.ndim < 2 or {look}"
    if op.layout not in ("contiguous", "joined"):
        # The result is contiguous if these inputs are.
        looks = [f"x{i}.flags.c_contiguous" for i, x in enumerate(op.inputs) if x.kind != "number"]
        looks = looks or ["(x0 if x0.__class__ is F.ndarray else x1).flags.c_contiguous"]
        look = " and ".join(looks[:2]) if op.layout.endswith("two") else looks[0]
    return [f"{branch} not ({look}):", f"    y = laid_out[{op.layout!r}](F, y, {arrays})"]


def record(op, bare):
    """Lines that make a node if an input needs a gradient and recording is on."""
    if not op.differentiable:
        return []
    live = live_inputs(op)
    parents = "".join(f"{parent(i, x.name)}, " if i in live else "None, "
                      for i, x in enumerate(op.inputs))
    saved = "".join(f"{saved_value(op, field, live)}, " for field in op.saved_fields)
    dtypes = "".join(f"getattr(x{i}, 'dtype', None), " for i in range(len(op.inputs)))
    node = make_node(op, f"({parents})", f"({saved})", dtypes if bare else None)
    return [f"if {needs_grad(op)} and grad_mode.enabled:", *indent(node)]


def live_inputs(op):
    """The indices of the inputs that may need gradients."""
    return [i for i, x in enumerate(op.inputs) if x.kind != "other"
            and (op.joint or op.vjps[x.name])]


def needs_grad(op):
    """The condition, as text, under which an input needs a gradient."""
    needs = " or ".join(f"g{i}" for i in live_inputs(op))
    return f"({needs})" if " " in needs else needs


def parent(i, name):
    return f"({name}.node or {name}) if g{i} else None"


NODE = """
node = new({kind})
node.op = op
node.parents = {parents}
node.saved = {saved}
node.shape = {shape}
node.backend = F
node.time = graph.version_counter
node.hooks = None
{dtypes}
{attach}
if graph.node_hooks is not None:
    graph.tell_recorded(node, result)
"""


def make_node(op, parents, saved, dtypes):
    """Lines that make a node and attach it to the result; with `dtypes`, those of the inputs of a
    general call, a `TypedNode`."""
    kind, shape = "Node", "y.shape"
    attach = ["result.node = node", "result.needs_grad = True"]
    if op.outputs != 1:
        kind, shape = "MultiOutputNode", "tuple([v.shape for v in y])"
        which = op.outputs if isinstance(op.outputs, tuple) else "(True,) * len(result)"
        attach = [f"graph.attach_outputs(node, result, {which})"]
    if dtypes and op.complex == "holomorphic":
        kind = f"Complex{kind} if d.kind == 'c' else Typed{kind}"
    elif dtypes:
        kind = f"Typed{kind}"
    return fill(NODE, kind=kind, parents=parents, saved=saved, shape=shape, attach=attach,
                dtypes=[f"node.dtypes = ({dtypes})"] if dtypes else [])


def saved_value(op, field, live):
    """The expression for one saved value, None unless a formula that will run reads it."""
    known = {"out": "y", **dict(zip(op.keeps, kept(op)))}
    if isinstance(op.outputs, tuple):
        known |= {f"out{i}": f"y[{i}]" for i in range(len(op.outputs))}
    for i, x in enumerate(op.inputs):
        known |= {x.name: f"x{i}", x.name + "_shape": f"x{i}.shape", x.name
                  + "_dtype": f"x{i}.dtype"}
    value = known.get(field, field)
    if op.joint:
        return value
    if field in op.restores[:1]:
        return f"{value} if F.level or kept_{op.restores[1]}.shape != {value}.shape else None"
    readers = [i for i in live if field in op.reads.get(op.inputs[i].name, ())]
    if len(readers) == len(live):
        return value
    return f"{value} if {' or '.join(f'g{i}' for i in readers)} else None"


# ------------------------------------------------------------------ a list of tensors
LIST = """
def {name}({signature}):
    try:
        tensors = tuple({list})
        F = tensors[0].backend
        x = tuple([t.array for t in tensors])
        {checks}
        y = F.{name}(*x{attrs})
    except Exception as error:
        return failed(op, error, ({list},), {attributes})
    {wrap}
    {record}
    return result
"""
SAME = """
d = x[0].dtype
for t in tensors:
    if t.array.dtype is not d or t.backend is not F:
        break
else:
    t = None
if {differ}:
    return general(op, tensors, {attributes}, out)
"""
PARENTS = "tuple([(t.node or t) if t.needs_grad else None for t in tensors])"


def write_variadic(op, bare):
    """The call of an op on a list of tensors, such as `cat`: ``def cat(F, *tensors, dim)``."""
    name = op.inputs[0].name
    if bare:
        checks = ["d = x[0].dtype", *WIDEN] if op.promotion else []
    else:
        differ = ["t is not None", "out is not None"]
        differ += ["(d is not f32 and d is not f64)"] if op.promotion else []
        checks = fill(SAME, differ=" or ".join(differ), attributes=attributes(op))
    fields = {name: "x", "out": "y", name + "_shape": "tuple([v.shape for v in x])",
              name + "_dtype": "tuple([v.dtype for v in x])"}
    saved = "".join([f"{fields.get(field, field)}, " for field in op.saved_fields])
    node = []
    if op.differentiable:
        dtypes = "*[v.dtype for v in x], " if bare else None
        node = ["if grad_mode.enabled and any([t.needs_grad for t in tensors]):",
                *indent(make_node(op, PARENTS, f"({saved})", dtypes))]
    return "\n".join(fill(
        LIST, name=op.name, signature=signature(op), list=name, checks=checks,
        attrs="".join([f", {k}={k}" for k, _ in op.attrs]), attributes=attributes(op),
        wrap=wrap_result(op, f"{name}[0]", bare), record=node))


# ------------------------------------------------------------------ the backward step
PULL = """
def pull(F, g, saved, parents):
    {unpack}
    {together}
    {restore}
    return {gradients}
"""


def write_pull(op):
    """The source of ``pull(F, g, saved, parents)``, which returns a gradient for each parent, and
    None for a parent that is None."""
    unpack = [f"{''.join([f'{x}_, ' for x in op.saved_fields])}= saved"] if op.saved_fields else []
    together, restore = [], []
    if op.joint:
        gradients = f"joint(F, g, tuple([p is not None for p in parents]){read(op, None)})"
    else:
        n = range(len(op.inputs))
        unpack += [f"{''.join([f'p{i}, ' for i in n])}= parents"]
        gradients = f"({''.join([f'{pulled(op, i)}, ' for i in n])})"
    if op.together:
        every = " and ".join([f"p{i} is not None" for i in n])
        gradient = tied(op, f"together(F, g{read(op, 'together')})")
        together = [f"if {every}:", f"    return {gradient}"]
    if op.restores:
        x, kept = op.restores[0] + "_", ", ".join([k + "_" for k in op.keeps])
        restore = [f"if F is recorded and {x} is None:", f"    {x} = restored(op, p0, {kept})"]
    return "\n".join(fill(PULL, unpack=unpack, together=together, restore=restore,
                          gradients=tied(op, gradients)))


def pulled(op, i):
    """The expression for the gradient of input `i`."""
    x = op.inputs[i].name
    return f"None if p{i} is None else vjp_{x}(F, g{read(op, x, i)})" if op.vjps[x] else "None"


def read(op, formula, i=None):
    """The arguments of a formula after `g`: saved values, or the shape of its own input `i`, which
    its parent knows."""
    own = f"{formula}_shape"
    return "".join([f", (p{i} if p{i}.parents else p{i}.array).shape" if i is not None
                    and field == own else f", {field}_" for field in op.reads.get(formula, ())])


def tied(op, gradients):
    """The expression for an op's `gradients`; in a recorded pass those in its column `flat` are
    tied to the inputs."""
    return (f"{gradients} if F is not recorded else tied(op, parents, {gradients})" if op.flat
            else gradients)
