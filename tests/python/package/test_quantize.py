"""sr.quantize: from models as people have them to modules in int8, and what is refused."""

import copy
import math
import pickle

import pytest
import sr
import torch
from torch import nn


def layers():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64, bias=False), nn.GELU(), nn.Linear(64, 32)).eval()


def every_layer(model, inputs, **options):
    return sr.quantize(model, inputs, max_time_ratio=math.inf, **options)


def error(expected, result):
    return ((expected - result).norm() / expected.norm()).item()


@pytest.mark.parametrize('make', [
    lambda net: net,
    torch.jit.script,
    lambda net: torch.jit.trace(net, torch.randn(2, 64)),
    sr.compile,
    lambda net: sr.compile(net, (torch.randn(2, 64),), frontend='export'),
], ids=['eager', 'scripted', 'traced', 'compiled', 'exported'])
def test_models_of_any_kind(make, tmp_path):
    net = layers()
    module, report = every_layer(make(net), [torch.randn(8, 64), (torch.randn(3, 64),)], numerics='exact')
    assert [layer['is_quantized'] for layer in report['layers']] == [True] * 3
    assert report['smallest_cosine'] > 0.999 and '3 of 3 layers in int8' in str(report)
    module.save(tmp_path / 'int8.pt')
    assert (tmp_path / 'int8.pt').stat().st_size < 30_000  # 56 KB in float
    loaded = sr.load(tmp_path / 'int8.pt', numerics='exact')
    for x in torch.randn(8, 64), torch.randn(1, 64), torch.randn(0, 64):
        with torch.no_grad():
            expected = net(x)
        for other in module, loaded, pickle.loads(pickle.dumps(module)), copy.deepcopy(module):
            result = other(x)
            assert torch.equal(result, module(x)) and result.shape == expected.shape
            assert x.numel() == 0 or error(expected, result) < 0.03


def test_names_of_layers():
    _, report = every_layer(layers(), [torch.randn(4, 64)])
    assert [(layer['name'], layer['inputs'], layer['outputs'], layer['rows']) for layer in report['layers']] == [
        ('0', 64, 96, 4), ('2', 96, 64, 4), ('4', 64, 32, 4)]


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 8)

    def forward(self, batch, *, scale):
        return {'scores': self.layer(batch['x']) * scale, 'more': [batch['y']]}


def test_nested_arguments_and_results():
    net = Nested().eval()
    batch = {'x': torch.randn(4, 16), 'y': torch.randn(4)}
    module = sr.from_exported(torch.export.export(net, (batch,), {'scale': torch.tensor(2.)}))
    seen = []

    def loss(expected, result):
        seen.append((expected, result))
        return error(expected['scores'], result['scores'])

    with pytest.raises(sr.ArgumentError, match='exported with a dict with the keys'):
        every_layer(module, [(batch['x'],)])
    call = (batch,), {'scale': torch.tensor(2.)}
    quantized, report = every_layer(module, [call], loss=loss, max_loss=0.05)
    assert len(seen) == 1 and set(seen[0][1]) == {'scores', 'more'} and 0 < report['loss'] < 0.05
    for made in quantized, pickle.loads(pickle.dumps(quantized)):
        assert error(net(batch, scale=2.)['scores'], made(batch, scale=torch.tensor(2.))['scores']) < 0.03


def test_keyword_arguments():
    _, report = every_layer(layers(), [{'input': torch.randn(2, 64)}])
    assert [layer['rows'] for layer in report['layers']] == [2] * 3


def test_the_gate():
    with pytest.raises(sr.QuantizationError, match='min_cosine is 1') as caught:
        every_layer(layers(), [torch.randn(8, 64)], min_cosine=1)
    assert len(caught.value.report['layers']) == 3
    with pytest.raises(sr.QuantizationError, match='mean loss is 3'):
        every_layer(layers(), [torch.randn(8, 64)], loss=lambda expected, result: 3, max_loss=2)


def test_exceptions_of_a_loss_arrive():
    def loss(expected, result):
        raise KeyError('mine')

    with pytest.raises(KeyError, match='mine'):
        every_layer(layers(), [torch.randn(8, 64)], loss=loss)


def test_a_layer_stays_in_float_if_int8_is_slower():
    _, report = sr.quantize(layers(), [torch.randn(4, 64)], max_time_ratio=1e-6)
    assert all(layer['reason'] == 'int8 is not faster' and layer['int8_us'] > 0 for layer in report['layers'])


def test_options_are_those_of_the_new_module():
    module = sr.compile(layers(), numerics='exact', max_runtimes=3)
    made, _ = every_layer(module, [torch.randn(8, 64)], max_runtimes=2)
    assert made.options == {'numerics': 'exact', 'max_runtimes': 2} and made.frontend == 'script'


def test_weights_that_were_replaced():
    module = sr.compile(layers())
    module.update(layers().state_dict())
    with pytest.raises(sr.ArgumentError, match='replaced by update'):
        every_layer(module, [torch.randn(8, 64)])
    with pytest.raises(sr.ArgumentError, match='replaced by update'):
        module.save('never.pt')


@pytest.mark.parametrize('inputs', [[], torch.randn(8, 64), {'input': torch.randn(8, 64)}, [3]])
def test_what_are_no_inputs(inputs):
    with pytest.raises(sr.ArgumentError, match='inputs'):
        sr.quantize(layers(), inputs)


def test_dynamic_sizes_are_one_plan():
    module, _ = every_layer(layers(), [torch.randn(8, 64)])
    for rows in range(2, 60):
        module(torch.randn(rows, 64))
    assert module.report()['replayed_calls'] > 50


@pytest.mark.parametrize('bits, group', [(8, 32), (4, 16), (4, 0)])
def test_groups(bits, group, tmp_path):
    net = layers()
    module, report = every_layer(net, [torch.randn(8, 64)], bits=bits, group=group, min_cosine=0.9)
    assert [layer['is_quantized'] for layer in report['layers']] == [True] * 3
    worst = 0.02 if bits == 8 else 0.2
    assert report['int8_bytes'] == 14_336 * bits // 8 + 14_336 // (group or 32) * 4
    module.save(tmp_path / 'small.pt')
    loaded = sr.load(tmp_path / 'small.pt')
    for x in torch.randn(8, 64), torch.randn(1, 64), torch.randn(0, 64):
        with torch.no_grad():
            expected = net(x)
        for _ in range(3):
            result = module(x)
            torch.testing.assert_close(loaded(x), result)
            assert result.shape == expected.shape and (x.numel() == 0 or error(expected, result) < worst)
    assert {kind['kind'] for kind in loaded.report()['packed_weights']} == {'int8 or int4 matrices, for int8'}


@pytest.mark.parametrize('wrong', [{'bits': 5}, {'group': 12}, {'group': -8}])
def test_groups_that_nothing_has(wrong):
    with pytest.raises(sr.ArgumentError, match=next(iter(wrong))):
        every_layer(layers(), [torch.randn(8, 64)], **wrong)
