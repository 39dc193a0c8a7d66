"""Networks that are exported in the tests. The name of each says what only it has."""

import torch
from torch import nn
from torch.export import Dim

from cases import call, randn, register


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(16, 4),
                                    nn.Softmax(-1))

    def forward(self, x):
        return self.layers(x)


register(Mlp, [call(randn(3, 8)), call(randn(7, 8)), call(randn(2, 8))], {'x': {0: Dim('batch')}})


class ConvolutionAndBatchNorm(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
                                    nn.MaxPool2d(2), nn.Conv2d(8, 4, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())

    def forward(self, x):
        return self.layers(x)


register(ConvolutionAndBatchNorm, [call(randn(2, 3, 12, 12)), call(randn(5, 3, 12, 12))], {'x': {0: Dim.DYNAMIC}})


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=True)

    def forward(self, x):
        return self.layer(x)


register(Attention, [call(randn(2, 5, 16)), call(randn(3, 9, 16))], {'x': {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}})


class MaskedAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(16, 48)

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, 4, c // 4).transpose(1, 2) for part in self.project(x).split(c, dim=-1))
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :])
        return y.transpose(1, 2).reshape(b, t, c)


register(MaskedAttention,
         [call(randn(2, 5, 16), torch.ones(2, 5, dtype=torch.bool)),
          call(randn(3, 6, 16), torch.tensor([[True] * 4 + [False] * 2] * 3))],
         {'x': {0: Dim('b'), 1: Dim('t')}, 'mask': {0: Dim('b'), 1: Dim('t')}})


class EmbeddingAndBag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 6, padding_idx=0)
        self.bag = nn.EmbeddingBag(20, 6, mode='mean')

    def forward(self, ids, offsets):
        return self.embedding(ids) + self.bag(ids, offsets).sum()


register(EmbeddingAndBag, [call(torch.tensor([1, 2, 0, 5]), torch.tensor([0, 2])),
                           call(torch.tensor([7, 7, 1, 19]), torch.tensor([0, 1]))])


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 5, batch_first=True)
        self.gru = nn.GRU(5, 4)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return self.gru(y)[0], h, c


register(Recurrent, [call(randn(2, 4, 6)), call(randn(2, 4, 6))])


class VisionTransformerPatch(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(3, 8, 4, 4)
        self.token = nn.Parameter(randn(1, 1, 8))
        self.position = nn.Parameter(randn(1, 10, 8))
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        y = self.patch(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.token.expand(x.shape[0], -1, -1), y], dim=1) + self.position
        return self.norm(nn.functional.gelu(y))[:, 0]


register(VisionTransformerPatch, [call(randn(2, 3, 12, 12)), call(randn(3, 3, 12, 12))], {'x': {0: Dim('b')}})


class GroupNormAndInterpolate(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.GroupNorm(2, 4)
        self.up = nn.ConvTranspose2d(4, 3, 2, stride=2)

    def forward(self, x):
        y = nn.functional.interpolate(self.norm(x), scale_factor=2, mode='bilinear', align_corners=False)
        return nn.functional.pad(self.up(y), (1, 1, 1, 1), mode='reflect'), nn.functional.avg_pool2d(x, 2)


register(GroupNormAndInterpolate, [call(randn(2, 4, 6, 6)), call(randn(2, 4, 6, 6))])


class EinsumAndLinearAlgebra(nn.Module):
    def forward(self, a, b):
        return torch.einsum('bij,bjk->bik', a, b), torch.baddbmm(a, a, b), a.norm(dim=-1), a.cumsum(0), \
            a.topk(2)[0], a.sort()[1]


register(EinsumAndLinearAlgebra, [call(randn(2, 3, 3), randn(2, 3, 3)), call(randn(2, 3, 3), randn(2, 3, 3))])
