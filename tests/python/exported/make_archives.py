"""Writes the archives of tests/python/exported/archives with the torch that runs this; test_archives.py reads them back.

Each archive lies beside a file of torch.save: a list of calls, as pairs of arguments and eager's result.

    python make_archives.py [DIRECTORY]
"""

import pathlib
import sys

import torch
from torch import nn
from torch.export import Dim, export, save

HERE = pathlib.Path(__file__).resolve().parent / 'archives'


class Tied(nn.Module):
    """Weights that share memory, a buffer, a constant and a batch that varies."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, 6)
        self.second = nn.Linear(6, 6)
        self.second.weight = self.first.weight
        self.register_buffer('mean', torch.arange(6.0))
        self.register_buffer('window', torch.tensor([1.0, 2.0]), persistent=False)

    def forward(self, x):
        x = torch.relu(self.first(x - self.mean))
        return self.second(x) * self.window[0] + torch.tensor([0.5])


class Branches(nn.Module):
    """Control flow by data, sizes in the arithmetic, and nested arguments and results."""

    def forward(self, inputs: dict[str, torch.Tensor], scale: float = 2.0):
        x, ids = inputs['x'], inputs['ids']
        y = torch.cond(x.sum() > 0, lambda a: a * 2, lambda a: a - 1, (x,))
        rows = y[ids % x.shape[0]].reshape(x.shape[0], -1)
        return {'rows': rows * scale, 'sizes': (x.shape[0], y.mean(0))}


class Layers(nn.Module):
    """Convolution, normalisation, attention and embedding, some of them in 16 bits."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.convolution = nn.Conv1d(8, 8, 3, padding=1, groups=2)
        self.norm = nn.LayerNorm(8)
        self.last = nn.Linear(8, 4).to(torch.bfloat16)

    def forward(self, ids):
        x = self.embedding(ids)
        x = self.norm(x + self.convolution(x.transpose(1, 2)).transpose(1, 2))
        x = nn.functional.scaled_dot_product_attention(x, x, x)
        return self.last(x.to(torch.bfloat16)).float()


def cases():
    batch, length = Dim('batch', min=2, max=64), Dim('length', min=2, max=32)
    def mixed(n):
        return ({'x': torch.randn(n, 3), 'ids': torch.arange(2 * n)},)
    return {
        'tied': (Tied(), [(torch.randn(n, 6),) for n in (4, 2, 9)], {'x': {0: batch}}),
        'branches': (Branches(), [mixed(n) for n in (4, 3, 7)],
                     {'inputs': {'x': {0: batch}, 'ids': {0: 2 * batch}}}),
        'layers': (Layers(), [(torch.randint(0, 11, (2, n)),) for n in (5, 3, 12)], {'ids': {1: length}}),
    }


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    folder.mkdir(parents=True, exist_ok=True)
    version = torch.__version__.split('+')[0]
    torch.manual_seed(0)
    for name, (model, calls, sizes) in cases().items():
        model = model.eval().requires_grad_(False)
        program = export(model, calls[0], dynamic_shapes=sizes)
        # Stack traces are most of an archive, and contain paths of the machine that made it.
        for node in program.graph.nodes:
            node.meta.pop('stack_trace', None)
        save(program, str(folder / f'{version}_{name}.pt2'))
        torch.save([(call, model(*call)) for call in calls], folder / f'{version}_{name}.pt')
        print(f'{version}: {name}')


if __name__ == '__main__':
    main()
