"""Installs a wheel of the package and uses it where there is no compiler: beside the torch of this environment, or in
new environments with other versions of Python and torch, one after the other.

Each new environment downloads several gigabytes, and is deleted after the test.
"""

import argparse
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import time
import venv
import zipfile

from fetch_torch import version_of
from make_wheel import PYTHONS, ROOT, TORCH_VERSIONS, interpreters, run

# Compares results of the installed wheel with eager, for a compiled model and for a program of torch.export.
PROGRAM = """
import sys, torch, sr
assert sr.__file__.startswith(sys.prefix), sr.__file__
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).eval()
x = torch.randn(5, 8)
def check(module):
    for _ in range(3):
        torch.testing.assert_close(module(x), model(x))
    assert module.report()['replayed_calls'] > 0, module.report()
check(sr.compile(model, (x,)))
program = torch.export.export(model, (x,))
if 'without-json' not in sys.argv:
    check(sr.from_exported(program))
    torch.export.save(program, 'model.pt2')
    check(sr.load('model.pt2'))
else:
    try:
        sr.from_exported(program)
        raise AssertionError('sr.from_exported works without nlohmann_json')
    except sr.UnsupportedOpError as error:
        assert 'nlohmann_json' in str(error), error
with torch.no_grad():
    torch.testing.assert_close(torch.compile(model, backend='sr')(x), model(x))
print('sr', sr.__version__, 'agrees with eager on torch', torch.__version__, 'and Python', sys.version.split()[0])
"""


def beside_torch_of_this_environment(place):
    """Makes an environment with the torch of this one and without pip: `pip --python` installs from outside."""
    venv.EnvBuilder(with_pip=False, symlinks=True).create(place)
    site = pathlib.Path(sysconfig.get_path('purelib', vars={'base': str(place), 'platbase': str(place)}))
    here = pathlib.Path(sysconfig.get_path('purelib'))
    # The wheel expects torch next to it; what torch imports may lie elsewhere.
    (site / 'torch').symlink_to(here / 'torch')
    (site / 'torch_needs.pth').write_text(f'{here}\n')


def with_torch(place, interpreter, version):
    """Makes an environment in which pip has installed that torch, with all that it needs."""
    run(interpreter, '-m', 'venv', '--without-pip', place)
    run(sys.executable, '-m', 'pip', '--python', place / 'bin' / 'python', 'install', '--quiet', '--progress-bar', 'off', f'torch=={version}')


def torch_files(python):
    """Where torch is, and its version: installing sr must change neither."""
    return run(python, '-c', 'import torch; print(torch.__file__, torch.__version__)', stdout=subprocess.PIPE, text=True).stdout


def has_build_for(wheel, site):
    folder = '_'.join(['sr/torch', *version_of(pathlib.Path(site, 'torch')).split('.')[:2]])
    with zipfile.ZipFile(wheel) as archive:
        return any(name.startswith(folder + '/') for name in archive.namelist())


def try_in(place, wheel, index, json):
    """Installs the wheel and uses it. `index`: pip may ask its index, as a user's does, and must not change torch."""
    python = place / 'bin' / 'python'
    before, begin = torch_files(python), time.monotonic()
    offline = [] if index else ['--no-deps', '--no-index']
    run(sys.executable, '-m', 'pip', '--python', python, 'install', '--quiet', *offline, wheel)
    seconds = time.monotonic() - begin
    if torch_files(python) != before:
        raise SystemExit(f'try_wheel: installing sr changed torch: {before}')
    bare = {name: value for name, value in os.environ.items() if name not in ('PYTHONPATH', 'CXX', 'CC')} | {'PATH': str(python.parent)}
    run(python, '-c', PROGRAM, *([] if json else ['without-json']), cwd=place, env=bare)
    if json:  # the tool needs JSON, too
        run(python.parent / 'sr', '--version', env=bare)
        run(python.parent / 'sr', 'run', place / 'model.pt2', '--shape', 'f32[5,8]', env=bare, stdout=subprocess.DEVNULL)
    print(f'installed in {seconds:.1f} s', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('wheel', type=pathlib.Path)
    parser.add_argument('--torch', nargs='*', metavar='VERSION', help=f'versions to download; without a value: {" ".join(TORCH_VERSIONS)}')
    parser.add_argument('--python', nargs='*', default=PYTHONS, help='interpreters for those')
    parser.add_argument('--without-json', action='store_true', help='of a wheel that was made without nlohmann_json')
    args = parser.parse_args()
    wheel, place = args.wheel.resolve(), ROOT / 'build' / 'wheel-environment'
    versions = TORCH_VERSIONS if args.torch == [] else args.torch or []
    tags = wheel.name.split('-')[3].split('.')
    pairs = itertools.product((path for tag, path in interpreters(args.python).items() if tag in tags), versions)
    failed = []
    if not versions and not has_build_for(wheel, sysconfig.get_path('purelib')):
        print('The wheel has no build for the torch of this environment: it was not tried.')
        return
    for interpreter, version in pairs if versions else [(None, None)]:
        shutil.rmtree(place, ignore_errors=True)
        try:
            if interpreter is None:
                beside_torch_of_this_environment(place)
            else:
                with_torch(place, interpreter, version)
            try_in(place, wheel, interpreter is not None, not args.without_json)
        except subprocess.CalledProcessError as error:
            print(f'try_wheel: failed with {interpreter} and torch {version}: {error}', file=sys.stderr, flush=True)
            failed.append(f'{interpreter} and torch {version}')
    shutil.rmtree(place, ignore_errors=True)
    if failed:
        raise SystemExit(f'try_wheel: failed: {"; ".join(failed)}')


if __name__ == '__main__':
    main()
