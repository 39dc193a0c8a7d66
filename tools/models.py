"""The models of the main job, and inputs for them."""

import math

import torch
from torch import nn


class DeepWide(nn.Module):
    """The deep-and-wide ranking model of upstream's benchmarks."""

    def __init__(self):
        super().__init__()
        self._mu = nn.Parameter(torch.randn(1, 50))
        self._sigma = nn.Parameter(torch.randn(1, 50))
        self._fc_w = nn.Parameter(torch.randn(1, 51))
        self._fc_b = nn.Parameter(torch.randn(1))

    def forward(self, ad_emb_packed, user_emb, wide):
        wide_offset = wide + self._mu
        wide_normalized = wide_offset * self._sigma
        wide_preproc = torch.clamp(wide_normalized, 0.0, 10.0)
        user_emb_t = torch.transpose(user_emb, 1, 2)
        dp_unflatten = torch.bmm(ad_emb_packed, user_emb_t)
        dp = torch.flatten(dp_unflatten, 1, -1)
        inp = torch.cat([dp, wide_preproc], 1)
        t1 = torch.transpose(self._fc_w, 0, 1)
        fc1 = torch.addmm(self._fc_b, inp, t1)
        return torch.sigmoid(fc1)

    @staticmethod
    def inputs(batch):
        return [torch.randn(batch, 1, 32), torch.randn(batch, 1, 32), torch.randn(batch, 50)]


class DigitsConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(512, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.relu(self.conv2(x))
        return torch.log_softmax(self.fc(torch.flatten(x, 1)), 1)


class DigitsMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc2 = nn.Linear(128, 64)
        self.fc3 = nn.Linear(64, 10)

    def forward(self, x):
        x = torch.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc3(torch.relu(self.fc2(x)))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.scale = 1.0 / math.sqrt(width // heads)
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.out = nn.Linear(width, width), nn.Linear(width, width)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).transpose(1, 2)

    def forward(self, x):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        weights = torch.softmax(torch.matmul(query, key.transpose(-2, -1)) * self.scale, -1)
        mixed = torch.matmul(weights, value).transpose(1, 2).contiguous()
        return self.out(mixed.view(x.size(0), x.size(1), -1))


class TransformerLayer(nn.Module):
    def __init__(self, width: int, heads: int, hidden: int):
        super().__init__()
        self.attention = Attention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.down(torch.nn.functional.gelu(self.up(x))))


class TransformerBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(TransformerLayer(128, 4, 512) for _ in range(2))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x

    @staticmethod
    def inputs(batch):
        return [torch.randn(batch, 32, 128)]


class Dlrm(nn.Module):
    """26 embedding bags, pairwise dot products, two small networks."""

    TABLES, ROWS, WIDTH, BAG = 26, 1000, 64, 4

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(self.ROWS, self.WIDTH, mode='sum') for _ in range(self.TABLES))
        self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                                    nn.Linear(256, self.WIDTH), nn.ReLU())
        vectors = self.TABLES + 1
        self.top = nn.Sequential(nn.Linear(self.WIDTH + vectors * (vectors - 1) // 2, 512), nn.ReLU(),
                                 nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1), nn.Sigmoid())
        rows, columns = torch.tril_indices(vectors, vectors, -1)
        self.register_buffer('rows', rows)
        self.register_buffer('columns', columns)

    def forward(self, dense, indices, offsets):
        bottom = self.bottom(dense)
        vectors = [bottom]
        for i, table in enumerate(self.tables):
            vectors.append(table(indices[i], offsets[i]))
        stacked = torch.stack(vectors, 1)
        products = torch.bmm(stacked, torch.transpose(stacked, 1, 2))
        return self.top(torch.cat([bottom, products[:, self.rows, self.columns]], 1))

    @classmethod
    def inputs(cls, batch):
        # Bags of different lengths: the first starts at 0, each other one at or after its predecessor.
        starts = torch.randint(0, batch * cls.BAG, (cls.TABLES, batch)).sort(1).values
        starts[:, 0] = 0
        return [torch.randn(batch, 13), torch.randint(0, cls.ROWS, (cls.TABLES, batch * cls.BAG)), starts]


# name -> (class, batch sizes); those without `inputs` take the digits' images.
MODELS = {
    'deep_wide': (DeepWide, (1, 8, 20)),
    'digits_conv': (DigitsConv, (1, 32)),
    'digits_mlp': (DigitsMlp, (1, 32)),
    'transformer_block': (TransformerBlock, (1,)),
    'dlrm': (Dlrm, (1, 64)),
}


def is_digits(name):
    return not hasattr(MODELS[name][0], 'inputs')
