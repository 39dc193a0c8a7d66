"""StaticModule.update: new weights by name, while other threads call."""

import copy
import pickle
import threading

import pytest
import sr
import torch
from torch import nn
from weight_changes import FRONT_ENDS, IDS, Plain, check, scripted


def other_values(net):
    return {name: value * -1.5 + 0.25 if value.is_floating_point() else value for name, value in net.state_dict().items()}


def updated(net, state):
    net = copy.deepcopy(net)
    net.load_state_dict(state)
    return net


def test_update_replaces_the_weights_of_a_module_and_its_clones(made):
    net, modules = made
    for _ in range(2):
        state = {name: value + 0.5 for name, value in other_values(net).items() if not name.endswith('tracked')}
        state = net.state_dict() | {name: value.abs() if 'var' in name else value for name, value in state.items()}
        net = updated(net, state)
        modules[0].update(state)
        modules[1].update(state)
        for module in modules:
            check(module, net)
        for value in state.values():
            value.zero_()  # the module holds copies


def test_update_takes_weights_of_a_file_that_was_loaded_for_it(tmp_path):
    net = Plain().eval()
    script, program = tmp_path / 'model.pt', tmp_path / 'model.pt2'
    torch.jit.script(net).save(script)
    torch.export.save(torch.export.export(net, (IDS,), dynamic_shapes=({0: torch.export.Dim('n', max=64)},)), program)
    state = other_values(net)
    for path in (script, program):
        module = sr.load(path, updatable_weights=True)
        check(module, net)
        module.update(state)
        check(module, updated(net, state))
        with pytest.raises(sr.ArgumentError, match='updatable_weights'):
            sr.load(path).update(state)
        with pytest.raises(sr.ArgumentError, match='freeze_weights and updatable_weights'):
            sr.load(path, updatable_weights=True, freeze_weights=True)


def test_a_pickled_module_keeps_its_updates_and_takes_others():
    net = Plain().eval()
    state = {'linear.weight': torch.rand(8, 8), 'norms.1.bias': torch.rand(8)}
    for make in FRONT_ENDS.values():
        module = make(net)
        module.update(state, strict=False)
        expected = updated(net, net.state_dict() | state)
        copied = pickle.loads(pickle.dumps(module))
        check(copied, expected)
        check(pickle.loads(pickle.dumps(copied)), expected)
        copied.update(net.state_dict())
        check(copied, net)
        check(module, expected)


@pytest.mark.parametrize('front_end', FRONT_ENDS)
def test_an_update_that_does_not_fit_changes_nothing(front_end):
    net = Plain().eval()
    module = FRONT_ENDS[front_end](net)
    state = other_values(net)
    bad = [
        ({}, "the parameters 'table.weight', .* and 2 more are missing"),
        (state | {'other.weight': torch.rand(3)}, "no parameter or buffer 'other.weight'"),
        (state | {'linear.bias': torch.rand(9)}, r"of the sizes \[9\] for the weight 'linear.bias', .* sizes \[8\]"),
        (state | {'linear.bias': torch.rand(8, dtype=torch.complex64)}, "of the type ComplexFloat for .* 'linear.bias'"),
        (state | {'linear.bias': [1.0]}, "a value of the type list for the weight 'linear.bias'"),
        (state | {3: torch.rand(8)}, 'a name of the type int'),
    ]
    for given, message in bad:
        with pytest.raises(sr.ArgumentError, match=message):
            module.update(given)
        check(module, net, calls=1)
    module.update({'other.weight': torch.rand(3)}, strict=False)
    check(module, net)
    module.update(state)
    check(module, updated(net, state))


def test_tied_weights_of_a_state_dict_stay_tied():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.head = nn.Embedding(10, 8), nn.Linear(8, 10, bias=False)
            self.head.weight = self.table.weight

        def forward(self, ids):
            return self.head(self.table(ids))

    net, other = Tied().eval(), Tied().eval()
    for make in FRONT_ENDS.values():
        for name in ('table.weight', 'head.weight'):  # files of weights often hold one of them
            module = make(net)
            module.update({name: other.table.weight})
            check(module, other)


def test_functions_and_graphs_have_no_names_for_their_weights():
    weight = torch.rand(3)
    module = sr.StaticModule(torch.jit.trace(lambda x: x * weight, torch.rand(3)))
    with pytest.raises(sr.ArgumentError, match='made of a graph'):
        module.update({'weight': torch.rand(3)})


def test_no_call_sees_weights_of_two_updates():
    class Difference(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(64, 64), nn.Linear(64, 64)

        def forward(self, x):
            return self.a(x) - self.b(x)

    net, x = Difference().eval(), torch.rand(4, 64)
    for make in (scripted, lambda net: sr.from_exported(torch.export.export(net, (x,)))):
        module, stop, wrong = make(net), threading.Event(), []

        def state():
            weight, bias = torch.rand(64, 64), torch.rand(64)
            return {'a.weight': weight, 'b.weight': weight, 'a.bias': bias, 'b.bias': bias}

        def call(module=module, stop=stop, wrong=wrong):
            while not stop.is_set():
                if module(x).count_nonzero():
                    wrong.append(1)

        module.update(state())
        threads = [threading.Thread(target=call) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(100):
            module.update(state())
        stop.set()
        for thread in threads:
            thread.join()
        assert not wrong
