"""No function of a weight is computed from an old value of it, whatever its code could write in other calls."""

import inspect

import pytest
import sr
import torch
import torch.nn.functional as F
from functions_of_weights import EXCLUDED, EXPRESSIONS, REFUSED, model_of
from modules_with_weights import MODULES, WITHOUT_WEIGHTS, make

pytestmark = pytest.mark.filterwarnings('ignore')
FRONT_ENDS = ('script', 'trace', 'export')


def prepared(front_end, model, inputs):
    """The reference, and modules of the front end."""
    if front_end == 'script':
        script = torch.jit.script(model)
        return script, [sr.StaticModule(script), sr.StaticModule(script, enable_replay=False)]
    if front_end == 'trace':
        trace = torch.jit.trace(model, inputs, check_trace=False)
        return trace, [sr.StaticModule(trace)]
    return model, [sr.from_exported(torch.export.export(model, inputs))]


def check_follows(front_end, model, inputs):
    reference, modules = prepared(front_end, model, inputs)
    for module in modules:
        for _ in range(3):
            module(*inputs)
    tensors = list(model.named_parameters()) + [(n, b) for n, b in model.named_buffers() if b.is_floating_point()]
    for name, tensor in tensors:
        tensor.mul_(1.25).add_(0.0625)
        for module in modules:
            for call in range(3):
                torch.testing.assert_close(module(*inputs), reference(*inputs), rtol=1e-4, atol=1e-4, equal_nan=True,
                                           msg=lambda text: f'call {call} after {name} changed: {text}')


def test_the_tables_are_complete():
    functions = {name for name in dir(F) if not name.startswith('_') and callable(getattr(F, name))
                 and not inspect.isclass(getattr(F, name))}
    assert functions - EXCLUDED <= EXPRESSIONS.keys()
    classes = {name for name in dir(torch.nn) if inspect.isclass(getattr(torch.nn, name))
               and issubclass(getattr(torch.nn, name), torch.nn.Module)}
    assert classes - WITHOUT_WEIGHTS == {name.partition(' ')[0] for name in MODULES}


@pytest.mark.parametrize('front_end', FRONT_ENDS)
@pytest.mark.parametrize('name', EXPRESSIONS)
def test_functions_follow_weights(name, front_end):
    if name in REFUSED[front_end]:
        pytest.skip(f'{front_end} does not take it')
    with torch.no_grad():
        check_follows(front_end, model_of(name).eval(), (torch.zeros(()),))


@pytest.mark.parametrize('front_end', FRONT_ENDS)
@pytest.mark.parametrize('name', MODULES)
def test_modules_follow_weights(name, front_end):
    model, inputs, refused = make(name)
    if front_end in refused:
        pytest.skip(refused[front_end])
    with torch.no_grad():
        check_follows(front_end, model.eval(), inputs)
