"""Quantized models through torch.export: every call gives what the exported program itself gives."""

import functools
import io
import pathlib
import zipfile

import pytest
import quantized_models
import sr
import torch

ROUNDS = 4  # the general path, the recording, two replays
BATCHES = (3, 8, 2, 33)


@functools.cache
def exported(name):
    return quantized_models.MODELS[name]()


def saved(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


def check(module, model, tolerance):
    eager = model.program.module()
    for batch in BATCHES:
        for _ in range(ROUNDS):
            x = torch.randn(batch, *model.sizes).to(model.dtype)
            torch.testing.assert_close(module(x), eager(x), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize('name', quantized_models.MODELS)
def test_an_archive_with_the_bits_of_eager(name):
    model = exported(name)
    check(sr.load(saved(model.program), numerics='exact'), model, 0)


@pytest.mark.parametrize('name', quantized_models.MODELS)
def test_a_program_in_memory(name):
    model = exported(name)
    check(sr.from_exported(model.program), model, 2e-2)  # a rounded activation may be the next one


@pytest.mark.parametrize(('name', 'kind'), [('dynamic int8', 'packed int8 gemm of floats'),
                                            ('PT2E static', 'packed int8 gemm'), ('PT2E dynamic', 'packed int8 gemm')])
@pytest.mark.parametrize('decomposed', [False, True])
def test_layers_are_products_of_integers(name, kind, decomposed):
    model = exported(name)
    module = sr.from_exported(model.program.run_decompositions() if decomposed else model.program)
    check(module, model, 2e-2)
    for plan in module.report()['plans']:
        kinds = [step['kind'] for step in plan['steps']]
        assert [each for each in kinds if 'gemm' in each] == [kind] * 3, kinds


@pytest.mark.parametrize(('name', 'kind'), [('weights int4 in groups', 'packed int4 weights'),
                                            ('dynamic int8, weights int4', 'packed int4 gemm of int8 rows')])
def test_weights_stay_small(name, kind):
    module = sr.from_exported(exported(name).program)
    check(module, exported(name), 2e-2)
    report = module.report()
    for plan in report['plans']:
        assert [step['kind'] for step in plan['steps']].count(kind) == 3
    packed, = report['packed_weights']
    elements = 64 * 96 + 96 * 64 + 64 * 32
    assert packed['count'] == 3
    # 4 bits each, and a scale for every 32; columns are padded to whole registers.
    assert elements / 2 < packed['bytes'] < elements


def test_convolutions_are_of_integers_where_that_is_faster():
    model = quantized_models.by_pt2e(quantized_models.wide_image(), 128, 8, 8)
    module = sr.from_exported(model.program)
    check(module, model, 2e-2)
    for plan in module.report()['plans']:
        assert [step['kind'] for step in plan['steps']].count('int8 convolution') == 2, plan['steps']
        assert plan['remarks'] == []


def test_reports_name_quantized_layers_that_are_floats():
    model = quantized_models.by_pt2e(quantized_models.grouped_image(), 4, 8, 8)
    module = sr.from_exported(model.program)
    check(module, model, 2e-2)
    for plan in module.report()['plans']:
        layers = [remark.split(' ')[0] for remark in plan['remarks']]
        assert layers == ['aten::conv2d', 'aten::conv2d'], plan['remarks']
        assert all('It is step' in remark for remark in plan['remarks'])


@pytest.mark.parametrize('name', quantized_models.MODELS)
def test_a_program_of_core_operators(name):
    model = exported(name)
    decomposed = model._replace(program=model.program.run_decompositions())
    check(sr.load(saved(decomposed.program), numerics='exact'), decomposed, 0)


class Blocks(torch.nn.Module):
    """Finds scales, quantizes and comes back, with the operators of torchao themselves."""

    def __init__(self, mapping, block, keepdim, dtype):
        super().__init__()
        self.mapping, self.block, self.keepdim, self.dtype = mapping, block, keepdim, dtype

    def forward(self, x):
        ops = torch.ops.torchao
        scale, zero = ops.choose_qparams_affine(x, self.mapping, self.block, self.dtype, None, None, None, None, None,
                                                self.keepdim)
        near = ops.quantize_affine(x, self.block, scale, zero, self.dtype)
        return scale, zero, near, ops.dequantize_affine(near, self.block, scale, zero, self.dtype)


@pytest.mark.parametrize('mapping', ['SYMMETRIC', 'ASYMMETRIC', 'SYMMETRIC_NO_CLIPPING_ERR'])
@pytest.mark.parametrize('block', [[1, 32], [1, 8], [4, 1], [4, 32], [2, 16]])
@pytest.mark.parametrize('keepdim', [True, False])
def test_blocks(mapping, block, keepdim):
    dtype = torch.int8 if mapping != 'ASYMMETRIC' else torch.uint8
    program = torch.export.export(Blocks(mapping, block, keepdim, dtype), (torch.randn(4, 32),))
    module, eager = sr.load(saved(program), numerics='exact'), program.module()
    for _ in range(ROUNDS):
        x = torch.randn(4, 32)
        torch.testing.assert_close(module(x), eager(x), rtol=0, atol=0)


def test_an_argument_that_is_missing():
    program = torch.export.export(Blocks('SYMMETRIC', [1, 32], True, torch.int8), (torch.randn(4, 32),))
    archive = with_record(saved(program), 'model.json', lambda text: text.replace(b'"block_size"', b'"blocks"'))
    with pytest.raises(sr.LoadError, match="choose_qparams_affine.* gives no argument 'block_size'"):
        sr.load(archive)


@pytest.mark.parametrize('name', ['dynamic int8', 'weights int8', 'dynamic int8, weights int4', 'PT2E static',
                                  'PT2E dynamic'])
def test_extreme_activations(name):
    model = exported(name)
    module, eager = sr.load(saved(model.program), numerics='exact'), model.program.module()
    x = torch.randn(12, *model.sizes)
    x[0], x[1], x[2], x[3] = 0, 1e-40, 1e30, -3e38
    x[4, 3], x[5, 3], x[6, 3] = float('nan'), float('inf'), -float('inf')
    x[7], x[8] = -0.0, 127.5
    rows = x[:4] if name == 'PT2E dynamic' else x  # one scale for all: NaN in a zero point is no integer
    for _ in range(ROUNDS):
        torch.testing.assert_close(module(rows), eager(rows), rtol=0, atol=0, equal_nan=True)


def test_parts_of_weights_are_updated_by_name():
    model = exported('dynamic int8')
    module = sr.load(saved(model.program), updatable_weights=True)
    x = torch.randn(4, *model.sizes)
    before = module(x)
    module.update({'0.weight.scale': model.program.state_dict['0.weight'].scale * 2}, strict=False)
    assert not torch.equal(module(x), before)


def with_record(archive, end, change):
    """The archive with the record changed whose name has that end."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as given, zipfile.ZipFile(file, 'w') as made:
        for record in given.infolist():
            data = given.read(record)
            made.writestr(record.filename, change(data) if record.filename.endswith(end) else data)
    return file.getvalue()


def without_end(pickled):
    return with_record(pickled, 'data.pkl', lambda pickle: pickle[:-20])


def of_unknown_function(pickled):
    return with_record(pickled, 'data.pkl', lambda pickle: pickle.replace(b'_rebuild_wrapper_subclass', b'_rebuild_wrapper_subclasX'))


@pytest.mark.parametrize(('damage', 'words'), [
    (without_end, "The pickle of the tensor '0.weight' .* cannot be read: its pickle ends in the middle"),
    (of_unknown_function, "has no values for the parameter '0.weight'"),
    (lambda pickled: pickled[:50], "'0.weight'"),
])
def test_damaged_weights(damage, words):
    archive = with_record(saved(exported('dynamic int8').program), 'weights/weight_0', damage)
    with pytest.raises(sr.LoadError, match=words):
        sr.load(archive)


def test_a_part_that_is_missing():
    archive = with_record(saved(exported('dynamic int8').program), 'model.json',
                          lambda text: text.replace(b'"as_string": "qdata"', b'"as_string": "other"'))
    with pytest.raises(sr.UnsupportedOpError, match="reads the part 'other' of a weight, which has no values"):
        sr.load(archive)


def test_nothing_of_a_pickle_is_run(tmp_path):
    target = pathlib.Path(tmp_path / 'made')
    harmful = f"cos\nsystem\n(Vtouch {target}\ntR.".encode()
    archive = with_record(saved(exported('dynamic int8').program), 'weights/weight_0',
                          lambda pickled: with_record(pickled, 'data.pkl', lambda _: harmful))
    with pytest.raises(sr.LoadError):
        sr.load(archive)
    assert not target.exists()
