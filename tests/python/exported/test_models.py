"""Models through torch.export: every call gives what the exported program itself gives."""

import functools
import io
import pickle
import warnings

import cases
import models  # noqa: F401  registers its cases
import models_of_language
import pytest
import sr
import torch
from cases import Case, call, randn
from torch import nn
from torch.utils import _pytree as pytree

ROUNDS = 4  # the general path, the recording, two replays
CASES = {case.name: case for case in cases.CASES}


@functools.cache
def exported(name, decomposed=False):
    case = CASES[name]
    args, kwargs = case.calls[0]
    program = torch.export.export(case.module, args, kwargs, dynamic_shapes=case.dynamic_shapes)
    return program.run_decompositions() if decomposed else program


def saved(program):
    file = io.BytesIO()
    torch.export.save(program, file)
    return file.getvalue()


def check(module, case, program):
    eager = program.module()
    for _ in range(ROUNDS):
        for args, kwargs in case.calls:
            expected = eager(*args, **{name: kwargs[name] for name in case.calls[0][1]})
            given = module(*args, **kwargs)
            assert pytree.tree_structure(given) == pytree.tree_structure(expected)
            torch.testing.assert_close(pytree.tree_leaves(given), pytree.tree_leaves(expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize('name', CASES)
def test_a_program_in_memory(name):
    check(sr.from_exported(exported(name)), CASES[name], exported(name))


@pytest.mark.parametrize('name', CASES)
def test_a_program_of_core_operators(name):
    program = exported(name, decomposed=True)
    check(sr.from_exported(program, planner='greedy_by_size'), CASES[name], program)


@pytest.mark.parametrize('name', CASES)
def test_a_program_in_an_archive(name):
    module = sr.load(saved(exported(name)), planner='standard_resizing')
    check(module, CASES[name], exported(name))
    check(pickle.loads(pickle.dumps(module)), CASES[name], exported(name))


@pytest.mark.parametrize('options', [
    {'enable_replay': False}, {'enable_out_variant': False}, {'optimize_memory': False},
    {'manage_output_tensors': True}, {'numerics': 'exact'}], ids=str)
def test_options(options):
    for name in ('Attention', 'Branches', 'DataDecideSizes', 'WritesToTemporaries'):
        check(sr.from_exported(exported(name), **options), CASES[name], exported(name))


class NamesOfResults(nn.Module):
    """Its result is a tuple of a type of torch, which has no name in an archive."""

    def forward(self, x):
        return x.topk(2)


def test_results_of_types_that_no_archive_can_name():
    case = Case('NamesOfResults', NamesOfResults(), [call(randn(5)), call(randn(5))])
    program = torch.export.export(case.module, *case.calls[0])
    check(sr.from_exported(program), case, program)


def test_results_have_the_types_of_eager():
    args, kwargs = CASES['DataclassesAndNamedTuples'].calls[0]
    encoded, point = sr.from_exported(exported('DataclassesAndNamedTuples'))(*args, **kwargs)
    assert isinstance(encoded, models_of_language.Encoded) and isinstance(point, models_of_language.Point)


def test_weights_are_shared():
    layer = torch.nn.Linear(3, 3)
    module = sr.from_exported(torch.export.export(layer, (torch.randn(2, 3),)))
    graph = module.graph
    assert layer.weight.data_ptr() in {node.t('value').data_ptr() for node in graph.findAllNodes('prim::Constant')
                                       if node.hasAttribute('value') and node.kindOf('value') == 't'}


def test_what_cannot_be_scripted_is_compiled():
    case = CASES['NotScriptable']
    with pytest.raises(Exception), warnings.catch_warnings():
        warnings.simplefilter('ignore')
        torch.jit.script(case.module)
    args, kwargs = case.calls[0]
    module = sr.compile(case.module, args, kwargs, frontend='export')
    assert module.frontend == 'export'
    torch.testing.assert_close(module(*args, **kwargs), case.module(*args, **kwargs))


def test_compiling_keeps_sizes_dynamic():
    module = sr.compile(torch.nn.Linear(4, 2), (torch.randn(3, 4),), frontend='export')
    assert module(torch.randn(9, 4)).shape == (9, 2)


def test_nothing_warns_of_deprecation():
    with warnings.catch_warnings():
        warnings.simplefilter('error', DeprecationWarning)
        warnings.simplefilter('error', FutureWarning)
        layer = torch.nn.Linear(4, 2)
        x = torch.randn(3, 4)
        program = torch.export.export(layer, (x,))
        sr.from_exported(program)(x)
        sr.compile(layer, (x,), frontend='export')(x)
        sr.load(saved(program))(x)


def test_other_ways_of_calling():
    case = CASES['DictionariesAndTuples']
    args, kwargs = case.calls[1]
    module = sr.from_exported(exported('DictionariesAndTuples'))
    expected = exported('DictionariesAndTuples').module()(*args, **kwargs)
    torch.testing.assert_close(module.run_async(*args).result(timeout=60), expected)
    torch.testing.assert_close(module.runAsync(args, kwargs).wait(), expected)
    torch.testing.assert_close(module.clone()(*args), expected)
    module.reserve(*args)
    torch.testing.assert_close(module(*args, out=None), expected)


def test_results_into_buffers():
    case = CASES['BranchesWithWeights']
    args, kwargs = case.calls[1]
    module = sr.from_exported(exported('BranchesWithWeights'))
    expected = exported('BranchesWithWeights').module()(*args)
    buffers = pytree.tree_map(torch.empty_like, expected)
    assert module(*args, out=buffers) is buffers
    torch.testing.assert_close(buffers, expected)
