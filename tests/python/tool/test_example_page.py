"""docs/internals/example.md shows what the tool prints."""

import os
import pathlib
import re
import subprocess
import sys

TOOL = os.environ['SR_TOOL']
PAGE = (pathlib.Path(__file__).parents[3] / 'docs/internals/example.md').read_text()


def blocks(language=''):
    found = re.findall(r'^```(\w*)\n(.*?)^```$', PAGE, re.MULTILINE | re.DOTALL)
    return [text for named, text in found if named == language]


def test_the_page_shows_what_inspect_prints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path('model.py').write_text('import torch\n\ntorch.manual_seed(0)\n' + blocks('python')[0])
    subprocess.run([sys.executable, 'model.py'], check=True)
    command = ['inspect', 'scorer.pt', '--shape', 'f32[4,8]', '--shape', 'f32[4,8]', '--graph']
    printed = subprocess.run([TOOL, *command], check=True, capture_output=True, text=True).stdout
    printed = re.sub(r'From \S*/(site-packages/)?(?=model\.py|torch/)', 'From ', printed)  # folders of this machine
    graph, nodes, memory, program = blocks()[:4]
    shown = graph.split('\n', 1)[1] + '\n' + nodes + '\n' + memory + '\n' + program
    assert printed == shown


def test_the_times_on_the_page_are_of_the_steps_that_there_are():
    steps = re.findall(r'^\[\d\] .*$', blocks()[3], re.MULTILINE)
    timed = re.findall(r'\[\d\] .*$', blocks()[4], re.MULTILINE)
    assert [step.replace(',', '') for step in timed] == steps
