"""Random numbers of a seed: what is drawn, in which order, and what is left of the stream afterwards."""

from tests.recorded import some

CALLS = """
binomial(T.full((90,),40.),T.full((90,),0.4)) binomial(T.full((40,),300.),T.linspace(0.01,0.99,40))
poisson(T.full((90,),50.))
rand(3) rand(2,2,dtype=T.float64) rand(3,dtype=T.bfloat16) randn(3) randn(17) randn(3,dtype=T.float16)
randint(10,(5,)) randint(-3,4,(2,3)) randperm(7) randperm(1) randperm(0) rand_like(T.zeros(2))
randn_like(T.zeros(3,dtype=T.float64)) randint_like(T.zeros(3),5) bernoulli(T.full((9,),0.3))
poisson(T.tensor([0.5,3.,20.])) normal(0.,1.,(3,)) normal(T.zeros(2),T.ones(2)*2) normal(T.zeros(2),3.)
multinomial(T.tensor([0.1,0.2,0.7]),1) multinomial(T.tensor([0.1,0.2,0.7]),2)
multinomial(T.tensor([1.,0.,3.]),5,replacement=True) multinomial(T.tensor([[1.,2.,3.],[3.,0.,1.]]),2)
multinomial(T.tensor([0.2,0.3,0.5],dtype=T.float64),1) multinomial(T.ones(2,4),1) zeros(4).uniform_(-1,3)
zeros(4).normal_(1,2) zeros(4).exponential_(0.5) zeros(4).geometric_(0.3) zeros(4).cauchy_(1,2)
zeros(4).log_normal_(0.5,0.25) zeros(5).bernoulli_(0.25) zeros(4,dtype=T.int64).random_(5) zeros(4).random_(2,9)
zeros(3,dtype=T.uint8).random_() zeros(2,3).t().uniform_() zeros(40)[::8].normal_()
zeros(3,dtype=T.complex64).normal_() nn.functional.dropout(T.ones(10),0.3) nn.functional.dropout(T.ones(3,4).t(),0.5)
nn.functional.dropout1d(T.ones(2,3,2),0.5) nn.functional.dropout2d(T.ones(2,3,1,2),0.5)
nn.functional.dropout3d(T.ones(1,4,1,1,2),0.5) nn.functional.alpha_dropout(T.ones(8),0.4,True)
nn.functional.feature_alpha_dropout(T.ones(2,4,2),0.4,True)
nn.functional.feature_alpha_dropout(T.ones(2,4,2),0.4,False) nn.functional.rrelu(-T.ones(5),0.1,0.3,True)
nn.functional.gumbel_softmax(T.zeros(2,3),0.5) nn.functional.gumbel_softmax(T.zeros(3),hard=True)
nn.functional.dropout(T.ones(4),0.) nn.functional.dropout(T.ones(4),1.) nn.functional.dropout(T.ones(4),0.5,False)
nn.Linear(3,2).weight nn.Linear(3,2).bias nn.Conv2d(1,2,2).weight nn.Embedding(3,2).weight nn.LSTM(2,2).weight_hh_l0
nn.Bilinear(1,2,2).bias nn.MultiheadAttention(4,2).in_proj_weight nn.ConvTranspose1d(2,1,2).weight
nn.GRUCell(2,1).bias_ih nn.PReLU().weight nn.init.uniform_(T.zeros(3)) nn.init.normal_(T.zeros(3),1,0.1)
nn.init.trunc_normal_(T.zeros(4),0,1,-1,1) nn.init.orthogonal_(T.zeros(2,3)) nn.init.xavier_uniform_(T.zeros(2,3))
nn.init.xavier_normal_(T.zeros(2,3),2.) nn.init.kaiming_uniform_(T.zeros(2,3),1.)
nn.init.kaiming_normal_(T.zeros(2,3),mode='fan_out') nn.init.kaiming_uniform_(T.zeros(2,3,2),nonlinearity='relu')
nn.init.sparse_(T.zeros(4,3),0.5) nn.init.dirac_(T.zeros(2,2,3)) nn.init.eye_(T.zeros(2,3))
nn.init.constant_(T.zeros(2),0.3) nn.init.trunc_normal_(T.zeros(3),2,0.5,1.5,3)
""".split()


def drawn(expression):
    def run(T):
        T.manual_seed(7)
        found = eval("T." + expression, {"T": T})
        return [found, T.rand(2)]
    return run


def batches(T):
    """The order in which a loader and its samplers take examples."""
    data = T.utils.data
    T.manual_seed(3)
    rows = data.TensorDataset(T.arange(11))
    seen = [[b[0].tolist() for b in data.DataLoader(rows, 4, shuffle=True)] for _ in range(2)]
    seen.append([b[0].tolist() for b in data.DataLoader(rows, 3, shuffle=True, drop_last=True)])
    seen.append(list(data.RandomSampler(range(9), replacement=True, num_samples=40)))
    seen.append(list(data.RandomSampler(range(5), num_samples=12)))
    seen.append(list(data.WeightedRandomSampler([0.1, 0.5, 3.0], 6)))
    seen.append(list(data.WeightedRandomSampler([0.1, 0.5, 3.0], 2, replacement=False)))
    seen.append(list(data.SubsetRandomSampler([4, 6, 8, 9])))
    seen.append([list(part) for part in data.random_split(range(10), [0.5, 0.3, 0.2])])
    seen.append([list(part) for part in data.random_split(range(11), [0.5, 0.5], T.Generator().manual_seed(4))])
    seen.append([list(part) for part in data.random_split(range(7), [3, 4])])
    return [seen, T.rand(2)]


def generators(T):
    """Generators of the user's own, forks and saved states."""
    g = T.Generator().manual_seed(5)
    one = T.rand(2, generator=g)
    kept = g.get_state()
    two = T.randn(3, generator=g)
    g.set_state(kept)
    again = T.randn(3, generator=g)
    T.manual_seed(1)
    first = T.rand(1)
    with T.random.fork_rng():
        T.rand(5)
    second = T.rand(1)
    state = T.get_rng_state()
    third = T.rand(1)
    T.set_rng_state(state)
    return [one, two, again, first, second, third, T.rand(1), g.initial_seed(), T.initial_seed(), T.randn(2, 2).sum()]


def training(T):
    """A small network with dropout: its losses depend on every number that is drawn, and on every gradient."""
    T.manual_seed(0)
    model = T.nn.Sequential(T.nn.Linear(3, 8), T.nn.Dropout(0.25), T.nn.Tanh(), T.nn.Linear(8, 2))
    optimizer = T.optim.Adam(model.parameters(), lr=0.05)
    x, y = some(T, 12, 3, dtype="float32"), T.arange(12) % 2
    losses = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = T.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [T.tensor(losses), T.rand(2)]


def checkpointed(T):
    """A recomputed forward pass sees the same numbers, and leaves the stream where it was."""
    T.manual_seed(2)
    x = T.ones(6, requires_grad=True)
    y = T.utils.checkpoint.checkpoint(lambda a: T.nn.functional.dropout(a, 0.5) * a, x, use_reentrant=False)
    between = T.rand(2)
    y.sum().backward()
    return [y, x.grad, between, T.rand(3)]


def vectorised(T):
    T.manual_seed(4)
    found = T.func.vmap(lambda a: a + T.randn(2), randomness="different")(T.zeros(3))
    return [found, T.rand(1)]


CASES = {expression: drawn(expression) for expression in CALLS}
CASES |= {f.__name__: f for f in (batches, generators, training, checkpointed, vectorised)}
