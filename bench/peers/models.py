"""The models that sr and its peers run: those of bench/models_*.cpp in torch, with weights from fixed seeds."""

import math
from typing import Callable, NamedTuple

import torch
from torch import nn

SEED = 20


def weight(*sizes: int, scale: float = 1.0) -> nn.Parameter:
    return nn.Parameter(torch.randn(*sizes) * scale, requires_grad=False)


def linear(inputs: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    layer.weight, layer.bias = weight(outputs, inputs, scale=inputs ** -0.5), weight(outputs, scale=0.1)
    return layer


def convolution(inputs: int, outputs: int) -> nn.Conv2d:
    layer = nn.Conv2d(inputs, outputs, 3, padding=1)
    layer.weight, layer.bias = weight(outputs, inputs, 3, 3, scale=(9 * inputs) ** -0.5), weight(outputs, scale=0.1)
    return layer


def layer_norm(width: int) -> nn.LayerNorm:
    layer = nn.LayerNorm(width)
    layer.weight, layer.bias = weight(width), weight(width)
    return layer


def tower(*widths: int, relu_at_end: bool = False) -> nn.Sequential:
    layers = []
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*(layers if relu_at_end else layers[:-1]))


class DeepWide(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.sigma = weight(1, 50), weight(1, 50)
        self.weight, self.bias = weight(1, 51, scale=0.1), weight(1)

    def forward(self, ad, user, wide):
        preprocessed = torch.clamp((wide + self.mu) * self.sigma, 0.0, 10.0)
        product = torch.flatten(torch.bmm(ad, torch.transpose(user, 1, 2)), 1)
        joined = torch.cat([product, preprocessed], 1)
        return torch.sigmoid(nn.functional.linear(joined, self.weight, self.bias))


class LeakyRelu5(nn.Module):
    def forward(self, x):
        for _ in range(5):
            x = nn.functional.leaky_relu(x, 0.1)
        return x


class SignedLog1p(nn.Module):
    def forward(self, x):
        return torch.sign(x) * torch.log1p(torch.abs(x))


class Chain10(nn.Module):
    def forward(self, a, b, c):
        ab = torch.relu(a * b)
        ac = torch.relu(a * c)
        product = torch.relu(ac * ab)
        square = torch.relu(product * product)
        return torch.relu(square * c)


class Dlrm(nn.Module):
    """One row of each table, all their dot products with one another and with the dense features."""

    ROWS = 1000

    def __init__(self, tables: int = 26, width: int = 64):
        super().__init__()
        self.bottom = tower(13, 8 * width, 4 * width, width, relu_at_end=True)
        self.tables = nn.ModuleList(nn.Embedding(self.ROWS, width, _weight=weight(self.ROWS, width, scale=0.1))
                                    for _ in range(tables))
        vectors = tables + 1
        rows, columns = torch.tril_indices(vectors, vectors, -1)
        self.register_buffer('pairs', rows * vectors + columns)
        self.top = tower(width + self.pairs.numel(), 512, 256, 1)

    def forward(self, dense, indices):
        x = self.bottom(dense)
        rows = [x]
        for i, table in enumerate(self.tables):
            rows.append(table(indices.select(1, i)))
        features = torch.stack(rows, 1)
        products = torch.flatten(torch.bmm(features, torch.transpose(features, 1, 2)), 1)
        return torch.sigmoid(self.top(torch.cat([x, torch.index_select(products, 1, self.pairs)], 1)))


class TransformerLayer(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int):
        super().__init__()
        self.width, self.heads, self.scale = width, heads, 1 / math.sqrt(width // heads)
        self.norm1, self.norm2 = layer_norm(width), layer_norm(width)
        self.qkv, self.mix = linear(width, 3 * width), linear(width, width)
        self.up, self.down = linear(width, hidden), linear(hidden, width)

    def forward(self, x):
        qkv = self.qkv(self.norm1(x))
        split = qkv.view([x.size(0), 3, self.heads, self.width // self.heads]).permute([1, 2, 0, 3])
        scores = torch.matmul(split.select(0, 0), split.select(0, 1).transpose(1, 2))
        shares = torch.softmax(scores * self.scale, -1)
        mixed = torch.matmul(shares, split.select(0, 2)).transpose(0, 1).reshape([x.size(0), self.width])
        x = x + self.mix(mixed)
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Convnet(nn.Module):
    def __init__(self, side: int = 28):
        super().__init__()
        self.conv1, self.conv2 = convolution(1, 16), convolution(16, 32)
        self.out = linear(32 * (side // 4) ** 2, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.out(torch.flatten(x, 1))


class Recurrent(nn.Module):
    """All time steps of the last layer; states begin as zeros."""

    def __init__(self, kind: type[nn.RNNBase], width: int, layers: int):
        super().__init__()
        self.network = kind(width, width, layers)

    def forward(self, x):
        return self.network(x)[0]


def transformer(layers: int, width: int, heads: int, hidden: int) -> nn.Module:
    return nn.Sequential(*(TransformerLayer(width, heads, hidden) for _ in range(layers)))


def deep_wide_inputs(batch: int):
    return torch.randn(batch, 1, 32), torch.randn(batch, 1, 32), torch.randn(batch, 50)


def dlrm_inputs(batch: int, tables: int = 26):
    indices = (torch.arange(batch * tables) * 7919).remainder(Dlrm.ROWS).view(batch, tables)
    return torch.randn(batch, 13), indices


class Case(NamedTuple):
    module: Callable[[], nn.Module]
    inputs: Callable[[], tuple[torch.Tensor, ...]]

    def make(self) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
        """The same weights and inputs on every call."""
        torch.manual_seed(SEED)
        module = self.module().eval().requires_grad_(False)
        return module, self.inputs()


MODELS = {
    **{f'deep_wide_b{n}': Case(DeepWide, lambda n=n: deep_wide_inputs(n)) for n in (1, 8, 20)},
    **{f'leaky_relu_5_{n}x32': Case(LeakyRelu5, lambda n=n: (torch.randn(n, 32),)) for n in (1, 20)},
    **{f'signed_log1p_{n}': Case(SignedLog1p, lambda n=n: (torch.randn(n),)) for n in (16, 512, 4096, 65536)},
    **{f'chain_10_{n}x{n}': Case(Chain10, lambda n=n: tuple(torch.randn(3, n, n).unbind())) for n in (8, 512)},
    **{f'mlp_64_128_64_1_b{n}': Case(lambda: tower(64, 128, 64, 1), lambda n=n: (torch.randn(n, 64),))
       for n in (1, 20)},
    **{f'dlrm_26x64_b{n}': Case(Dlrm, lambda n=n: dlrm_inputs(n)) for n in (1, 64)},
    **{f'transformer_{n}x128': Case(lambda: transformer(1, 128, 4, 512), lambda n=n: (torch.randn(n, 128),))
       for n in (1, 32)},
    **{f'{name}_2x256_{steps}_steps_b{n}': Case(lambda kind=kind: Recurrent(kind, 256, 2),
                                                lambda steps=steps, n=n: (torch.randn(steps, n, 256),))
       for name, kind in (('lstm', nn.LSTM), ('gru', nn.GRU)) for steps, n in ((1, 1), (1, 16), (50, 1))},
    'convnet_28_b1': Case(Convnet, lambda: (torch.randn(1, 1, 28, 28),)),
    'bert_6_layers_32x384': Case(lambda: transformer(6, 384, 6, 1536), lambda: (torch.randn(32, 384),)),
}
