"""Arguments and results of exported programs are nested as at export; messages name what differs."""

import collections
import copy
import dataclasses
import io
import pickle
import typing
from typing import NamedTuple

import pytest
import sr
import torch
from torch import nn
from torch.utils import _pytree as pytree


@dataclasses.dataclass
class Pair:
    sum: torch.Tensor
    product: torch.Tensor
    note: torch.Tensor | None = None


@dataclasses.dataclass(frozen=True)
class Frozen:
    sum: torch.Tensor
    product: torch.Tensor


@dataclasses.dataclass(slots=True)
class WithSlots:
    sum: torch.Tensor
    product: torch.Tensor


@dataclasses.dataclass
class Counted:
    made: typing.ClassVar[int] = 0

    sum: torch.Tensor
    product: torch.Tensor

    def __post_init__(self):
        type(self).made += 1


@dataclasses.dataclass
class WithInit:
    sum: torch.Tensor
    product: torch.Tensor

    def __init__(self, sum, product):
        self.sum, self.product = sum, product * 1
        self.is_made_by_init = True


@dataclasses.dataclass
class Watched:
    sum: torch.Tensor
    product: torch.Tensor

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        object.__setattr__(self, 'last_set', name)


class Named(NamedTuple):
    sum: torch.Tensor
    product: torch.Tensor


class Subclassed(collections.namedtuple('Base', 'sum product')):
    def __new__(cls, sum, product):
        return super().__new__(cls, sum + 0, product)


DATACLASSES = (Pair, Frozen, WithSlots, Counted, WithInit, Watched)
for dataclass in DATACLASSES:
    torch.export.register_dataclass(dataclass, serialized_type_name=f'sr_tests.{dataclass.__name__}')

RESULTS = {
    'tuple': lambda a, b: (a, b),
    'list': lambda a, b: [a, b],
    'dict': lambda a, b: {'sum': a, 'product': b},
    'ordered dict': lambda a, b: collections.OrderedDict(sum=a, product=b),
    **{f'dataclass {made.__name__}': lambda a, b, made=made: made(a, b) for made in DATACLASSES},
    'named tuple': lambda a, b: Named(a, b),
    'subclass of a named tuple': lambda a, b: Subclassed(a, b),
    'nested': lambda a, b: {'all': [(a,), {'b': b}], 'none': None, 'pair': Named(b, a)},
    'one in a list': lambda a, b: [a + b],
    'a number': lambda a, b: (a, 3, b),
}


class Returns(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.make = RESULTS[kind]

    def forward(self, x, y):
        return self.make(x + y, x * y)


def check_same(result, expected):
    ours, spec = pytree.tree_flatten(result)
    theirs, wanted = pytree.tree_flatten(expected)
    assert spec == wanted
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(other, torch.Tensor):
            torch.testing.assert_close(one, other)
        else:
            assert one == other


@pytest.mark.parametrize('kind', RESULTS)
def test_results_are_nested_as_at_export(kind):
    model, x, y = Returns(kind), torch.randn(4, 3), torch.randn(4, 3)
    module = sr.from_exported(torch.export.export(model, (x, y)))
    for each in (module, copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        for _ in range(4):
            check_same(each(x, y), model(x, y))
        check_same(each.run_async(x, y).result(timeout=30), model(x, y))
        check_same(each.runAsync([x, y], {}).wait(), model(x, y))
        buffers = each(x, y)
        if kind == 'a number':
            continue
        assert each(y, y, out=buffers) is buffers
        check_same(buffers, model(y, y))
        bound = each.bind(x, y)
        tensors = [leaf for leaf in pytree.tree_leaves(model(x, y)) if isinstance(leaf, torch.Tensor)]
        assert all(torch.equal(one, other) for one, other in zip(bound.outputs, tensors))


def test_code_of_a_dataclass_runs_for_each_result():
    x = torch.randn(3, 3)
    for kind, ran in (('Counted', lambda one: Counted.made), ('WithInit', lambda one: one.is_made_by_init),
                      ('Watched', lambda one: one.last_set == 'product')):
        module = sr.from_exported(torch.export.export(Returns(f'dataclass {kind}'), (x, x)))
        Counted.made = 0
        assert ran(module(x, x)) == 1


class Takes(nn.Module):
    def forward(self, d, pair, *, scale, more=None):
        return d['x'] * scale['by'] + pair[0] @ d['mask'].t() + (0 if more is None else more[0])


def taking():
    x = torch.randn(3, 3)
    return sr.from_exported(torch.export.export(Takes(), ({'x': x, 'mask': x + 1}, (x + 2, x + 3)),
                                                {'scale': {'by': x + 4}, 'more': [x + 5]})), x


def test_dictionaries_and_keywords_come_in_any_order():
    module, x = taking()
    a, b, c, d, e = (torch.randn(3, 3) for _ in range(5))
    expected = Takes()({'x': a, 'mask': b}, (c, d), scale={'by': e}, more=[a])
    for _ in range(4):
        torch.testing.assert_close(module({'mask': b, 'x': a}, (c, d), more=[a], scale={'by': e}), expected)
    bound = module.bind({'mask': b, 'x': a}, (c, d), more=[a], scale={'by': e})
    torch.testing.assert_close(bound(), expected)


@pytest.mark.parametrize('change, message', [
    (lambda d, p, k: d.pop('x'), r"The dictionary that is argument 0 lacks 'x'\. The model was exported with the keys 'x', 'mask'"),
    (lambda d, p, k: d.update(q=d['x']), r"The dictionary that is argument 0 has 'q', which the model does not take"),
    (lambda d, p, k: d.update(q=d.pop('x')), r"argument 0 lacks 'x' and has 'q', which the model does not take"),
    (lambda d, p, k: p.pop(), r'Argument 1 is a tuple of 1 element; the model was exported with a tuple of 2 elements there'),
    (lambda d, p, k: k.pop('more'), r"The call lacks 'more'\. The model was exported with the keyword arguments 'scale', 'more'"),
    (lambda d, p, k: k.update(most=1), r"The call has 'most', which the model does not take"),
    (lambda d, p, k: k['scale'].clear(), r"The dictionary that is argument 'scale' lacks 'by'"),
    (lambda d, p, k: k.update(more=k['more'][0]), r"Argument 'more' is a value of the type Tensor; the model was exported with a list of 1"),
    (lambda d, p, k: k.update(more=[3]), 'is of Python.s type int, expected Tensor'),
])
def test_messages_name_what_differs(change, message):
    module, x = taking()
    d, pair, keywords = {'x': x, 'mask': x}, [x, x], {'scale': {'by': x}, 'more': [x]}
    change(d, pair, keywords)
    for call in (module, module.bind, module.reserve, module.run_async):
        with pytest.raises(sr.ArgumentError, match=message):
            call(d, tuple(pair), **keywords)
    with pytest.raises(sr.ArgumentError, match='The call has 1 positional argument; the model was exported with 2'):
        module(d, scale={'by': x}, more=[x])


class Multiplies(nn.Module):
    def forward(self, d, y, *, z):
        return d['x'] * d['mask'] + y * z


def test_leaves_that_were_one_tensor_at_export_must_be_one_tensor():
    x, other = torch.randn(4, 3), torch.randn(4, 3)
    program = torch.export.export(Multiplies(), ({'x': x, 'mask': x}, other), {'z': other.clone()})
    module = sr.from_exported(program)
    for _ in range(4):
        assert torch.equal(module({'mask': other, 'x': other}, x, z=x), other * other + x * x)
        with pytest.raises(sr.ArgumentError, match=r"two tensors for argument 0\['x'\] and argument 0\['mask'\]\."):
            module({'mask': other, 'x': x}, x, z=x)
    with pytest.raises(sr.ArgumentError, match='Export it with two tensors'):
        pickle.loads(pickle.dumps(module))({'mask': other, 'x': x}, x, z=x)
    flat = sr.from_exported(torch.export.export(torch.nn.Bilinear(3, 3, 2).eval(), (x, x)))
    with pytest.raises(sr.ArgumentError, match='two tensors for argument 0 and argument 1'):
        flat(x, other)


def test_an_example_given_twice_is_two_arguments_of_a_compiled_module():
    x, other = torch.randn(4, 3), torch.randn(4, 3)
    module = sr.compile(Multiplies(), example_args=({'x': x, 'mask': x}, x), example_kwargs={'z': x}, frontend='export')
    for _ in range(4):
        assert torch.allclose(module({'x': x, 'mask': other}, other, z=x), x * other + other * x)


class ViewsInIntegers(nn.Module):
    def forward(self, x):
        return x.view(torch.int32) + 1, (x * 2).view(torch.int16), x.view(torch.float32)


@pytest.mark.parametrize('dynamic', [False, True])
def test_views_in_another_dtype(dynamic):
    shapes = ({0: torch.export.Dim('n', min=2)},) if dynamic else None
    model, x = ViewsInIntegers(), torch.randn(4, 6)
    program = torch.export.export(model, (x,), dynamic_shapes=shapes)
    file = io.BytesIO()
    torch.export.save(program, file)
    for module in (sr.from_exported(program), sr.load(file.getvalue())):
        for rows in (4, 4, 4) + ((5, 7, 3) if dynamic else ()):
            given = torch.randn(rows, 6)
            for ours, theirs in zip(module(given), model(given), strict=True):
                assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)


class InRegion(nn.Module):
    def forward(self, x):
        with torch.autocast('cpu', enabled=False):
            return x @ x.t()


def test_a_region_without_autocast_refuses_autocast_around_the_call():
    x = torch.randn(4, 4)
    module = sr.from_exported(torch.export.export(InRegion(), (x,)))
    for _ in range(4):
        torch.testing.assert_close(module(x), x @ x.t())
        with torch.autocast('cpu', dtype=torch.bfloat16), pytest.raises(sr.ArgumentError, match='called under autocast'):
            module(x)
        with torch.autocast('cpu', enabled=False):
            assert module(x).dtype == torch.float32


class TakesTheOnlyElement(nn.Module):
    def forward(self, x):
        for row in x.unbind(0):
            y = row + 1
        return y + x.chunk(1, 1)[0].sum()


def test_lists_of_one_element_are_unpacked():
    x = torch.randn(1, 4)
    module = sr.from_exported(torch.export.export(TakesTheOnlyElement(), (x,)))
    for _ in range(3):
        torch.testing.assert_close(module(x), TakesTheOnlyElement()(x))


class DividesByZeros(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('a', torch.tensor([0.0, 1.0]))
        self.register_buffer('b', torch.tensor([-0.0, 1.0]))

    def forward(self, x):
        zeros = torch.zeros(2)
        return x / 0.0, x / -0.0, x / self.a, x / self.b, x / zeros, x / -zeros


def test_zeros_of_both_signs_stay_apart():
    x = torch.tensor([1.0, 2.0])
    program = torch.export.export(DividesByZeros(), (x,))
    file, traced = io.BytesIO(), io.BytesIO()
    torch.export.save(program, file)
    trace = torch.jit.trace(DividesByZeros(), (x,), check_trace=False)
    torch.jit.save(trace, traced)
    modules = [sr.from_exported(program), sr.load(file.getvalue()), sr.StaticModule(trace),
               sr.load(traced.getvalue()), sr.StaticModule(trace, freeze_weights=True)]
    for module in modules:
        # torch.jit.save writes the two numbers of the trace as one.
        first = 2 if module is modules[3] else 0
        for _ in range(4):
            for ours, theirs in zip(module(x)[first:], DividesByZeros()(x)[first:], strict=True):
                assert torch.equal(ours, theirs), (ours, theirs)
