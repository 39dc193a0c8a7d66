"""Modules made from files, bytes, modules, functions and graphs, by every front end, with every option."""

import importlib.util
import inspect
import io
import subprocess
import sys
import warnings

import pytest
import torch

import modules
import sr
from modules import scripted

X = torch.randn(3, 4)


def archive(module) -> bytes:
    file = io.BytesIO()
    torch.jit.save(scripted(module), file)
    return file.getvalue()


def test_load_takes_paths_bytes_and_files(tmp_path):
    path = tmp_path / 'größe.pt'
    content = archive(modules.Defaults())
    path.write_bytes(content)
    with open(path, 'rb') as file:
        for source in (path, str(path), content, bytearray(content), memoryview(content), io.BytesIO(content), file):
            module = sr.load(source)
            torch.testing.assert_close(module(X, times=2), X * 4)
            assert module.frontend == 'archive'


def test_load_refuses_what_is_no_model(tmp_path):
    content = archive(modules.DeepWide())
    damaged = bytearray(content)
    damaged[content.index(b'data/0') + 100] ^= 1
    for source in (tmp_path / 'none.pt', tmp_path, b'', b'text', content[:-50], bytes(damaged), io.StringIO('text')):
        with pytest.raises(sr.LoadError):
            sr.load(source)
    with pytest.raises(sr.ArgumentError, match='expected a path'):
        sr.load(3)


def test_static_module_takes_what_torch_has():
    script = scripted(modules.Defaults())
    traced = torch.jit.trace(torch.nn.ReLU(), X)

    @torch.jit.script
    def function(x, factor: float = 3.0):
        return x * factor

    traced_function = torch.jit.trace(lambda x: x * 2, X)
    graph = torch._C.parse_ir('graph(%x : Tensor):\n  %y : Tensor = aten::relu(%x)\n  return (%y)')
    assert torch.equal(sr.StaticModule(script)(X), X * 2)
    assert torch.equal(sr.StaticModule(script._c)(X), X * 2)
    assert torch.equal(sr.StaticModule(torch.jit.freeze(script))(X), X * 2)
    assert torch.equal(sr.StaticModule(traced)(X), X.relu())
    assert torch.equal(sr.StaticModule(function)(X), X * 3)
    assert torch.equal(sr.StaticModule(function)(X, factor=0.5), X * 0.5)
    assert torch.equal(sr.StaticModule(graph)(X), X.relu())
    for other in X, X.double(), X.reshape(-1, 1), torch.arange(4):  # a trace is not for its example alone
        assert torch.equal(sr.StaticModule(traced)(other), other.relu())
        assert torch.equal(sr.StaticModule(traced_function)(other), other * 2)
    assert [sr.StaticModule(m).frontend for m in (script, traced, function, graph)] == [
        'script', 'trace', 'script', 'graph']
    with pytest.raises(sr.ArgumentError, match='sr.compile'):
        sr.StaticModule(torch.nn.ReLU())


def test_compile_exports_else_scripts_else_traces(caplog):
    assert sr.compile(modules.DeepWide().eval()).frontend == 'script'  # no examples
    module = modules.Traceable()
    made = sr.compile(module, (X, X))
    assert made.frontend == made.report()['frontend'] == 'export' and "'export'" in repr(made)
    torch.testing.assert_close(made(X, X), module(X, X))
    torch.testing.assert_close(sr.compile(module, X)(-X), (-X).relu())
    with caplog.at_level('INFO', 'sr'):
        made = sr.compile(modules.ScriptedBranch(), (X,))
    assert made.frontend == 'script' and 'export does not take this ScriptedBranch' in caplog.text
    torch.testing.assert_close(made(-X.abs()), 1 - X.abs())
    with pytest.raises(sr.UnsupportedOpError, match='(?s)export: .*script: .*trace: '):
        sr.compile(modules.Traceable())


def test_a_compiled_module_takes_the_sizes_of_the_module():
    network = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()).eval()
    made = sr.compile(network, (torch.randn(3, 8),))
    for rows in 0, 1, 2, 3, 17:
        x = torch.randn(rows, 8)
        torch.testing.assert_close(made(x), network(x))


def test_a_batch_of_one_row_as_example_fixes_no_size():
    network = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()).eval()
    made = sr.compile(network, (torch.randn(1, 8),))
    assert made.frontend == 'script'
    x = torch.randn(5, 8)
    torch.testing.assert_close(made(x), network(x))


def test_layers_in_training_are_warned_of():
    network = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Dropout())
    with pytest.warns(UserWarning, match=r"'1' \(Dropout\) is in training mode.*module.eval"):
        sr.compile(network)
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        sr.compile(network.eval())


def test_compile_takes_keyword_examples():
    made = sr.compile(modules.Defaults(), (X,), {'shift': X.clone()}, frontend='trace')
    torch.testing.assert_close(made(X, shift=2 * X), X * 4)


def test_a_trace_that_may_be_wrong_is_taken_only_when_asked_for():
    for action in ('default', 'ignore', 'error'):
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            with pytest.raises(sr.UnsupportedOpError, match='trace: .*may be wrong for other inputs'):
                sr.compile(modules.Branches(), (X[0].abs(),))
    with pytest.warns(torch.jit.TracerWarning):
        made = sr.compile(modules.Branches(), (X[0].abs(),), frontend='trace')
    torch.testing.assert_close(made(X[0].abs()), X[0].abs() * 2)


def test_one_front_end_raises_what_it_raises():
    with pytest.raises(torch.jit.frontend.NotSupportedError):
        sr.compile(modules.Traceable(), (X,), frontend='script')
    with pytest.raises(sr.ArgumentError, match='example_args'):
        sr.compile(modules.DeepWide(), frontend='trace')
    with pytest.raises(sr.ArgumentError, match='export, script, trace'):
        sr.compile(modules.DeepWide(), frontend='magic')
    with pytest.raises(sr.ArgumentError, match='expected a torch.nn.Module'):
        sr.compile(len)


def test_from_exported_needs_the_importer():
    if importlib.util.find_spec('sr.exported') is not None:
        pytest.skip('it is here')
    with pytest.raises(sr.UnsupportedOpError, match='torch.export'):
        sr.from_exported(object())
    with pytest.raises(sr.UnsupportedOpError, match='torch.export'):
        sr.compile(modules.DeepWide(), modules.DeepWide.inputs(), frontend='export')


def test_users_hear_nothing_of_torch_jit():
    with warnings.catch_warnings():
        warnings.resetwarnings()
        warnings.simplefilter('error')
        module = sr.compile(modules.DeepWide().eval())
        sr.compile(modules.Traceable(), (X,))
        sr.load(module.__reduce__()[1][2])


def test_options_reach_the_module():
    script = scripted(modules.DeepWide())
    inputs = modules.DeepWide.inputs()
    assert sr.StaticModule(script, planner='no_reuse').report()['planner'] == 'no_reuse'
    general = sr.StaticModule(script, enable_replay=False)
    replaying = sr.StaticModule(script)
    for _ in range(4):
        general(*inputs), replaying(*inputs)
    assert general.report()['plans'] == [] and replaying.report()['plans'][0]['replays'] == 2
    assert sr.StaticModule(script, enable_out_variant=False).report()['out_variants'] == 0
    exact = sr.StaticModule(script, numerics='exact')
    for _ in range(4):
        assert torch.equal(exact(*inputs), script(*inputs))
    assert sr.StaticModule(script, max_runtimes=3).report()['pool']['max_runtimes'] == 3
    assert sr.StaticModule(script, intra_op_threads=1).report()['pool']['intra_op_threads'] == 1
    assert sr.StaticModule(script, max_plan_bytes=2000, strict=True).options == {'max_plan_bytes': 2000, 'strict': True}


@pytest.mark.parametrize('options, message', [
    ({'plannner': 'linear_scan'}, "no option 'plannner'"),
    ({'planner': 'best'}, 'expected one of .*linear_scan'),
    ({'numerics': 'wrong'}, "expected 'fast' or 'exact'"),
    ({'max_plan_bytes': 'many'}, 'wrong type'),
    ({'max_runtimes': 0}, 'max_runtimes is 0'),
    ({'max_runtimes': None}, 'wrong type'),
    ({'timeout': -1}, '0 or more'),
    ({'without_passes': ['none such']}, 'none such'),
])
def test_options_there_are_not(options, message):
    with pytest.raises(sr.ArgumentError, match=message):
        sr.StaticModule(scripted(modules.Defaults()), **options)


def test_strict_names_the_node_and_its_line():
    class Sorted(torch.nn.Module):
        def forward(self, x):
            return torch.stft(x, 4, return_complex=True)

    with pytest.raises(sr.UnsupportedOpError, match=r'aten::\S+ \(.*\.py:\d+\)'):
        sr.StaticModule(scripted(Sorted()), strict=True)


def test_import_does_no_work_of_others():
    code = ('import sys, torch; before = set(sys.modules); import sr; '
            'print(sorted(m for m in set(sys.modules) - before if not m.startswith("sr")))')
    output = subprocess.run([sys.executable, '-c', code], check=True, capture_output=True, text=True).stdout
    assert len(eval(output)) < 10, output


def test_regions_without_gradients_or_with_a_name_run():
    class Regions(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 3)

        def forward(self, x):
            with torch.no_grad():
                y = self.linear(x)
                with torch.profiler.record_function('product'):
                    z = y @ y.t()
            return z + 1

    model = Regions().eval()
    module = sr.StaticModule(torch.jit.script(model))
    x = torch.rand(4, 3)
    for _ in range(4):
        torch.testing.assert_close(module(x), model(x).detach())
    assert module.report()['plans']


@pytest.mark.parametrize('make', [torch.jit.script, lambda model: torch.jit.trace(model, (torch.rand(2, 5, 16),), check_trace=False)])
@pytest.mark.parametrize('layer', ['attention', 'lstm', 'gru', 'encoder'])
def test_layers_that_draw_random_numbers_in_training_only_are_replayed(make, layer):
    class Attention(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = torch.nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, x):
            return self.attention(x, x, x, need_weights=False)[0]

    class Recurrent(torch.nn.Module):
        def __init__(self, kind):
            super().__init__()
            self.layer = kind(16, 8, 2, batch_first=True)

        def forward(self, x):
            return self.layer(x)[0]

    def encoder():
        return torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 2)

    model = {'attention': Attention, 'lstm': lambda: Recurrent(torch.nn.LSTM),
             'gru': lambda: Recurrent(torch.nn.GRU), 'encoder': encoder}[layer]().eval()
    module = sr.StaticModule(make(model), check_every=1)
    x = torch.rand(2, 5, 16)
    for _ in range(4):
        torch.testing.assert_close(module(x), model(x).detach(), rtol=1e-4, atol=1e-5)
    report = module.report()
    assert report['plans'], report['bailouts']
    assert not any('random' in reason for reason in report['bailouts'])


@pytest.mark.parametrize('options, words', [
    ({'numerics': 'wrong'}, "numerics` is 'wrong'"), ({'planner': 'wrong'}, "planner` is 'wrong'"),
    ({'check_every': 'often'}, 'wrong type'), ({'intra_op_threads': 'two'}, 'wrong type'),
    ({'without_passes': ['no such pass']}, 'no such pass'), ({'max_runtimes': 0}, 'max_runtimes'),
    ({'optimise_memory': True}, "no option 'optimise_memory'")])
def test_a_wrong_option_is_named(options, words):
    with pytest.raises(sr.ArgumentError, match=words):
        sr.compile(modules.DeepWide().eval(), modules.DeepWide.inputs(), **options)


def test_signature_info_and_warmup():
    module = sr.compile(modules.Defaults(), (X,), {'shift': X.clone()}, frontend='script')
    signature = inspect.signature(module)
    assert list(signature.parameters) == [value.name for value in module.inputs]
    assert [p.default is inspect.Parameter.empty for p in signature.parameters.values()] == [
        not value.has_default for value in module.inputs]
    module.warmup(X)
    before = module.report()['replayed_calls']
    module(X)
    assert module.report()['replayed_calls'] == before + 1
    info = sr.info()
    assert info['instruction_set'] in ('baseline', 'avx2', 'avx512')
    assert 1 <= info['processors'] <= info['processors_of_machine']
    assert repr(info).splitlines()[0].split() == ['sr', sr.__version__]
