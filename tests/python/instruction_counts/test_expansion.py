"""Expansion of a definition along every axis; saved models compute the same as their statements."""

import itertools
import pathlib

import pytest
import torch

from core.api import GroupedModules, GroupedSetup, GroupedStmts, GroupedVariants
from core.expand import materialize
from core.prepared import IN_PYTHON, PREPARED
from core.types import IN_PROGRAM, Autograd, DefinitionError, Labels, Language, Runtime
from definitions.standard import DEFINITIONS, QUICK

RUNNER = pathlib.Path('/runner')
SETUP = GroupedSetup('x = torch.full((1,), 3., requires_grad=True)\nw = torch.ones(1)',
                     'auto x = torch::ones({1}, torch::requires_grad());\nauto w = torch::ones({1});')


def product(**options):
    return GroupedStmts('y = x * w', 'auto y = x * w;', SETUP, 'f(x, w) -> y', **options)


def test_every_axis_is_expanded(tmp_path: pathlib.Path):
    cases = materialize({'a': {'b': product(torchscript=True, autograd=True, num_threads=(1, 4))}}, tmp_path, RUNNER)
    compiled = {Labels(*axes) for axes in itertools.product(
        Language, (Runtime.EAGER, Runtime.TORCHSCRIPT), Autograd, (1, 4))}
    programs = {Labels(Language.CPP, runtime, Autograd.FORWARD, threads)
                for runtime in IN_PROGRAM for threads in (1, 4)}
    assert [case.path for case in cases] == [('a', 'b')] * len(cases)
    assert {case.labels for case in cases} == compiled | programs
    assert len(cases) == len(compiled) + len(programs)
    for case in cases:
        assert case.args.num_threads == case.labels.threads
        assert case.args.language is case.labels.language
        assert bool(case.args.program) == (case.labels in programs)


def test_models_run_in_python_in_every_runtime_that_has_a_package(tmp_path: pathlib.Path):
    cases = materialize({'a': product(torchscript=True, num_threads=2)}, tmp_path, RUNNER, with_sr=True)
    prepared = {case.labels.runtime: case.args for case in cases
                if case.labels.language is Language.PYTHON and case.labels.runtime in IN_PYTHON}
    assert set(prepared) == set(IN_PYTHON) == set(IN_PROGRAM) - {Runtime.FROZEN}
    for runtime, args in prepared.items():
        assert args.stmt == ('y = jit_model(x, w, out=buffer)' if runtime is Runtime.SR_INTO else 'y = jit_model(x, w)')
        assert (PREPARED[runtime] in args.setup) and not args.program and args.num_threads == 2
    assert len({args.setup for args in prepared.values()}) == len(prepared)
    names: dict = {}
    exec(prepared[Runtime.UPSTREAM].setup, names | {'torch': torch}, names)
    exec(prepared[Runtime.UPSTREAM].stmt, names)
    assert names['y'].item() == 3.


def stmts(tmp_path: pathlib.Path, **options) -> dict[tuple, str]:
    return {(case.labels.language, case.labels.runtime, case.labels.autograd): case.args.stmt
            for case in materialize({'a': product(**options)}, tmp_path)}


def test_statements_call_the_model_and_go_backward(tmp_path: pathlib.Path):
    made = stmts(tmp_path, torchscript=True, autograd=True)
    assert len(made) == 8
    assert made[Language.PYTHON, Runtime.EAGER, Autograd.FORWARD] == 'y = x * w'
    assert made[Language.PYTHON, Runtime.TORCHSCRIPT, Autograd.BACKWARD] == 'y = jit_model(x, w)\ny.backward()'
    assert made[Language.CPP, Runtime.EAGER, Autograd.BACKWARD] == 'auto y = x * w;\ny.backward();'
    assert (made[Language.CPP, Runtime.TORCHSCRIPT, Autograd.FORWARD] ==
            'auto y = jit_model.forward({x, w}).toTensor();')


def test_only_what_is_asked_for_is_expanded(tmp_path: pathlib.Path):
    eager = (Runtime.EAGER, Autograd.FORWARD)
    assert set(stmts(tmp_path)) == {(language, *eager) for language in Language}
    assert not list(tmp_path.iterdir())
    assert all(runtime is Runtime.EAGER for _, runtime, _ in stmts(tmp_path, autograd=True))
    one = materialize({'a': GroupedStmts(cpp_stmt='1;'), 'b': GroupedStmts('1')}, tmp_path, RUNNER)
    assert [case.labels.language for case in one] == [Language.CPP, Language.PYTHON]


def test_python_set_up_loads_a_model_that_computes_the_statement(tmp_path: pathlib.Path):
    cases = materialize({'a': product(torchscript=True, autograd=True)}, tmp_path)
    case = next(c for c in cases if c.labels == Labels(Language.PYTHON, Runtime.TORCHSCRIPT, Autograd.BACKWARD, 1))
    names = {'torch': torch}
    exec(case.args.setup, names)
    names['x'].grad = None
    exec(case.args.stmt, names)
    assert names['y'].item() == 3 and names['x'].grad.item() == 1


def test_a_program_gets_the_model_and_its_inputs(tmp_path: pathlib.Path):
    definition = GroupedModules('torch.nn.Linear(1, 2)', setup=SETUP, signature='f(x) -> y', torchscript=True)
    case = materialize({'a': definition}, tmp_path, RUNNER)[-1]
    program, *arguments = case.args.program
    options = dict(zip(arguments[::2], arguments[1::2]))
    assert program == str(RUNNER) and options['--runtime'] == case.labels.runtime.value
    inputs = torch.load(options['--inputs'])
    assert [i.requires_grad for i in inputs] == [False]
    assert torch.jit.load(options['--model'])(*inputs).shape == (2,)


def test_numbers_and_lists_are_inputs_of_models(tmp_path: pathlib.Path):
    setup = GroupedSetup('x = torch.ones(2)\nn = 2\nsizes = [2, 1]')
    cases = materialize({'a': GroupedStmts('y = (x * n).view(sizes)', setup=setup, signature='f(x, n, sizes) -> y',
                                           torchscript=True)}, tmp_path)
    names = {'torch': torch}
    exec(cases[-1].args.setup + '\n' + cases[-1].args.stmt, names)
    assert names['y'].tolist() == [[2], [2]]


def test_without_an_output_no_program_runs_the_model(tmp_path: pathlib.Path):
    setup = GroupedSetup('x = torch.ones(1)', 'auto x = torch::ones({1});')
    definition = GroupedStmts('x.add_(1)', 'x.add_(1);', setup, 'f(x)', torchscript=True)
    cases = materialize({'a': definition}, tmp_path, RUNNER)
    assert {case.labels.runtime for case in cases} == {Runtime.EAGER, Runtime.TORCHSCRIPT}
    assert [case.args.stmt for case in cases if case.labels.runtime is Runtime.TORCHSCRIPT] == [
        'jit_model(x)', 'jit_model.forward({x});']


@pytest.mark.parametrize('definition, reason', [
    (GroupedStmts('y = x', setup=GroupedSetup('x = 1 / 0'), signature='f(x) -> y', torchscript=True),
     'a / b: the Python set-up fails: ZeroDivisionError'),
    (GroupedStmts('y = x', setup=GroupedSetup('x = {1}'), signature='f(x) -> y', torchscript=True), "'x' is a set"),
    (GroupedStmts('y = x.nothing()', setup=SETUP, signature='f(x) -> y', torchscript=True), 'is no TorchScript'),
    (GroupedStmts('y = w * 2', setup=SETUP, signature='f(w) -> y', autograd=True), "a tensor of 1, without one"),
    (GroupedStmts('y = torch.cat([x, x])', setup=SETUP, signature='f(x) -> y', autograd=True), "'y' .* a tensor of 2"),
    (GroupedStmts('y = 1', setup=SETUP, signature='f(x) -> y', autograd=True), "'y' of `y = 1` is int"),
    (3, 'a / b: a int is no GroupedBenchmark'),
])
def test_definitions_that_do_not_run_are_named(tmp_path: pathlib.Path, definition, reason: str):
    with pytest.raises(DefinitionError, match=reason):
        materialize({'a': {'b': definition}}, tmp_path)


def test_two_definitions_of_one_name_are_refused(tmp_path: pathlib.Path):
    with pytest.raises(DefinitionError, match='is defined twice'):
        materialize({('a', 'b'): GroupedStmts('1'), 'a': {'b': GroupedStmts('2')}}, tmp_path)


def test_the_standard_suite_expands(tmp_path: pathlib.Path):
    cases = materialize(DEFINITIONS, tmp_path, RUNNER)
    quick = {' / '.join(case.path) for case in cases if case.args.program}
    assert set(QUICK) <= quick and len(QUICK) == 5
    assert {case.labels.runtime for case in cases} == set(Runtime)


def test_variants_share_the_signature(tmp_path: pathlib.Path):
    variants = GroupedVariants('y = x + 1\ny = x * 2', setup=SETUP, signature='f(x) -> y', torchscript=True)
    assert len(materialize(variants, tmp_path, RUNNER)) == 2 * (2 + len(IN_PROGRAM))
