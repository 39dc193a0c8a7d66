"""Functors of sr that no entry of the database reaches, since they are of numbers, containers and control flow: a
program for each, by the key it is registered under."""

import warnings  # noqa: F401  (a program names it)

import torch


@torch.jit.script
class Held:
    """An object with an attribute."""

    def __init__(self, x: torch.Tensor):
        self.x = x


PROGRAMS: dict[str, str] = {
    'aten::__is__': 'def f(x):\n    y: Optional[Tensor] = x\n'
                    '    if x.dim() > 1:\n        y = None\n    return x * 2 if y is None else x + 1',
    'aten::__isnot__': 'def f(x):\n    y: Optional[Tensor] = None\n'
                       '    if x.dim() > 1:\n        y = x\n    return x * 2 if y is not None else x + 1',
    'aten::__not__': 'def f(x):\n    return x * 2 if not (x.dim() > 1) else x + 1',
    'aten::add.float': 'def f(x):\n    return x + (float(x.dim()) + 0.5)',
    'aten::sub.float': 'def f(x):\n    return x + (float(x.dim()) - 0.5)',
    'aten::mul.float': 'def f(x):\n    return x + float(x.dim()) * 0.5',
    'aten::gt.float': 'def f(x):\n    return x * 2 if float(x.dim()) > 1.5 else x + 1',
    'aten::lt.float': 'def f(x):\n    return x * 2 if float(x.dim()) < 1.5 else x + 1',
    'aten::add.int': 'def f(x):\n    return torch.ones(x.dim() + 1), x + (x.numel() + 1)',
    'aten::sub.int': 'def f(x):\n    return x.transpose(0, x.dim() - 1)',
    'aten::mul.int': 'def f(x):\n    return x.reshape(x.dim() * x.numel() * 0 + x.numel())',
    'aten::eq.int': 'def f(x):\n    return x * 2 if x.dim() == 2 else x + 1',
    'aten::ne.int': 'def f(x):\n    return x * 2 if x.dim() != 2 else x + 1',
    'aten::ge.int': 'def f(x):\n    return x * 2 if x.dim() >= 2 else x + 1',
    'aten::gt.int': 'def f(x):\n    return x * 2 if x.dim() > 1 else x + 1',
    'aten::le.int': 'def f(x):\n    return x * 2 if x.dim() <= 1 else x + 1',
    'aten::lt.int': 'def f(x):\n    return x * 2 if x.dim() < 2 else x + 1',
    'aten::dim': 'def f(x):\n    return x.sum(x.dim() - 1), x.dim()',
    'aten::len.Tensor': 'def f(x):\n    return x + len(x), len(x)',
    'aten::len.t': 'def f(x):\n    pieces = x.unbind(0)\n    return torch.stack(pieces) + len(pieces)',
    'aten::numel': 'def f(x):\n    return x.reshape(x.numel()), x.numel()',
    'aten::size': 'def f(x):\n    return x.reshape(-1).view(x.size()), x.size()',
    'aten::size.int': 'def f(x):\n    return x.reshape(x.size(0), -1), x.size(-1)',
    'aten::expand_as': 'def f(x):\n    return (x[:1].expand_as(x) * 2, x[:1].expand_as(x))',
    'aten::detach': 'def f(x):\n    return x.detach() * 2, x.detach()',
    'aten::_softmax': 'def f(x):\n    return torch._softmax(x, -1, False) * 2, torch._softmax(x, 0, False)',
    'aten::_log_softmax': 'def f(x):\n    return torch._log_softmax(x, -1, False) * 2, \\\n'
                          '        torch._log_softmax(x, 0, False)',
    'aten::cat': 'def f(x):\n    return torch.cat(x.unbind(0), -1) * 2, torch.cat(x.unbind(0))',
    'aten::clamp': 'def f(x):\n    return torch.clamp(x, -1, 2) * 2, torch.clamp(x, min=1), torch.clamp(x, 0.5, 1.5)',
    'aten::clamp_max': 'def f(x):\n    return torch.clamp_max(x, 1) * 2, torch.clamp_max(x, 1.5)',
    'aten::sub.Scalar': 'def f(x):\n    return torch.sub(x, 2) * 2, torch.sub(x, 2, 3), torch.sub(x, 1.5)',
    'aten::eq.Scalar': 'def f(x):\n    return (x == 1).logical_not(), x == 1.5',
    'aten::ne.Scalar': 'def f(x):\n    return (x != 1).logical_not(), x != 1.5',
    'aten::ge.Scalar': 'def f(x):\n    return (x >= 1).logical_not(), x >= 1.5',
    'aten::le.Scalar': 'def f(x):\n    return (x <= 1).logical_not(), x <= 1.5',
    'aten::lt.Scalar': 'def f(x):\n    return (x < 1).logical_not(), x < 1.5',
    'aten::embedding_bag': 'def f(x):\n    i = torch.zeros([3], dtype=torch.int64)\n'
                           '    return torch.embedding_bag(x, i, i[:1])[0] * 2',
    'prim::SetAttr': 'def f(x):\n    held = Held(x * 2)\n    if x.dim() > 1:\n        held.x = x + 1\n'
                     '    return held.x * 2',
    'aten::dropout': 'def f(x):\n    return torch.dropout(x, 0.5, False) * 2, torch.dropout(x, 0.5, False)',
    'aten::warn': 'def f(x):\n    warnings.warn("told")\n    return x * 2',
    'aten::wait': 'def g(x):\n    return x * 2\n\ndef f(x):\n    one = torch.jit._fork(g, x)\n'
                  '    return torch.jit._wait(one) + x',
    'prim::dtype': 'def f(x):\n    return torch.zeros([2], dtype=x.dtype), (x > 0).to(x.dtype)',
    'prim::isinstance': 'def g(x: Union[Tensor, int]):\n    return x if isinstance(x, Tensor) else torch.ones(2)\n\n'
                        'def f(x):\n    return g(x * 2)',
    'prim::If': 'def f(x):\n    if bool((x == x).all()):\n        y = x * 2\n    else:\n        y = x.neg()\n'
                '    return y + y, y',
    'prim::Loop': 'def f(x):\n    y = x\n    for i in range(x.dim()):\n        y = y + x * i\n    return y, y.sum()',
    'prim::RaiseException': 'def f(x):\n    if x.dim() > 3:\n        raise ValueError("too many")\n    return x * 2',
    'prim::Uninitialized': 'def f(x):\n    for i in range(3):\n        if x.dim() > i:\n            return x * i\n'
                           '    return x + 1',
    'prim::DictConstruct': 'def f(x):\n    d = {"a": x * 2, "b": x}\n    return d, d["a"] + d["b"]',
    'prim::ListConstruct': 'def f(x):\n    y = x * 2\n    return [y, x, y + 1]',
    'prim::ListUnpack': 'def f(x):\n    a, b = torch.chunk(torch.cat([x, x]), 2)\n    return a * b, a',
    'prim::TupleConstruct': 'def f(x):\n    y = x * 2\n    return (y, (x, y))',
    'prim::TupleUnpack': 'def g(x):\n    return (x * 2, (x, x + 1))\n\ndef f(x):\n    y = x\n'
                         '    if x.dim() > 1:\n        t = g(x)\n    else:\n        t = g(y * 2)\n'
                         '    a, b = t\n    c, d = b\n    return a + c, d',
    'prim::TupleIndex': 'def f(x):\n    if x.dim() > 1:\n        t = (x * 2, x + 1)\n'
                        '    else:\n        t = (x, x * 3)\n'
                        '    i = 1\n    return t[i] * 2',
    'prim::VarConcat': 'def f(x):\n    return torch.cat([x, x * 2, x]), torch.cat([x, x + 1], -1) * 2',
    'prim::VarStack': 'def f(x):\n    return torch.stack([x, x * 2, x]), torch.stack([x, x + 1], -1) * 2',
}

DTYPES = (torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16, torch.complex64)
SIZES = ((2, 3), (5,), (), (2, 4, 3, 5), (0, 3), (33, 17))


def stock(seed: int) -> list[torch.Tensor]:
    """Tensors for every program."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(-4, 5, size, generator=generator).to(dtype) for dtype in DTYPES for size in SIZES]


def script_of(key: str) -> torch.jit.ScriptFunction:
    return torch.jit.CompilationUnit(PROGRAMS[key] + '\n').f
