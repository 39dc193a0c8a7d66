"""What sr inspect and sr bench --ops print, and the pictures that they write."""

import os
import re
import subprocess
import xml.etree.ElementTree

import pytest
import torch

TOOL = os.environ['SR_TOOL']
SHAPE = ['--shape', 'f32[8,32]']


def sr(*arguments):
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(32, 32) for _ in range(4)))

    def forward(self, x):
        return torch.softmax(torch.relu(self.layers(x)) * 2 + x, 1)


@pytest.fixture(scope='module')
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp('models') / 'model.pt'
    torch.jit.save(torch.jit.script(Model().eval()), path)
    return path


def managed(text):
    """(first step, end, offset, bytes) of each managed tensor."""
    found = re.findall(r'alive in steps (\d+) to (\d+), (\d+) bytes at offset (\d+)', text)
    return [(int(first), int(last) + 1, int(offset), int(count)) for first, last, count, offset in found]


def test_the_memory_of_the_general_path_is_a_layout(model):
    text = sr('inspect', model, *SHAPE)
    total, bound = map(int, re.search(r'Memory of the general path by linear_scan: (\d+) bytes, lower bound (\d+)',
                                      text).groups())
    tensors = managed(text)
    assert len(tensors) > 3 and total >= bound > 0
    assert max(offset + count for _, _, offset, count in tensors) <= total
    for i, (first, end, offset, count) in enumerate(tensors):
        for other_first, other_end, other_offset, other_count in tensors[:i]:
            meets = other_first < end and first < other_end
            apart = offset + count <= other_offset or other_offset + other_count <= offset
            in_place = other_end == first + 1 and other_offset == offset
            assert not meets or apart or in_place


def test_sizes_are_not_invented(model):
    text = sr('inspect', model)
    assert 'give --inputs or --shape to see sizes' in text
    assert 'at offset' not in text


def test_the_picture_of_a_plan_is_an_image_with_a_panel_for_each_layout(model, tmp_path):
    sr('inspect', model, *SHAPE, '--plan', tmp_path / 'plan.svg')
    root = xml.etree.ElementTree.parse(tmp_path / 'plan.svg').getroot()
    texts = [text.text for text in root.iter('{http://www.w3.org/2000/svg}text')]
    assert any(text.startswith('general path') for text in texts)
    assert any(text.startswith('replay of') for text in texts)


def test_ops_are_the_steps_of_the_replay(model, tmp_path):
    text = sr('bench', model, *SHAPE, '--ops', '--seconds', '0.05', '--ops-plot', tmp_path / 'ops.svg')
    timed = re.findall(r'^ *[\d.]+ +[\d.]+ % +\[\d+\] (.*)$', text, re.MULTILINE)
    assert sum(step.startswith('packed gemm: aten::linear') for step in timed) == 4
    assert any('aten::mul' in step and 'aten::add' in step for step in timed)
    assert 'aten::softmax' in ' '.join(timed)
    assert 'Time per node type' not in text
    root = xml.etree.ElementTree.parse(tmp_path / 'ops.svg').getroot()
    assert len(list(root.iter('{http://www.w3.org/2000/svg}rect'))) == len(timed) + 1  # bars on a page


def test_ops_are_nodes_where_calls_are_not_replayed(model):
    text = sr('bench', model, *SHAPE, '--ops', '--no-replay', '--seconds', '0.05')
    assert 'Time per node type' in text
    assert 'Steps of the replay' not in text
