"""Graph networks of torch_geometric: layers, batches of graphs, pooling, training."""
# needs: torch_geometric

import torch
import torch.nn.functional as F
from shown import show
from torch_geometric import nn as graph
from torch_geometric import seed_everything
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.utils import (
    degree,
    softmax,
    subgraph,
    to_dense_adj,
    to_dense_batch,
    to_undirected,
)


def ring(n, k):
    nodes = torch.arange(n)
    return torch.cat([torch.stack([nodes, (nodes + 1) % n]), torch.stack([nodes, nodes * k % n])], 1)


seed_everything(0)
edges, x = ring(12, 3), torch.randn(12, 5)
LAYERS = {
    "GCN": lambda: graph.GCNConv(5, 4), "GAT": lambda: graph.GATConv(5, 4, heads=2),
    "SAGE": lambda: graph.SAGEConv(5, 4), "SAGE max": lambda: graph.SAGEConv(5, 4, aggr="max"),
    "GIN": lambda: graph.GINConv(torch.nn.Linear(5, 4)), "Cheb": lambda: graph.ChebConv(5, 4, 3),
    "Transformer": lambda: graph.TransformerConv(5, 4, heads=2), "ARMA": lambda: graph.ARMAConv(5, 4),
    "Edge": lambda: graph.EdgeConv(torch.nn.Linear(10, 4)), "GEN": lambda: graph.GENConv(5, 4),
}
for name, make in LAYERS.items():
    layer, given = make(), x.clone().requires_grad_()
    out = layer(given, edges)
    out.pow(2).mean().backward()
    show(name, out.double().sum(), given.grad.double().abs().sum(),
         sum(p.grad.double().abs().sum() for p in layer.parameters() if p.grad is not None))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.pool, self.second = graph.GCNConv(5, 16), graph.TopKPooling(16, 0.8), graph.SAGEConv(16, 16)
        self.norm, self.last = graph.BatchNorm(16), torch.nn.Linear(32, 2)

    def forward(self, batch):
        h = F.relu(self.first(batch.x, batch.edge_index))
        h, kept, _, of, _, _ = self.pool(h, batch.edge_index, None, batch.batch)
        h = F.relu(self.norm(self.second(h, kept)))
        return self.last(torch.cat([graph.global_mean_pool(h, of), graph.global_max_pool(h, of)], 1))


data = [Data(x=torch.randn(n, 5), edge_index=ring(n, 2), y=torch.tensor([n % 2])) for n in range(4, 20)]
net = Net()
optimizer = torch.optim.Adam(net.parameters(), 1e-2)
for epoch in range(2):
    for batch in DataLoader(data, batch_size=4, shuffle=True):
        loss = F.cross_entropy(net(batch), batch.y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    show(f"epoch {epoch}", loss)
show("utilities", to_dense_adj(edges).sum(), degree(edges[0]), to_undirected(edges).shape,
     subgraph([0, 1, 2], edges)[0], softmax(torch.arange(24.0), edges[1]).sum(),
     to_dense_batch(x, torch.arange(12) // 4)[0].shape)
