"""What cannot be run, or is damaged, is refused with a sentence that says what and where."""

import copy
import io
import json
import zipfile

import pytest
import sr
import torch
from torch import nn


def program_of(module, *args, **options):
    return torch.export.export(module.eval(), args, **options)


def archive_of(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


class AddsToAParameter(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.zeros(2), requires_grad=False)

    def forward(self, x):
        self.scale.view(2).add_(1)
        return x + self.scale


@pytest.mark.parametrize('decomposed', [False, True])
def test_what_writes_to_a_parameter(decomposed):
    program = torch.export.export(AddsToAParameter().eval(), (torch.randn(2),))
    if decomposed:
        program = program.run_decompositions()
    with pytest.raises(sr.UnsupportedOpError, match="the parameter 'scale'|its parameter 'scale'"):
        sr.from_exported(program)


@pytest.fixture
def sized():
    dim = torch.export.Dim('batch', min=3, max=20)
    return sr.from_exported(program_of(nn.Linear(4, 2), torch.randn(5, 4), dynamic_shapes={'input': {0: dim}}))


@pytest.mark.parametrize(('x', 'words'), [
    (torch.randn(5, 3), 'size 3 in dimension 1, but the model was exported for 4'),
    (torch.randn(5), '1 dimensions, but the model was exported for 2'),
    (torch.randn(5, 4, dtype=torch.float64), 'of type Double, but the model was exported for Float'),
])
def test_tensors_that_were_not_exported_for(sized, x, words):
    for _ in range(4):
        with pytest.raises(sr.ArgumentError, match=words):
            sized(x)
        assert sized(torch.randn(5, 4)).shape == (5, 2)


@pytest.mark.parametrize(('rows', 'words'), [(2, 'less than 3'), (21, 'more than 20')])
def test_sizes_outside_of_the_range(sized, rows, words):
    for _ in range(4):
        with pytest.raises(sr.ArgumentError, match=f"outside of what was exported: size 0 of 'input' is {words}"):
            sized(torch.randn(rows, 4))


class TwoOfOneSize(nn.Module):
    def forward(self, x, y):
        return x + y


def test_sizes_that_must_be_equal():
    dim = torch.export.Dim('batch')
    module = sr.from_exported(program_of(TwoOfOneSize(), torch.randn(4), torch.randn(4),
                                         dynamic_shapes={'x': {0: dim}, 'y': {0: dim}}))
    with pytest.raises(sr.ArgumentError, match="size 0 of 'y' is not equal to size 0 of 'x'"):
        module(torch.randn(4), torch.randn(1))


class TakesMore(nn.Module):
    def forward(self, x, *, flag=True, factor=2):
        return x * factor if flag else x


def test_constants_are_part_of_the_graph():
    module = sr.from_exported(torch.export.export(TakesMore(), (torch.randn(2),), {'flag': True, 'factor': 3}))
    assert module(torch.ones(2), factor=3, flag=True).tolist() == [3, 3]
    with pytest.raises(sr.ArgumentError, match='gives 4 where the model was exported for 3'):
        module(torch.ones(2), flag=True, factor=4)
    with pytest.raises(sr.ArgumentError, match=r"The call lacks 'factor'\. The model was exported with the keyword arguments"):
        module(torch.ones(2), flag=True)


class AssertsOnData(nn.Module):
    def forward(self, x):
        count = x.sum().item()
        torch._check(count < 10)
        return x + 1


def test_assertions_hold():
    module = sr.from_exported(program_of(AssertsOnData(), torch.tensor([1, 2])))
    for _ in range(4):
        assert module(torch.tensor([1, 2])).tolist() == [2, 3]
        with pytest.raises(sr.Error, match='Runtime assertion failed'):
            module(torch.tensor([100, 2]))


def test_messages_name_the_line_of_the_model():
    class Fails(nn.Module):
        def forward(self, x, index):
            return x[index]

    module = sr.from_exported(program_of(Fails(), torch.randn(3), torch.tensor([0])))
    with pytest.raises(IndexError, match=r'test_refusals\.py:\d+'):
        module(torch.randn(3), torch.tensor([7]))


def test_other_things_than_programs():
    with pytest.raises(sr.ArgumentError, match=r'given a Linear; expected a torch\.export\.ExportedProgram'):
        sr.from_exported(nn.Linear(2, 2))


def repacked(archive, change):
    """The archive with `change(name, bytes)` for each of its records; None leaves one out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, 'w') as new:
        for name in old.namelist():
            if (content := change(name, old.read(name))) is not None:
                new.writestr(name, content)
    return out.getvalue()


@pytest.fixture(scope='module')
def archive():
    return archive_of(program_of(nn.Linear(4, 2), torch.randn(5, 4)))


def changed_json(archive, end, change):
    def of(name, content):
        if not name.endswith(end):
            return content
        value = json.loads(content)
        change(value)
        return json.dumps(value)
    return repacked(archive, of)


def test_an_archive_packed_again_is_read(archive):
    assert sr.load(repacked(archive, lambda name, content: content))(torch.randn(5, 4)).shape == (5, 2)


def test_every_truncation_is_refused(archive):
    for size in range(0, len(archive), 211):
        with pytest.raises(sr.LoadError):
            sr.load(archive[:size])


def test_flipped_bits_are_found(archive):
    for position in range(0, len(archive), 97):
        damaged = bytearray(archive)
        damaged[position] ^= 0x10
        try:
            sr.load(bytes(damaged))(torch.randn(5, 4))
        except sr.LoadError:
            pass


@pytest.mark.parametrize(('end', 'words'), [('models/model.json', 'not a TorchScript module'),
                                            ('weight_0', 'no record'), ('weights_config.json', 'no values for')])
def test_missing_records(archive, end, words):
    with pytest.raises(sr.LoadError, match=words):
        sr.load(repacked(archive, lambda name, content: None if name.endswith(end) else content))


def node_of(value):
    return value['graph_module']['graph']['nodes'][0]


@pytest.mark.parametrize(('change', 'error', 'words'), [
    (lambda value: value['schema_version'].update(major=9), sr.LoadError, 'version 9'),
    (lambda value: value.pop('graph_module'), sr.LoadError, "no field 'graph_module'"),
    (lambda value: node_of(value).update(target='torch.ops.aten.no_such.default'), sr.UnsupportedOpError,
     r"'linear' \(torch\.ops\.aten\.no_such\.default\).*aten::no_such, an operator that is not registered"),
    (lambda value: node_of(value).update(target='math.gamma'), sr.UnsupportedOpError, 'has no operator'),
    (lambda value: node_of(value).update(target='torch.ops.higher_order.flex_attention'), sr.UnsupportedOpError, 'higher-order'),
    (lambda value: node_of(value)['inputs'].pop(), None, ''),
    (lambda value: node_of(value)['inputs'].pop(0), sr.LoadError, "no value for the argument 'input'"),
    (lambda value: node_of(value)['inputs'][0].update(arg={'as_tensor': {'name': 'nobody'}}), sr.LoadError,
     "uses the value 'nobody'"),
    (lambda value: node_of(value)['inputs'][0].update(arg={'as_string': 'x'}), sr.UnsupportedOpError, 'does not take'),
    (lambda value: node_of(value)['inputs'][0].update(arg=3), sr.LoadError, 'union'),
    (lambda value: node_of(value)['outputs'].append({'as_tensor': {'name': 'more'}}), sr.LoadError, '2 results'),
])
def test_damaged_graphs(archive, change, error, words):
    damaged = changed_json(archive, 'models/model.json', change)
    if error is None:
        sr.load(damaged)
        return
    with pytest.raises(error, match=words):
        sr.load(damaged)


@pytest.mark.parametrize('place', ['inputs', 'outputs'])
def test_values_nested_too_deep(archive, place):
    value = '{"as_optional_tensor":' * 200_000 + '{"as_none":true}' + '}' * 200_000

    def change(name, content):
        if not name.endswith('models/model.json'):
            return content
        program = json.loads(content)
        if place == 'inputs':
            node_of(program)['inputs'][0]['arg'] = 'HERE'
        else:
            node_of(program)['outputs'][0] = 'HERE'
        return json.dumps(program).replace('"HERE"', value)
    with pytest.raises(sr.LoadError, match='nests values more than 2,000 deep'):
        sr.load(repacked(archive, change))


class InBfloat16(nn.Module):
    def forward(self, x):
        with torch.autocast('cpu', dtype=torch.bfloat16):
            return x @ x


def test_autocast_that_is_on():
    program = program_of(InBfloat16(), torch.randn(3, 3))
    with pytest.raises(sr.UnsupportedOpError, match='region with autocast.*run_decompositions'):
        sr.from_exported(program)
    x = torch.randn(3, 3)
    torch.testing.assert_close(sr.from_exported(program.run_decompositions())(x), program.module()(x))


def looping(depth):
    """An archive of a loop in whose condition is a loop, and so on; importing it unchecked takes 2**depth nodes."""
    class Loop(nn.Module):
        def forward(self, x, steps):
            from torch._higher_order_ops import while_loop
            return while_loop(lambda i, v: i < steps, lambda i, v: (i + 1, v * 1.5 + steps), (torch.tensor(0), x))

    def change(value):
        innermost = value['graph_module']['graph']['nodes'][-1]
        bare = copy.deepcopy(innermost)
        bare['inputs'][2]['arg'] = {'as_tensors': [{'name': 'arg0_1'}, {'name': 'arg1_1'}]}
        bare['inputs'][3]['arg'] = {'as_tensors': [{'name': 'arg2_1'}]}
        for level in range(depth):
            inner = copy.deepcopy(bare)
            inner['outputs'] = [{'as_tensors': [{'name': f'first_{level}'}, {'name': f'second_{level}'}]}]
            innermost['inputs'][0]['arg']['as_graph']['graph']['nodes'].insert(0, inner)
            innermost = inner
    return changed_json(archive_of(program_of(Loop(), torch.randn(2), torch.tensor(3))), 'models/model.json', change)


def test_loops_inside_conditions_of_loops():
    x = torch.randn(2)
    torch.testing.assert_close(sr.load(looping(2))(x, torch.tensor(2))[1], (x * 1.5 + 2) * 1.5 + 2)
    with pytest.raises(sr.LoadError, match='inside the conditions of 4 other loops'):
        sr.load(looping(40))


@pytest.mark.parametrize('meta', [
    {'sizes': [{'as_int': 2000}, {'as_int': 4}]}, {'sizes': [{'as_int': -2}, {'as_int': 4}]},
    {'strides': [{'as_int': 2**62}, {'as_int': 2**62}]}, {'storage_offset': {'as_int': 1}}, {'dtype': 99},
    {'strides': []}, {'sizes': None}])
def test_weights_that_reach_beyond_their_bytes(archive, meta):
    def change(value):
        value['config']['weight']['tensor_meta'].update(meta)
    with pytest.raises(sr.LoadError):
        sr.load(changed_json(archive, 'weights_config.json', change))


def test_a_json_that_is_none(archive):
    for content in (b'', b'{', b'[]', b'null', b'\xff\xfe', b'[' * 100_000):
        with pytest.raises(sr.LoadError, match='not a JSON object'):
            sr.load(repacked(archive, lambda name, old: content if name.endswith('model.json') else old))


def test_a_scan_over_nothing_is_refused():
    class Sums(torch.nn.Module):
        def forward(self, x, start):
            from torch._higher_order_ops.scan import scan
            return scan(lambda total, row: (total + row, total * 1), start, x)

    sizes = {0: torch.export.Dim.AUTO}
    module = sr.from_exported(torch.export.export(Sums(), (torch.ones(4, 3), torch.zeros(3)), dynamic_shapes=(sizes, None)))
    for _ in range(4):
        total, sums = module(torch.ones(2, 3), torch.zeros(3))
        assert torch.equal(total, torch.full((3,), 2.0)) and torch.equal(sums, torch.tensor([[0.0] * 3, [1.0] * 3]))
        with pytest.raises(sr.Error, match='scan.*takes the elements of a tensor that has none'):
            module(torch.ones(0, 3), torch.zeros(3))
