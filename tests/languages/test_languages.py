"""The examples in examples/languages: each is built as its page says, and compares a model's answers with eager's."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / 'examples/languages'
LIBRARY = ROOT / 'build/src/c'
JARS = '/usr/share/java/jna.jar'


class Scores(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4), torch.nn.Softmax(1))

    def forward(self, x):
        return self.layers(x)


@pytest.fixture(scope='session')
def files(tmp_path_factory):
    """A model, its inputs, and eager's results."""
    folder = tmp_path_factory.mktemp('model')
    torch.manual_seed(1)
    module, x = Scores().eval(), torch.randn(7, 16)
    program = torch.export.export(module, (torch.randn(3, 16),), dynamic_shapes=({0: torch.export.Dim('rows', min=1, max=512)},))
    torch.export.save(program, folder / 'model.pt2')
    (folder / 'input').write_bytes(x.numpy().tobytes())
    (folder / 'expected').write_bytes(module(x).detach().numpy().tobytes())
    return [folder / name for name in ('model.pt2', 'input', 'expected')]


def run(command, folder, **environment):
    """What the command prints; fails with its messages."""
    done = subprocess.run([str(part) for part in command], cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, f'{command}\n{done.stdout}{done.stderr}'
    return done.stdout


def build_c(folder):
    run(['gcc', '-std=c11', '-Wall', '-Wextra', '-Wpedantic', '-Werror', '-O2', EXAMPLES / 'c/quick_start.c', f'-I{ROOT}/src/c', f'-L{LIBRARY}',
         f'-Wl,-rpath,{LIBRARY}', '-lsr_c', '-lm', '-o', 'quick_start'], folder)
    return [folder / 'quick_start']


def build_rust(folder):
    run(['cargo', 'build', '--offline', '--release', '--manifest-path', EXAMPLES / 'rust/Cargo.toml', '--target-dir', folder], folder,
        SR_C_LIB=str(LIBRARY), RUSTFLAGS='-D warnings')
    return [folder / 'release/quick_start']


def build_go(folder):
    run(['go', 'vet', '.'], EXAMPLES / 'go', **of_go(folder))
    run(['go', 'build', '-o', folder / 'quick_start', '.'], EXAMPLES / 'go', **of_go(folder))
    return [folder / 'quick_start']


def of_go(folder):
    return {'CGO_CFLAGS': f'-I{ROOT}/src/c', 'CGO_LDFLAGS': f'-L{LIBRARY} -Wl,-rpath,{LIBRARY}', 'GOCACHE': str(folder / 'cache'), 'GOFLAGS': '-mod=mod'}


def build_java(folder):
    run(['javac', '-Xlint:all', '-Werror', '--release', '17', '-cp', JARS, '-d', folder, EXAMPLES / 'java/QuickStart.java'], folder)
    return ['java', '-cp', f'{JARS}:{folder}', f'-Djna.library.path={LIBRARY}', 'QuickStart']


BUILDS = {'c': build_c, 'rust': build_rust, 'go': build_go, 'java': build_java}


@pytest.mark.parametrize('language', BUILDS)
def test_an_example_has_the_results_of_eager(language, files, tmp_path):
    command = BUILDS[language](tmp_path)
    assert re.fullmatch(r'7 rows, largest difference \S+\n', run([*command, *files], tmp_path))
    # It would notice other results, and it says why a file cannot be loaded.
    wrong = tmp_path / 'wrong'
    wrong.write_bytes((torch.frombuffer(bytearray(files[2].read_bytes()), dtype=torch.float32) + 0.01).numpy().tobytes())
    other = subprocess.run([str(part) for part in [*command, *files[:2], wrong]], capture_output=True)
    assert other.returncode != 0
    missing = subprocess.run([str(part) for part in [*command, 'nowhere.pt2', *files[1:]]], capture_output=True, text=True)
    assert missing.returncode != 0 and 'nowhere.pt2' in missing.stdout + missing.stderr


def test_the_examples_leave_no_files_in_the_sources():
    tracked = subprocess.run(['git', 'status', '--porcelain', '--untracked-files=all', '--ignored', EXAMPLES], cwd=ROOT, check=True,
                             capture_output=True, text=True).stdout if shutil.which('git') else ''
    assert not [line for line in tracked.splitlines() if line.startswith('!!')]


@pytest.mark.parametrize('change, to', [
    ('int64_t* shape; ', 'int32_t* shape; '),
    ('  size_t named;\n', ''),
    ('SR_BUSY = 5', 'SR_BUSY = 6'),
    ('sr_module_trim(const sr_module* module)', 'sr_module_trim(sr_module* module, int all)'),
    ('SR_API void sr_text_free(char* text);', ''),
])
def test_the_check_of_the_abi_notices_a_break(change, to, tmp_path):
    header = (ROOT / 'src/c/sr.h').read_text()
    assert change in header
    check = [sys.executable, ROOT / 'tools/check_abi.py', '--header', tmp_path / 'sr.h']
    (tmp_path / 'sr.h').write_text(header)
    assert subprocess.run(check).returncode == 0
    (tmp_path / 'sr.h').write_text(header.replace(change, to))
    assert subprocess.run(check, stderr=subprocess.DEVNULL).returncode != 0


def test_the_library_exports_what_the_header_declares():
    declared = set(re.findall(r'\b(sr_\w+)\(', re.sub(r'/\*.*?\*/', '', (ROOT / 'src/c/sr.h').read_text(), flags=re.DOTALL))) - {'sr_done'}
    symbols = subprocess.run(['nm', '--dynamic', '--defined-only', LIBRARY / 'libsr_c.so'], check=True, capture_output=True, text=True).stdout
    assert {line.split()[2] for line in symbols.splitlines()} == declared
