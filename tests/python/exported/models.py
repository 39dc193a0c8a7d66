"""Models that are exported in the tests: what each has that another has not is in its name."""

import dataclasses
import typing

import torch
from torch import nn
from torch.export import Dim


@dataclasses.dataclass
class Case:
    name: str
    module: nn.Module
    calls: list[tuple[tuple, dict]]  # the first is the one that is exported
    dynamic_shapes: object = None


CASES: list[Case] = []


def randn(*sizes, dtype=torch.float32):
    return torch.randn(*sizes, dtype=dtype)


def call(*args, **kwargs):
    return args, kwargs


def register(module_class, calls, dynamic_shapes=None):
    torch.manual_seed(0)
    CASES.append(Case(module_class.__name__, module_class().eval(), calls, dynamic_shapes))


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


class SizesAreComputed(nn.Module):
    def forward(self, x):
        b, t, c = x.shape
        flat = x.reshape(b * t, -1)
        half = flat[: (b * t) // 2]
        scaled = flat * (b / t) + max(b, t) - t % 2
        return flat, half, scaled, b * t + 1, b // 2, b / t, x.numel(), x.new_zeros(b, 2 * t)


register(SizesAreComputed, [call(randn(4, 5, 3)), call(randn(6, 3, 3)), call(randn(2, 7, 3))],
         {'x': {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}})


class SizesThatDependOnEachOther(nn.Module):
    def forward(self, x, y):
        return x[1:] + y


_dim = Dim('dim', min=3, max=50)
register(SizesThatDependOnEachOther, [call(randn(6, 2), randn(5, 2)), call(randn(9, 2), randn(8, 2))],
         {'x': {0: _dim}, 'y': {0: _dim - 1}})


class Branches(nn.Module):
    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda v: v.relu() * 2, lambda v: v - 1, (x,))
        return torch.cond(x.shape[0] > 4, lambda v: v.sin(), lambda v: v.cos(), (y,))


register(Branches, [call(torch.ones(3, 2)), call(-torch.ones(6, 2)), call(torch.ones(6, 2))], {'x': {0: Dim.DYNAMIC}})


class BranchesWithWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x, which):
        return torch.cond(which, lambda v: (self.one(v), v.sum()), lambda v: (self.other(v), v.mean()), (x,))


register(BranchesWithWeights, [call(randn(2, 3), torch.tensor(True)), call(randn(2, 3), torch.tensor(False))])


class Loops(nn.Module):
    def forward(self, x, steps):
        from torch._higher_order_ops import while_loop
        return while_loop(lambda i, v: i < steps, lambda i, v: (i + 1, v * 1.5 + steps), (torch.tensor(0), x))


register(Loops, [call(randn(2), torch.tensor(3)), call(randn(2), torch.tensor(0)), call(randn(2), torch.tensor(9))])


class DictionariesAndTuples(nn.Module):
    def forward(self, batch, pair):
        first, (second, third) = pair
        return {'sum': batch['x'] + first, 'rest': [second, (third, None)], 'count': 3}


register(DictionariesAndTuples, [call({'y': randn(2), 'x': randn(2)}, (randn(2), [randn(3), randn(4)])),
                                 call({'y': randn(2), 'x': randn(2)}, (randn(2), [randn(3), randn(4)]))])


@dataclasses.dataclass
class Encoded:
    hidden: torch.Tensor
    pooled: torch.Tensor | None = None


torch.export.register_dataclass(Encoded, serialized_type_name='sr.tests.Encoded')


class Point(typing.NamedTuple):
    x: torch.Tensor
    y: torch.Tensor


class DataclassesAndNamedTuples(nn.Module):
    def forward(self, encoded, point):
        return Encoded(encoded.hidden * 2, encoded.hidden.sum(0)), Point(point.y, point.x)


torch.utils._pytree._register_namedtuple(Point, serialized_type_name='sr.tests.Point')
register(DataclassesAndNamedTuples, [call(Encoded(randn(3, 2)), Point(randn(1), randn(2))),
                                     call(Encoded(randn(3, 2)), Point(randn(1), randn(2)))])


class KeywordsAndConstants(nn.Module):
    def forward(self, x, *, scale, flag=True, mode='relu', bias=None):
        y = x * scale + (0 if bias is None else bias)
        return torch.relu(y) if mode == 'relu' and flag else y


register(KeywordsAndConstants,
         [call(randn(2), scale=randn(2), flag=True, mode='relu', bias=randn(2)),
          call(randn(2), bias=randn(2), scale=randn(2), mode='relu', flag=True)])


class NumbersAsArguments(nn.Module):
    def forward(self, x, n):
        return x * n, x.repeat(n, 1), n + 1


register(NumbersAsArguments, [call(randn(2, 3), 4), call(randn(2, 3), 7)], {'x': None, 'n': Dim.DYNAMIC})


class BuffersAndConstants(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('kept', randn(3))
        self.register_buffer('strided', randn(3, 4).t()[1], persistent=False)
        self.constant = randn(3)
        self.tied, self.other = nn.Linear(3, 3), nn.Linear(3, 3)
        self.other.weight = self.tied.weight

    def forward(self, x):
        return self.other(self.tied(x)) * self.constant + self.kept - self.strided + torch.tensor([1., 2., 3.])


register(BuffersAndConstants, [call(randn(2, 3)), call(randn(2, 3))])


class IntegersAndBools(nn.Module):
    def forward(self, ids, mask):
        return ids * 2 + 1, mask & (ids > 1), ids.float().masked_fill(mask, float('-inf')), ids.max(), mask.any()


register(IntegersAndBools, [call(torch.tensor([1, 2, 3]), torch.tensor([True, False, True])),
                            call(torch.tensor([3, 0, -3]), torch.tensor([False, False, False]))])


class ManyDtypes(nn.Module):
    def forward(self, x):
        return (x.double().mean(), x.half(), x.bfloat16() + 1, x.to(torch.int64), x.to(torch.complex64).abs(),
                torch.zeros(3, dtype=torch.bool), torch.full((2,), True), torch.arange(4), x.contiguous())


register(ManyDtypes, [call(randn(3)), call(randn(3))])


class ListsOfTensors(nn.Module):
    def forward(self, x):
        parts = x.split([1, 2, 3])
        a, b = torch.chunk(x, 2)
        stacked = torch.stack([parts[0][0], parts[1][0], parts[2][0]])
        return torch.cat([parts[2], a, b]), stacked, list(x.unbind())[0], x[torch.tensor([0, 2])], x[None, ..., 1:3]


register(ListsOfTensors, [call(randn(6)), call(randn(6))])


class NumbersForTensors(nn.Module):
    def forward(self, x, mask):
        y = torch.where(mask, x, 0.0) + torch.where(mask, 1, x)
        return y, torch.maximum(x, torch.tensor(0.5)), 2 - x, x ** 2, 2 ** x, x // 0.3, x % 0.7, x > x.shape[0]


register(NumbersForTensors, [call(randn(3), torch.tensor([True, False, True])),
                             call(randn(5), torch.tensor([True, False, True, False, True]))],
         {'x': {0: Dim('n')}, 'mask': {0: Dim('n')}})


class NothingIsReturned(nn.Module):
    def forward(self, x):
        return {'none': None, 'x': x + 1, 'same': x}


register(NothingIsReturned, [call(randn(2)), call(randn(2))])


class OnlyOneInATuple(nn.Module):
    def forward(self, x):
        return (x.exp(),)


register(OnlyOneInATuple, [call(randn(2)), call(randn(2))])


class NoGradient(nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = x.sin()
        return y + x


register(NoGradient, [call(randn(2)), call(randn(2))])


class DataDecideSizes(nn.Module):
    def forward(self, x, n):
        count = n.item()
        torch._check(count >= 1)
        torch._check(count <= 4)
        return x.new_ones(count) * 2, x[x > 0], x.nonzero()


register(DataDecideSizes, [call(randn(5), torch.tensor(2)), call(randn(5), torch.tensor(4)),
                           call(randn(5), torch.tensor(1))])


class WritesToTemporaries(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[0] = 1
        y[1:].mul_(2)
        y.add_(x)
        return y.clamp_(min=-1)


register(WritesToTemporaries, [call(randn(4)), call(randn(4))])


class NotScriptable(nn.Module):
    """torch.jit.script takes no generator, no set and no **kwargs."""

    def __init__(self):
        super().__init__()
        self.layers = {name: nn.Linear(3, 3) for name in ('a', 'b')}
        for name, layer in self.layers.items():
            self.add_module(name, layer)

    def forward(self, x, **extra):
        chosen = {key for key in extra if not key.startswith('_')}
        return sum(self.layers[name](x) for name in self.layers) + sum(extra[key] for key in sorted(chosen))


register(NotScriptable, [call(randn(2, 3), shift=randn(3)), call(randn(2, 3), shift=randn(3))])


@torch.library.custom_op('sr_tests::scaled_sum', mutates_args=())
def scaled_sum(x: torch.Tensor, factor: float, times: int = 2) -> torch.Tensor:
    return x.sum(-1) * factor * times


@scaled_sum.register_fake
def _(x, factor, times=2):
    return x.new_empty(x.shape[:-1])


class CustomOperator(nn.Module):
    def forward(self, x):
        return torch.ops.sr_tests.scaled_sum(x, 0.5) + torch.ops.sr_tests.scaled_sum(x + 1, 2.0, times=3)


register(CustomOperator, [call(randn(2, 3)), call(randn(4, 3))], {'x': {0: Dim.DYNAMIC}})


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
        return torch.einsum('bij,bjk->bik', a, b), torch.baddbmm(a, a, b), a.norm(dim=-1), a.cumsum(0), a.topk(2)[0], a.sort()[1]


register(EinsumAndLinearAlgebra, [call(randn(2, 3, 3), randn(2, 3, 3)), call(randn(2, 3, 3), randn(2, 3, 3))])


class NamesOfResults(nn.Module):
    """Its result is a tuple of a type of torch, which has no name in an archive."""

    def forward(self, x):
        return x.topk(2)


ONLY_IN_MEMORY = [Case('NamesOfResults', NamesOfResults(), [call(randn(5)), call(randn(5))])]
