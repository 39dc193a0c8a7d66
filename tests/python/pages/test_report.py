"""The page of `sr report`, of reports and of profiles."""

import os
import pathlib
import subprocess

import pytest
import torch

import sr
from browser import opened

TOOL = os.environ['SR_TOOL']


class Encoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
        self.head = torch.nn.Linear(64, 3)

    def forward(self, tokens):
        return torch.softmax(self.head(self.layer(tokens).mean(1)), 1)


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp('pages') / 'encoder.pt2'
    batch = torch.export.Dim('batch', min=1, max=64)
    torch.export.save(torch.export.export(Encoder().eval(), (torch.randn(2, 16, 64),), dynamic_shapes=({0: batch},)), path)
    return path


def check(seen, width):
    assert seen['errors'] == [] and seen['fetched'] == [], seen
    assert seen['width'] <= width and seen['clipped'] == [], seen
    assert seen['pictures'] >= 1


@pytest.mark.parametrize('width', [800, 1280])
def test_the_page_of_the_tool(program, tmp_path, width):
    page = tmp_path / 'encoder.html'
    subprocess.run([TOOL, 'report', program, '--batch', '4', '--html', page, '--seconds', '0.3'], check=True)
    seen = opened(page.read_text(), tmp_path, width)
    check(seen, width)
    text = seen['text']
    assert 'encoder.pt2' in text and 'p99' in text and 'Replay of (Float[' in text and 'Memory' in text
    assert 'packed gemm' in text and 'aten::' in text and ' %' in text
    assert len([bar for bar in seen['bars'] if bar > 20]) >= 2  # times of steps


class SmallerAndSmaller(torch.nn.Module):
    def forward(self, x):
        while bool(x.norm() > 1):
            x = torch.tanh(x @ x) * 0.5
        return x


def test_blocks_that_data_decide_about_are_shown_with_their_times(tmp_path):
    page = tmp_path / 'page.html'
    torch.jit.script(SmallerAndSmaller()).save(tmp_path / 'loop.pt')
    subprocess.run([TOOL, 'report', tmp_path / 'loop.pt', '--shape', 'f32[8,8]', '--html', page, '--seconds', '0.1'], check=True)
    seen = opened(page.read_text(), tmp_path)
    check(seen, 800)
    about = seen['text'].index('Data decide about')
    block = seen['text'][about : seen['text'].index('Memory', about)]
    assert 'runs replayed' in block and 'Replay of (' in block and 'gemm' in block and ' %' in block


def test_what_the_interpreter_runs_is_named(tmp_path):
    module = sr.StaticModule(torch.jit.script(torch.nn.GELU()), enable_out_variant=False)
    module(torch.randn(4))
    seen = opened(module._repr_html_(), tmp_path)
    check(seen, 800)
    assert 'In the interpreter' in seen['text'] and 'aten::gelu' in seen['text']


def test_a_page_that_can_not_be_written_is_an_error(program):
    done = subprocess.run([TOOL, 'report', program, '--html', '/nowhere/page.html', '--seconds', '0.01'],
                          capture_output=True, text=True)
    assert done.returncode == 1 and '/nowhere/page.html' in done.stderr and 'cannot be written' in done.stderr


def test_reports_and_profiles_of_python(tmp_path):
    model = Encoder().eval()
    module = sr.compile(model, (torch.randn(2, 16, 64),))
    module.warmup(torch.randn(2, 16, 64))
    for thing, says in ((module, 'frontend'), (module.report(), 'p99'), (module.profile(torch.randn(2, 16, 64), seconds=0.1), ' %')):
        seen = opened(thing._repr_html_(), tmp_path)
        check(seen, 800)
        assert says in seen['text'], type(thing)
    module.report().save_html(tmp_path / 'report.html')
    assert 'Replay of' in opened(pathlib.Path(tmp_path / 'report.html').read_text(), tmp_path)['text']


def test_names_from_a_model_are_text(tmp_path):
    page = tmp_path / 'page.html'
    torch.jit.script(torch.nn.ReLU()).save(tmp_path / 'relu.pt')
    renamed = tmp_path / '<img src=x onerror=alert(1)>.pt'
    os.rename(tmp_path / 'relu.pt', renamed)
    subprocess.run([TOOL, 'report', renamed, '--shape', 'f32[4]', '--html', page, '--seconds', '0.01'], check=True)
    seen = opened(page.read_text(), tmp_path)
    assert seen['errors'] == [] and '<img src=x onerror=alert(1)>.pt' in seen['text']
