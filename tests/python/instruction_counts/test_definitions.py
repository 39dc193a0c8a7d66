"""Signatures, blocks of variants, and the errors for wrong definitions."""

import pytest

from core.api import GroupedModules, GroupedSetup, GroupedStmts, GroupedVariants, TimerArgs
from core.signature import Signature, parse_signature
from core.types import DefinitionError, Language
from core.utils import flatten, nest, parse_block, split_comment

SETUP = GroupedSetup('x = torch.ones(1, requires_grad=True)\nw = 2', 'auto x = torch::ones({1});\nint w{2};')


@pytest.mark.parametrize('text, expected', [
    ('f(x, w) -> y', Signature(('x', 'w'), 'y')),
    ('  g ( x )->out ', Signature(('x',), 'out')),
    ('f() -> y', Signature((), 'y')),
    ('f(x)', Signature(('x',), None)),
    ('f(x) -> None', Signature(('x',), None)),
])
def test_signatures_are_parsed(text: str, expected: Signature):
    assert parse_signature(text) == expected


@pytest.mark.parametrize('text, reason', [
    ('x, w -> y', 'is no signature'),
    ('f(x', 'is no signature'),
    ('f(x) ->', 'is no signature'),
    ('f(x) y', 'is no signature'),
    ('f(x, 2) -> y', "'2' in the signature"),
    ('f(x,) -> y', "'' in the signature"),
    ('f(x) -> y, z', "'y, z' in the signature"),
    ('f(x, x) -> y', 'an input twice'),
])
def test_a_bad_signature_is_refused(text: str, reason: str):
    with pytest.raises(DefinitionError, match=reason):
        parse_signature(text)


@pytest.mark.parametrize('stmts, signature, reason', [
    (dict(py_stmt='y = v'), 'f(v) -> y', "'v', which the Python set-up does not define"),
    (dict(cpp_stmt='auto y = v;'), 'f(v) -> y', "'v', which the C\\+\\+ set-up does not define"),
    (dict(py_stmt='z = x'), 'f(x) -> y', "output 'y' is not assigned by `z = x`"),
    (dict(cpp_stmt='auto z = x == y;'), 'f(x) -> y', "output 'y' is not assigned"),
    (dict(py_stmt='y = = x'), 'f(x) -> y', 'is no Python'),
])
def test_a_signature_agrees_with_the_code(stmts: dict, signature: str, reason: str):
    with pytest.raises(DefinitionError, match=reason):
        GroupedStmts(**stmts, setup=SETUP, signature=signature)


def test_names_inside_functions_are_not_defined_by_set_up():
    with pytest.raises(DefinitionError, match="'inner'"):
        GroupedStmts('y = 1', setup=GroupedSetup('def f():\n    inner = 1'), signature='f(inner) -> y')
    GroupedStmts('y = f(a, b)', 'auto y = f(a, b);', GroupedSetup(
        'def f(a, b): pass\n(a, *b), c = (1, 2), 3\nimport torch as t\nfor i in []: pass',
        'auto [a, c] = pair;\nconst at::Tensor& b = a;'), 'f(a, b) -> y')


@pytest.mark.parametrize('options, reason', [
    (dict(), 'in Python, in C\\+\\+ or in both'),
    (dict(py_stmt='x', num_threads=0), 'num_threads'),
    (dict(py_stmt='x', num_threads=()), 'num_threads'),
    (dict(py_stmt='x', torchscript=True), 'torchscript=True needs a signature'),
    (dict(cpp_stmt='auto y = x;', signature='f(x) -> y', torchscript=True), 'a statement in Python'),
    (dict(py_stmt='x', autograd=True), 'autograd=True needs a signature with an output'),
    (dict(py_stmt='x', signature='f(x)', autograd=True), 'autograd=True needs a signature with an output'),
])
def test_options_that_do_not_fit_are_refused(options: dict, reason: str):
    with pytest.raises(DefinitionError, match=reason):
        GroupedStmts(**options, setup=SETUP)


def test_modules_become_statements():
    benchmark = GroupedModules('torch.nn.Linear(1, 1)', 'torch::nn::Linear(1, 1)', setup=SETUP, signature='f(x) -> y')
    assert (benchmark.py_stmt, benchmark.cpp_stmt) == ('y = model(x)', 'auto y = model->forward(x);')
    assert benchmark.py_setup().endswith('\nmodel = torch.nn.Linear(1, 1)')
    assert benchmark.cpp_setup().endswith('\nauto model = torch::nn::Linear(1, 1);')
    assert GroupedModules('torch.relu', setup=SETUP, signature='f(x)').cpp_stmt is None


def test_lines_of_a_block_become_nested_definitions():
    variants = GroupedVariants('''
        x + 1
        # products
        x * w        # with a # and w
        x * 'a#b'
    ''', '''
        x + 1;
        // products
        x * w;       // with a # and w
        x * "a//b";
    ''', setup=SETUP, num_threads=(1, 2))
    assert list(variants) == ['x + 1', 'products']
    assert list(variants['products']) == ['with a # and w', "x * 'a#b'"]
    assert variants['products']["x * 'a#b'"].cpp_stmt == 'x * "a//b";'
    assert variants['x + 1'].num_threads == (1, 2)


@pytest.mark.parametrize('py_block, cpp_block, reason', [
    ('x\nw', 'x;', 'do not pair: 2 lines of Python, 1 of C\\+\\+'),
    ('x  # a', 'x;  // b', "do not pair: `x` is '', 'a', but `x;` is '', 'b'"),
    ('# one\nx', '// two\nx;', "do not pair"),
    ('x\nx', None, 'the same label: x'),
    ('(x', None, 'no whole statement'),
    ('# only a heading', None, 'at least one line'),
    (None, None, 'at least one line'),
])
def test_blocks_that_do_not_pair_are_refused(py_block: str | None, cpp_block: str | None, reason: str):
    with pytest.raises(DefinitionError, match=reason):
        GroupedVariants(py_block, cpp_block, setup=SETUP)


def test_comments_are_told_from_text():
    assert split_comment("f('//', \"\\\"//\");  // why", Language.CPP) == ("f('//', \"\\\"//\");", 'why')
    assert split_comment('a / b;', Language.CPP) == ('a / b;', '')
    assert split_comment("x['#']  #why", Language.PYTHON) == ("x['#']", 'why')
    assert [line.heading for line in parse_block('a\n# h\n\nb', Language.PYTHON)] == ['', 'h']


def test_nested_dictionaries_are_flattened_and_nested_again():
    nested = {'a': {'b': 1, 'c': {'d': 2}}, 'e': 3}
    flat = dict(flatten(nested))
    assert flat == {('a', 'b'): 1, ('a', 'c', 'd'): 2, ('e',): 3}
    assert nest(flat) == nested
    assert dict(flatten({('a', 'b'): {'c': 1}})) == {('a', 'b', 'c'): 1}
    with pytest.raises(DefinitionError, match='no path of labels'):
        dict(flatten({'a': {'': 1}}))


@pytest.mark.parametrize('args', [
    TimerArgs('y = x'),
    TimerArgs('auto y = "ü\\n";', 'auto x = 1;', '#include <x>', 4, Language.CPP),
    TimerArgs('y', language=Language.CPP, program=('/a b', '--x', '')),
])
def test_timer_args_come_back_from_json(args: TimerArgs):
    assert TimerArgs.from_json(args.to_json()) == args
