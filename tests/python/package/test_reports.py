"""Reports, signatures, graphs; reserve and trim."""

import pickle

import torch

import modules
import sr
from modules import scripted


def test_report_is_a_dictionary_that_prints_as_a_table():
    ours = sr.StaticModule(scripted(modules.DeepWide()))
    inputs = modules.DeepWide.inputs()
    for _ in range(5):
        ours(*inputs)
    report = ours.report()
    assert isinstance(report, dict) and isinstance(report, sr.Report)
    assert report['planner'] == 'linear_scan' and report['frontend'] == 'script'
    assert len(report['nodes']) == report['out_variants'] + report['natives'] + report['fallbacks']
    keys = [node['key'] for node in report['nodes']]
    assert 'aten::bmm' in keys and 'aten::sigmoid' in keys
    bmm = report['nodes'][keys.index('aten::bmm')]
    assert bmm['path'] == 'out' and 'modules.py:' in bmm['source'] and bmm['why']
    [plan] = report['plans']
    assert plan['replays'] == 3 and plan['arguments'].startswith('Float[1, 1, 32]') and plan['steps']
    assert report['pool']['made'] == 1 and report['pool']['in_use'] == 1
    assert 'replay of (Float[1, 1, 32]' in repr(report) and repr(report).startswith('frontend: script')
    again = pickle.loads(pickle.dumps(report))
    assert again == report and repr(again) == repr(report)


def test_reserve_makes_ready_and_trim_forgets():
    ours = sr.StaticModule(scripted(modules.DeepWide()))
    inputs = modules.DeepWide.inputs(4)
    ours.reserve(*inputs, runtimes=2)
    assert ours.report()['pool']['made'] == 2
    ours(*inputs)
    assert ours.report()['plans'][0]['replays'] >= 1
    ours.trim()
    assert ours.report()['plans'] == []
    assert torch.equal(ours(*inputs), ours(*inputs))


def test_inputs_and_outputs():
    first, *others = sr.StaticModule(scripted(modules.Defaults())).inputs
    assert (first.name, first.type, first.has_default) == ('x', 'Tensor', False)
    assert [(v.name, v.type, v.default) for v in others] == [
        ('scale', 'float', 2.0), ('shift', 'Optional[Tensor]', None), ('times', 'int', 1)]
    graph = torch._C.parse_ir('graph(%x : Float(2, 3), %n : int):\n  %y : Tensor = aten::mul(%x, %n)\n  return (%y)')
    x, _ = sr.StaticModule(graph).inputs
    assert (x.name, x.dtype, x.shape) == ('x', None, None)  # the example of a trace does not restrict calls
    x, = sr.from_exported(torch.export.export(torch.nn.ReLU(), (torch.ones(2, 3),))).inputs
    assert (x.dtype, x.shape) == (torch.float32, (2, 3))
    rows, columns = torch.export.Dim('rows'), torch.export.Dim('columns')
    program = torch.export.export(modules.Sum(), (torch.ones(4, 3), torch.ones(3)),
                                  dynamic_shapes=({0: rows, 1: columns}, {0: columns}))
    assert [value.shape for value in sr.from_exported(program).inputs] == [('s0', 's1'), ('s1',)]
    named = sr.StaticModule(scripted(modules.Strings()))
    assert [(v.name, v.type) for v in named.outputs] == [('output_0', 'Tuple[Tensor, str]')]


def test_the_graph_is_a_copy_of_what_runs():
    ours = sr.StaticModule(scripted(modules.DeepWide()))
    graph, inputs = ours.graph, modules.DeepWide.inputs()
    assert 'aten::bmm' in str(graph) and isinstance(graph, torch._C.Graph)
    expected = ours(*inputs)
    for node in list(graph.nodes()):
        if node.kind() == 'aten::sigmoid':
            node.output().replaceAllUsesWith(node.input())
    assert torch.equal(ours(*inputs), expected) and 'aten::sigmoid' in str(ours.graph)


def test_repr_names_arguments_and_front_end():
    assert repr(sr.StaticModule(scripted(modules.Strings()))) == (
        "sr.StaticModule(x: Tensor, mode: str) -> (output_0: Tuple[Tensor, str]), frontend 'script', "
        "planner 'linear_scan'")
