"""Models that are exported in the tests for what their Python does. The name of each says what only it has."""

import dataclasses
import typing

import torch
from torch import nn
from torch.export import Dim

from cases import call, randn, register


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


class Scans(nn.Module):
    """A recurrent cell over a sequence, forwards, and sums over its other dimension, backwards."""

    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x, h):
        from torch._higher_order_ops.scan import scan
        last, states = scan(lambda h, x: (torch.tanh(self.inner(h) + self.outer(x)), h * 2), h, x)
        sums, parts = scan(lambda c, x: ({'sum': c['sum'] + x, 'product': c['product'] * x}, (c['sum'] * 2, x + 1)),
                           {'sum': h[0] + 1, 'product': h[1] + 1}, x[:, 0].t(), dim=1, reverse=True)
        return last, states, sums, parts


register(Scans, [call(randn(5, 2, 3), randn(2, 3)), call(randn(1, 2, 3), randn(2, 3)), call(randn(8, 2, 3), randn(2, 3))],
         {'x': {0: Dim.DYNAMIC}, 'h': None})


class Maps(nn.Module):
    def forward(self, x, y):
        from torch._higher_order_ops.map import map
        return map(lambda row, y: (row.sin() + y, row.sum(), row > 0), x, y)


register(Maps, [call(randn(4, 3), randn(3)), call(randn(1, 3), randn(3)), call(randn(6, 3), randn(3))],
         {'x': {0: Dim.DYNAMIC}, 'y': None})


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


class WithoutAutocast(nn.Module):
    def forward(self, x):
        with torch.autocast('cpu', enabled=False):
            y = x.float() @ x.t()
        with torch.autocast('cuda', enabled=False):
            return y.relu(), x + y


register(WithoutAutocast, [call(randn(3, 3)), call(randn(3, 3))])


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
