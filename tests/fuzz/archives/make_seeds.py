"""Writes the archives that `./dev test archives` damages: `./dev python tests/fuzz/archives/make_seeds.py`.

Small files, which together hold what archives can hold: nested modules, attributes of every kind, shared and
empty weights, control flow, symbolic sizes, subgraphs and constants.
"""

import enum
import pathlib
import shutil
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import nn
from torch.export import Dim

FOLDER = pathlib.Path(__file__).resolve().parent / 'seeds'


class Kind(enum.Enum):
    LINEAR = 'linear'
    SQUARE = 'square'


class Pair(NamedTuple):
    low: torch.Tensor
    high: torch.Tensor


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.BatchNorm1d(6), nn.Linear(6, 2))
        self.register_buffer('scale', torch.tensor(0.5, dtype=torch.float64))

    def forward(self, x):
        return torch.softmax(self.layers(x) * self.scale, -1)


class Attributes(nn.Module):
    sizes: List[int]
    table: Dict[str, float]
    names: Tuple[str, Optional[int], bool]
    tensors: List[torch.Tensor]

    def __init__(self):
        super().__init__()
        self.sizes = [1, -2, 1 << 40]
        self.table = {'one': 1.0, 'nan': float('nan')}
        self.names = ('näme', None, True)
        self.tensors = [torch.arange(6).view(2, 3).t(), torch.zeros(0, 3), torch.tensor(1 + 2j)]
        self.kind = Kind.SQUARE
        self.device = torch.device('cpu')

    def forward(self, x, kind: Optional[str] = None):
        if self.kind == Kind.SQUARE:
            x = x * x
        if kind is not None:
            x = x + self.table[kind]
        return Pair(x.clamp(max=float(self.sizes[0])), x + self.tensors[0].sum())


class Loops(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 3)
        self.inner = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.inner[1].weight = self.inner[0].weight

    def step(self, x, count: int):
        assert count >= 0, f'a count of {count}'
        while count > 0:
            for layer in self.inner:
                x = layer(x)
            count -= 1
        return x

    def forward(self, x, count: int = 2):
        results: List[torch.Tensor] = []
        for i in range(x.size(0)):
            h = self.cell(x[i:i + 1])
            if i % 2 == 0:
                results.append(self.step(h, count))
            else:
                results.append(h[:, ::2].repeat(1, 2)[:, :3])
        return torch.cat(results), {'count': count}


class Traced(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 4, padding_idx=0)
        self.convolution = nn.Conv1d(4, 2, 3, padding=1)

    def forward(self, ids):
        return self.convolution(self.embedding(ids).transpose(1, 2)).amax(-1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(4, 12)

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = (part.view(b, t, 2, c // 2).transpose(1, 2) for part in self.project(x).split(c, dim=-1))
        return nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None]).flatten(2)


class Subgraphs(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x, count):
        x = torch.cond(x.sum() > 0, lambda x: self.layer(x), lambda x: x - 1, (x,))
        return torch.while_loop(lambda i, x: i < count.sum(), lambda i, x: (i + 1, x * 0.5),
                                (torch.zeros((), dtype=torch.int64), x))


class Containers(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('strided', torch.arange(6.0).view(2, 3)[:, ::2])
        self.register_buffer('not_kept', torch.arange(3, dtype=torch.int16), persistent=False)

    def forward(self, x: Dict[str, torch.Tensor], *, factor: float = 2.0):
        values = x['values'] + torch.tensor([1.0, 2.0, 3.0])
        chosen = values[values > 0]
        return {'sum': chosen.sum() + self.strided.sum(), 'count': chosen.shape[0], 'x': x['values'] * factor,
                'int': self.not_kept + x['values'].to(torch.bfloat16)}


def quantized():
    """Weights of a class of Python's: export pickles them, each into its own archive."""
    from torchao import quantization
    layers = nn.Sequential(nn.Linear(4, 3)).eval()
    quantization.quantize_(layers, quantization.Int8DynamicActivationInt8WeightConfig())
    return layers


def export(name, module, args, kwargs=None, dynamic_shapes=None):
    program = torch.export.export(module.eval(), args, kwargs, dynamic_shapes=dynamic_shapes)
    # Stack traces are most of an archive, and contain paths of the machine that made it.
    for node in program.graph.nodes:
        node.meta.pop('stack_trace', None)
    torch.export.save(program, str(FOLDER / f'{name}.pt2'))


def main():
    torch.manual_seed(0)
    FOLDER.mkdir(exist_ok=True)
    for module in (Layers(), Attributes(), Loops()):
        torch.jit.script(module.eval()).save(str(FOLDER / f'{type(module).__name__.lower()}.pt'))
    torch.jit.trace(Traced().eval(), torch.tensor([[1, 2, 0]])).save(str(FOLDER / 'traced.pt'))
    batch = Dim('batch', max=64)
    export('layers', Layers(), (torch.randn(3, 4),), dynamic_shapes={'x': {0: batch}})
    export('attention', Attention(), (torch.randn(2, 3, 4), torch.ones(2, 3, 3, dtype=torch.bool)),
           dynamic_shapes={'x': {0: Dim.AUTO, 1: Dim.AUTO}, 'mask': {0: Dim.AUTO, 1: Dim.AUTO, 2: Dim.AUTO}})
    export('subgraphs', Subgraphs(), (torch.randn(2, 3), torch.tensor(3)))
    export('quantized', quantized(), (torch.randn(2, 4),), dynamic_shapes=({0: batch},))
    export('containers', Containers(), ({'values': torch.randn(2, 3)},), {'factor': 2.0})
    # PyTorch 2.8 pickles weights.
    shutil.copyfile(FOLDER.parents[2] / 'python/exported/archives/2.8.0_tied.pt2', FOLDER / 'pickled_weights.pt2')


if __name__ == '__main__':
    main()
