"""The text of tensors, at the thresholds of the rules."""

TENSORS = """
T.tensor(3) T.tensor(2.5) T.tensor(True) T.tensor([]) T.zeros(0,3) T.zeros(2,0,dtype=T.int64) T.tensor(1e-5)
T.tensor([1.,2.,3.]) T.tensor([1.5,-2.25,3.]) T.tensor([1,-20,300]) T.tensor([True,False]) T.tensor([0.00009,1.])
T.tensor([0.0001,1.]) T.tensor([999.9,1.]) T.tensor([1000.,1.]) T.tensor([1001.5,1.]) T.tensor([1000.5,1.])
T.tensor([1e8,1.]) T.tensor([1.1e8,1.]) T.tensor([99999999.,0.]) T.tensor([123456789.,0.]) T.tensor([1e4,0.])
T.tensor([1e5,0.1]) T.tensor([float('nan'),1.]) T.tensor([float('inf'),-1.]) T.tensor([float('nan'),1.5])
T.tensor([-float('inf'),2.5e-7]) T.tensor([float('nan')]*3) T.tensor([1e-38]) T.tensor([3e38,1e-38]) T.tensor([0.,0.])
T.tensor([-0.,0.5]) T.tensor([1.,2.],dtype=T.float64) T.tensor([1.,2.5],dtype=T.float16)
T.tensor([1.,2.5],dtype=T.bfloat16) T.tensor([1,2],dtype=T.int8) T.tensor([1,2],dtype=T.uint8)
T.tensor([1,2],dtype=T.int32) T.tensor([1+2j,0.5j]) T.tensor([1e5+2j,0.5j]) T.tensor([1+0j,2+0j]) T.tensor(1-2.5j)
T.tensor([float('nan')+1j,2.]) T.arange(1000) T.arange(1001) T.arange(1000.) T.arange(1001.)
T.arange(1001).reshape(7,143) T.zeros(1001,1) T.arange(24).reshape(2,3,4) T.arange(24.).reshape(2,3,4)/7
T.arange(16).reshape(2,2,2,2) T.zeros(2,1,0) T.zeros(1,1,1) T.arange(30.) T.arange(30.)/3 T.arange(100)*1000
T.ones(20) T.ones(26)*0.5 T.zeros(10,10) T.zeros(40,40) T.zeros(4,300) T.arange(2000).reshape(10,10,20)
T.zeros(8,8,20)+0.5 T.ones(2,requires_grad=True) T.ones(2,requires_grad=True)*2 T.ones(2,requires_grad=True).exp()
T.ones(2,dtype=T.float64,requires_grad=True) T.arange(21)*10**10 T.tensor(-7) T.tensor([-7.])
T.nn.Parameter(T.ones(2,2)) T.nn.Parameter(T.arange(30.)) T.tensor(float('nan')) T.tensor(float('inf')) T.tensor(1e10)
T.tensor(12345.678) T.zeros(3,3).t() T.arange(12).reshape(3,4)[:,::2] T.tensor([[1.,1e6]]) T.tensor([0.1,0.22,0.333])
T.tensor([10.,0.12345678]) T.Size([2,3]) T.zeros(2,3).shape T.float32 T.device('cpu') T.tensor([1]).stride()
T.finfo(T.float16) T.iinfo(T.int8)
""".split()
OPTIONS = [dict(precision=2), dict(precision=0), dict(threshold=5), dict(threshold=6), dict(threshold=7, edgeitems=1),
           dict(linewidth=30), dict(linewidth=31), dict(edgeitems=2, threshold=3), dict(threshold=0, edgeitems=3),
           dict(sci_mode=True), dict(sci_mode=False), dict(profile="short"), dict(profile="full")]
SHOWN = ("T.arange(6.)/7", "T.arange(6)", "T.arange(12.).reshape(3,4)*1000", "T.tensor([1e-9, 1.])", "T.arange(40)",
         "T.arange(7)", "T.zeros(7,7)")
OTHERS = {
    "format": lambda T: [f"{T.tensor(2.5):.2f}", f"{T.tensor(3):5d}|", format(T.tensor([1.5])), str(T.tensor(True)),
                         f"{T.tensor(2.5)}"],
    "grad_fn": lambda T: [repr((T.ones(2, requires_grad=True) * 2).grad_fn).split(" ")[0].strip("<>"),
                          repr(T.ones(2, requires_grad=True).sum()), repr(T.ones(2, requires_grad=True) + 1)],
    "modules": lambda T: [repr(T.nn.Sequential(T.nn.Linear(2, 3), T.nn.Sequential(T.nn.ReLU(), T.nn.Dropout(0.1)))),
                          repr(T.nn.ModuleList([T.nn.Linear(1, 1) for _ in range(3)])), repr(T.nn.Module()),
                          repr(T.nn.ModuleDict({"a": T.nn.ReLU(), "b": T.nn.ModuleList([T.nn.Tanh()] * 2)})),
                          repr(T.nn.LSTM(2, 3, 2, batch_first=True)), repr(T.nn.ParameterList([T.ones(2)]))],
    "optimiser": lambda T: repr(T.optim.Adam([T.nn.Parameter(T.ones(1))], lr=0.5)),
    "printed": lambda T: [str(x) for x in (T.ones(2, 2).max(0), T.ones(2).sort())],
}


def text(expression):
    return lambda T: repr(eval(expression, {"T": T}))


def under(options):
    """A few tensors under some print options, which are put back."""
    def run(T):
        T.set_printoptions(**options)
        try:
            return [repr(eval(expression, {"T": T})) for expression in SHOWN]
        finally:
            T.set_printoptions(profile="default", sci_mode=None)
    return run


CASES = {expression: text(expression) for expression in TENSORS}
CASES |= {str(options): under(options) for options in OPTIONS} | OTHERS
