"""Builds and runs programs that use sr as other projects would, in a directory that is removed afterwards."""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from toolchain import ROOT, Compiler

# What a copy of the source tree needs, to be a subproject.
TREE = ('meson.build', 'meson_options.txt', 'meson', 'include', 'src', 'LICENSE')


def run(*command, expect=0, **options):
    """Runs and returns the output; `expect=None`: any failure is right, and success is not."""
    command = [str(c) for c in command]
    print('+', ' '.join(command), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    print(done.stdout, flush=True)
    if (done.returncode == 0) if expect is None else (done.returncode != expect):
        sys.exit(f'{pathlib.Path(command[0]).name} ended with {done.returncode}')
    return done.stdout


def meson(*arguments, **options):
    return run(sys.executable, '-m', 'mesonbuild.mesonmain', *arguments, **options)


class Consumers:
    def __init__(self, torch, sources, work):
        self.compiler = Compiler(torch)
        self.torch, self.sources, self.work = pathlib.Path(torch), sources, work
        self.link = [f'-L{torch}/lib', f'-Wl,-rpath,{torch}/lib', '-ltorch', '-ltorch_cpu', '-lc10']
        ninja = pathlib.Path(sys.executable).parent / 'ninja'
        self.environment = dict(os.environ, **({'NINJA': str(ninja)} if ninja.exists() else {}))

    def build(self, program, *arguments):
        run(*self.compiler.command, *self.compiler.flags, *arguments, '-o', self.work / program)

    def ok(self, program):
        if 'ok' not in run(self.work / program, cwd=self.work).splitlines():
            sys.exit(f'{program} does not say ok')

    def subproject(self):
        """`dependency('sr')` and `dependency('sr-ops')` of a copy in subprojects/."""
        project = self.work / 'project'
        shutil.copytree(self.sources[0].parent, project)
        copy = project / 'subprojects' / 'sr'
        copy.mkdir(parents=True)
        for name in TREE:
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
        meson('setup', self.work / 'build', project, f'-Dsr:torch={self.torch}', '--wrap-mode=nodownload',
              env=self.environment)
        meson('test', '-C', self.work / 'build', '--print-errorlogs', env=self.environment)

    def pkgconfig(self):
        """`meson install` to a prefix of its own, then g++ with the flags of sr.pc."""
        prefix = self.work / 'prefix'
        meson('setup', self.work / 'build', ROOT, f'--prefix={prefix}', '--libdir=lib', f'-Dtorch={self.torch}',
              '-Dtool=disabled', '--wrap-mode=nodownload', env=self.environment)
        meson('install', '-C', self.work / 'build', '--no-rebuild', '--quiet', env=self.environment)  # headers only
        environment = dict(self.environment, PKG_CONFIG_PATH=str(prefix / 'lib' / 'pkgconfig'))
        flags = run('pkg-config', '--cflags', '--libs', 'sr', env=environment).split()
        run(*self.compiler.command, *self.sources, *flags, '-o', self.work / 'program')
        self.ok('program')

    def headers(self):
        self.build('program', *self.sources, *self.link)
        self.ok('program')

    odr = headers

    def with_plugin(self):
        program, plugin = self.sources
        self.build('libplugin.so', '-shared', '-fPIC', plugin, *self.link)
        self.build('program', program, f'-L{self.work}', '-lplugin', '-Wl,-rpath,$ORIGIN', *self.link)

    def boundary(self):
        self.with_plugin()
        self.ok('program')

    def conflict(self):
        self.with_plugin()
        output = run(self.work / 'program', cwd=self.work, expect=None)
        for name in ('plugin::Halve', 'program::OtherHalve', 'my::halve'):
            if name not in output:
                sys.exit(f'the error does not name {name}')


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--torch', required=True, help='directory of LibTorch')
    parser.add_argument('consumer', choices=('subproject', 'pkgconfig', 'headers', 'odr', 'boundary', 'conflict'))
    parser.add_argument('sources', nargs='+', type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='sr_consumer_') as work:
        getattr(Consumers(args.torch, [s.resolve() for s in args.sources], pathlib.Path(work)), args.consumer)()


if __name__ == '__main__':
    main()
