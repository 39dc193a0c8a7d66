"""Modules of the tests, in a file that child processes can import."""

from dataclasses import dataclass
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn


class DeepWide(nn.Module):
    def __init__(self):
        super().__init__()
        self.mu, self.sigma = nn.Parameter(torch.randn(1, 50)), nn.Parameter(torch.randn(1, 50))
        self.fc = nn.Linear(51, 1)

    def forward(self, ad, user, wide):
        preprocessed = torch.clamp((wide + self.mu) * self.sigma, 0.0, 10.0)
        product = torch.flatten(torch.bmm(ad, torch.transpose(user, 1, 2)), 1)
        return torch.sigmoid(self.fc(torch.cat([product, preprocessed], 1)))

    @staticmethod
    def inputs(batch: int = 1):
        return torch.randn(batch, 1, 32), torch.randn(batch, 1, 32), torch.randn(batch, 50)


class Pair(NamedTuple):
    total: Tensor
    product: Tensor


class GrowingCache(nn.Module):
    def forward(self, x, cache: List[Tensor]):
        cache[0] = torch.cat([cache[0], x])
        return cache[0].sum(0), cache


@dataclass
class Out:
    """A result whose constructor rejects some values."""

    y: Tensor

    def __post_init__(self):
        if type(self.y) is Tensor and bool((self.y < 0).any()):
            raise ValueError('negative')


torch.export.register_dataclass(Out, serialized_type_name='sr.tests.Out')


class ReturnsAnOut(nn.Module):
    def forward(self, x):
        return Out(x * 2)


class Defaults(nn.Module):
    def forward(self, x, scale: float = 2.0, shift: Optional[Tensor] = None, times: int = 1):
        for _ in range(times):
            x = x * scale
        return x if shift is None else x + shift


class Sparse(nn.Module):
    def forward(self, x):
        return x.to_sparse()


class Nested(nn.Module):
    def forward(self, pairs: List[Tuple[Tensor, Tensor]], named: Dict[str, Tensor], flag: bool):
        total = named['start']
        for a, b in pairs:
            total = total + a * b
        return {'total': total, 'start': named['start']}, [a for a, _ in pairs], flag


class Named(nn.Module):
    def forward(self, pair: Pair):
        return Pair(pair.total + 1, pair.product * 2)


class Strings(nn.Module):
    def forward(self, x, mode: str):
        if mode == 'double':
            return x * 2, mode + '!'
        return x, 'plain'


class Numbers(nn.Module):
    def forward(self, x, n: int, f: float, b: bool):
        return n + 1, f * 2, not b, float(x.sum())


class TakesOut(nn.Module):
    def forward(self, x, out):
        return x + out


class Raises(nn.Module):
    def forward(self, x):
        if bool(x.sum() > 0):
            raise ValueError('positive')
        return torch.mm(x, x)


class Branches(nn.Module):
    """Cannot be scripted (a generator) and not traced faithfully (a branch on data)."""

    def forward(self, x):
        if bool(sum(v for v in x.unbind()) > 0):
            return x * 2
        return x


class Sum(nn.Module):
    def forward(self, x, y):
        return x + y


class ScriptedBranch(nn.Module):
    """Can be scripted, but not exported."""

    def forward(self, x):
        if bool(x.sum() > 0):
            return x * 2
        return x + 1


class Traceable(nn.Module):
    """Cannot be scripted, but traced."""

    def forward(self, x, *others, **named):
        for other in others:
            x = x + other
        return x.relu()


class Slow(nn.Module):
    def forward(self, x, steps: int):
        for _ in range(steps):
            x = torch.mm(x, x).tanh()
        return x


def scripted(module: nn.Module) -> torch.jit.ScriptModule:
    return torch.jit.script(module.eval())
