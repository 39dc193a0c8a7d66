"""Calls in every form of Python, against the interpreter."""

import array

import numpy
import pytest
import torch

import modules
import sr
from modules import scripted

X, Y = torch.arange(6.0).view(2, 3), torch.full((2, 3), 0.5)

CALLS = [
    (modules.DeepWide(), modules.DeepWide.inputs(), {}),
    (modules.Defaults(), (X,), {}),
    (modules.Defaults(), (X, 3.0), {}),
    (modules.Defaults(), (X, 3), {}),
    (modules.Defaults(), (X,), {'shift': Y}),
    (modules.Defaults(), (X,), {'shift': None, 'times': 3}),
    (modules.Defaults(), (), {'times': 2, 'x': X, 'shift': Y, 'scale': 0.5}),
    (modules.Defaults(), (X, 2.0, Y, 2), {}),
    (modules.Nested(), ([(X, Y), (Y, Y)], {'start': X}, True), {}),
    (modules.Nested(), ([], {'start': X}), {'flag': False}),
    (modules.Named(), (modules.Pair(X, Y),), {}),
    (modules.Strings(), (X, 'double'), {}),
    (modules.Strings(), (X,), {'mode': 'other'}),
    (modules.Numbers(), (X, 4, 0.25, True), {}),
    (modules.Numbers(), (X, True, 2, False), {}),
]


def assert_same(ours, theirs):
    assert type(ours).__name__ == type(theirs).__name__  # TorchScript makes a type for each NamedTuple
    if isinstance(theirs, torch.Tensor):
        torch.testing.assert_close(ours, theirs)
        assert ours.dtype == theirs.dtype and ours.requires_grad is False
    elif isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_same(ours[key], theirs[key])
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        assert getattr(ours, '_fields', None) == getattr(theirs, '_fields', None)
        for our, their in zip(ours, theirs):
            assert_same(our, their)
    else:
        assert ours == theirs


@pytest.mark.parametrize('planner', ['linear_scan', 'standard_resizing', 'greedy_by_size', 'no_reuse'])
@pytest.mark.parametrize('module, args, kwargs', CALLS)
def test_results_are_the_interpreters(module, args, kwargs, planner):
    script = scripted(module)
    ours = sr.StaticModule(script, planner=planner)
    for _ in range(4):  # general path, recording, replay
        with torch.no_grad():
            assert_same(ours(*args, **kwargs), script(*args, **kwargs))


def test_any_shape_and_dtype_on_any_call():
    ours = sr.StaticModule(scripted(modules.Defaults()))
    for x in (X, X.double(), torch.arange(4), X.view(3, 2, 1), X[:, ::2], torch.empty(0), X, X):
        assert_same(ours(x), modules.Defaults()(x))


def test_arrays_are_tensors_on_their_memory():
    ours = sr.StaticModule(scripted(modules.Defaults()))
    x = X.numpy()
    read_only = x.copy()
    read_only.flags.writeable = False
    for given in (x, x[:, ::-1], x.T, read_only, x.astype('int32'), numpy.float32(3), x[0, 0], numpy.array(3.0)):
        assert_same(ours(given), modules.Defaults()(torch.as_tensor(numpy.array(given))))
    assert_same(ours(x, shift=x, scale=numpy.float32(0.5)), X * 0.5 + X)

    class Shared:
        __dlpack__, __dlpack_device__ = X.__dlpack__, X.__dlpack_device__

    assert_same(ours(Shared()), X * 2)


def test_arrays_inside_of_containers():
    script = scripted(modules.Nested())
    x, y = X.numpy(), Y.numpy()
    assert_same(sr.StaticModule(script)([(x, Y), (y, y)], {'start': x}, True),
                script([(X, Y), (Y, Y)], {'start': X}, True))
    pair = sr.StaticModule(scripted(modules.Named()))(modules.Pair(x, y))
    assert_same((pair.total, pair.product), (X + 1, Y * 2))


def test_a_result_may_be_an_argument_and_keeps_its_memory():
    ours = sr.StaticModule(scripted(modules.Defaults()))
    assert ours(X, times=0).data_ptr() == X.data_ptr()
    first = ours(X)
    kept = first.clone()
    for _ in range(5):
        ours(Y)
    assert_same(first, kept)


@pytest.mark.parametrize('batch', [1, 4])
def test_out_writes_into_tensors_and_arrays(batch):
    script = scripted(modules.DeepWide())
    ours, inputs = sr.StaticModule(script), modules.DeepWide.inputs(batch)
    expected = script(*inputs).detach()
    for buffer in (torch.zeros(batch, 1), torch.zeros(batch, 2)[:, :1], numpy.zeros((batch, 1), 'float32')):
        for _ in range(4):
            buffer[...] = 0
            assert ours(*inputs, out=buffer) is buffer
            assert_same(torch.as_tensor(buffer), expected)
    ad, user, wide = inputs
    assert_same(ours(*inputs, out=None), expected)
    assert_same(ours(ad, out=torch.zeros(batch, 1), wide=wide, user=user), expected)


def test_out_of_several_results():
    script = scripted(modules.Named())
    ours, buffers = sr.StaticModule(script), (torch.zeros(2, 3), numpy.zeros((2, 3), 'float32'))
    assert ours(modules.Pair(X, Y), out=buffers) is buffers
    assert_same((buffers[0], torch.from_numpy(buffers[1])), (X + 1, Y * 2))
    named = {'a': torch.zeros(2, 3), 'b': [torch.zeros(2, 3)]}
    ours(modules.Pair(X, Y), out=named)
    assert_same(named, {'a': X + 1, 'b': [Y * 2]})


def test_an_argument_of_the_model_that_is_called_out():
    ours = sr.StaticModule(scripted(modules.TakesOut()))
    assert_same(ours(X, out=Y), X + Y)
    buffer = torch.zeros(2, 3)
    assert ours.run_into(buffer, X, out=Y) is buffer
    assert_same(buffer, X + Y)


def test_tensor_subclasses_and_parameters():
    class Own(torch.Tensor):
        pass

    ours = sr.StaticModule(scripted(modules.Defaults()))
    for _ in range(3):
        assert_same(ours(torch.nn.Parameter(X)), X * 2)
        torch.testing.assert_close(ours(X.as_subclass(Own)), X * 2)


@pytest.mark.parametrize('given', ['text', 3, [X], object(), array.array('f', [1.0]), numpy.array(['a'])])
def test_what_is_no_tensor_is_refused(given):
    ours = sr.StaticModule(scripted(modules.Defaults()))
    with pytest.raises(sr.ArgumentError):
        ours(given)
    assert_same(ours(X), X * 2)


def test_a_list_that_a_call_changes_and_returns_is_replayed():
    module, cache = sr.StaticModule(scripted(modules.GrowingCache())), [torch.zeros(0, 3)]
    for call in range(1, 13):
        total, cache = module(torch.ones(2, 3), cache)
        assert total.tolist() == [2.0 * call] * 3
    assert cache[0].shape == (24, 3)
    assert module.report()['replayed_calls'] >= 8
