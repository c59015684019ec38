"""captum: attributions to inputs, layers and neurons, by gradients and by perturbation."""
# needs: captum

import torch
from captum import attr
from captum.metrics import infidelity, sensitivity_max
from shown import show
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.relu1, self.pool = nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)
        self.conv2, self.relu2, self.fc = nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(), nn.Linear(4 * 4 * 4, 3)

    def forward(self, x):
        return self.fc(self.relu2(self.conv2(self.pool(self.relu1(self.conv1(x))))).view(x.shape[0], -1))


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.lstm, self.fc = nn.Embedding(10, 6), nn.LSTM(6, 5, batch_first=True), nn.Linear(5, 2)

    def forward(self, ids):
        return self.fc(self.lstm(self.embedding(ids))[0][:, -1])


net, x, others = Net().eval(), torch.randn(2, 1, 8, 8), torch.randn(5, 1, 8, 8)
zeros, squares = torch.zeros_like(x), torch.arange(64).reshape(1, 1, 8, 8) // 16


def tell(name, attribution, *inputs, target=1, **options):
    torch.manual_seed(3)
    found = attribution.attribute(*inputs, **({} if target is None else {"target": target}), **options)
    for part in found if isinstance(found, tuple) else (found,):
        show(name, part.abs().sum(), part.flatten(1).sum(1) if part.ndim > 1 else part)


tell("integrated", attr.IntegratedGradients(net), x, return_convergence_delta=True)
tell("trapezoid", attr.IntegratedGradients(net), x, zeros, target=torch.tensor([0, 2]), n_steps=20,
     method="riemann_trapezoid", internal_batch_size=8)
for name in ("Saliency", "InputXGradient", "GuidedBackprop", "Deconvolution"):
    tell(name, getattr(attr, name)(net), x)
tell("DeepLift", attr.DeepLift(net), x, zeros, return_convergence_delta=True)
tell("DeepLiftShap", attr.DeepLiftShap(net), x, others)
tell("LRP", attr.LRP(net), x, return_convergence_delta=True)
tell("Occlusion", attr.Occlusion(net), x, (1, 3, 3), strides=(1, 2, 2))
tell("FeatureAblation", attr.FeatureAblation(net), x, feature_mask=squares)
tell("FeaturePermutation", attr.FeaturePermutation(net), x, feature_mask=squares)
tell("Shapley", attr.ShapleyValueSampling(net), x, n_samples=2, feature_mask=squares)
tell("NoiseTunnel", attr.NoiseTunnel(attr.Saliency(net)), x, nt_type="smoothgrad", nt_samples=3)
tell("KernelShap", attr.KernelShap(net), x[:1], n_samples=10, feature_mask=squares)
tell("LayerGradCam", attr.LayerGradCam(net, net.conv2), x)
tell("GuidedGradCam", attr.GuidedGradCam(net, net.conv2), x)
tell("LayerLRP", attr.LayerLRP(net, net.conv2), x)
tell("LayerActivation", attr.LayerActivation(net, net.conv1), x, target=None)
tell("LayerConductance", attr.LayerConductance(net, net.conv1), x, n_steps=10)
tell("LayerDeepLift", attr.LayerDeepLift(net, net.conv1), x, zeros)
tell("InternalInfluence", attr.InternalInfluence(net, net.conv1), x, n_steps=10)
tell("NeuronGradient", attr.NeuronGradient(net, net.conv1), x, (0, 1, 1), target=None)
tell("NeuronConductance", attr.NeuronConductance(net, net.conv1), x, (0, 1, 1), n_steps=5)
saliency = attr.Saliency(net)
show("infidelity", infidelity(net, lambda i: (torch.ones_like(i) * 0.1, i - 0.1), x, saliency.attribute(x, target=1),
                              target=1))
show("sensitivity", sensitivity_max(saliency.attribute, x, target=1, n_perturb_samples=2))
words, ids = Text().eval(), torch.tensor([[1, 2, 3], [4, 5, 6]])
tell("words", attr.LayerIntegratedGradients(words, words.embedding), ids, torch.zeros_like(ids), n_steps=8)
layer = attr.configure_interpretable_embedding_layer(words, "embedding")
tell("embedded", attr.IntegratedGradients(words), layer.indices_to_embeddings(ids), n_steps=6)
