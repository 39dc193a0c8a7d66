"""Builds and runs programs that use sr as other projects would, in a directory that is removed afterwards.

The directory lies in the build directory, so that the compiler's cache serves every clone.

Programs that link libsr link the one that --build has, installed to a prefix that nothing was configured for. `--long`
also compiles everything again where a user would: the subproject's library, header-only programs as optimised ones.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import time

from toolchain import ROOT, Compiler

# The parts of the source tree that a subproject needs.
TREE = ('meson.build', 'meson_options.txt', 'meson', 'include', 'src', 'LICENSE')
# The flags of src/meson.build, for projects that compile the kernels themselves.
KERNEL_FLAGS = {
    'avx2': ['-O3', '-ffp-contract=off', '-mavx2', '-mfma', '-mf16c'],
    'avx512': ['-O3', '-ffp-contract=off', '-mavx512f', '-mavx512bw', '-mavx512vl', '-mavx512dq', '-mfma', '-mf16c'],
}
# Warnings that a user may enable; there must be none.
WARNINGS = ('-Wall', '-Wextra')
SKIPPED = 77  # Meson's exit code for a skipped test


def run(*command, expect=0, silent=False, **options):
    """Runs and returns the output. With `expect=None` the command must fail; with `silent` it must print nothing."""
    command = [str(c) for c in command]
    print('+', ' '.join(command), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    print(done.stdout[:20000], flush=True)
    name = pathlib.Path(command[0]).name
    if (done.returncode == 0) if expect is None else (done.returncode != expect):
        sys.exit(f'{name} ended with {done.returncode}')
    if silent and done.stdout:
        sys.exit(f'{name} printed something; expected no warning')
    return done.stdout


class Consumers:
    def __init__(self, args, work):
        self.compiler = Compiler(args.torch)
        self.torch, self.build, self.work, self.long = args.torch, args.build, work, args.long
        self.sources = [s.resolve() for s in args.sources]
        self.link = [f'-L{self.torch}/lib', f'-Wl,-rpath,{self.torch}/lib', '-ltorch_cpu', '-lc10']
        ninja = pathlib.Path(sys.executable).parent / 'ninja'
        self.environment = dict(os.environ, **({'NINJA': str(ninja)} if ninja.exists() else {}))

    def meson(self, *arguments):
        return run(sys.executable, '-m', 'mesonbuild.mesonmain', *arguments, env=self.environment)

    def installed(self):
        """The prefix, moved away from where it was configured to be. No file in it may name this machine's paths."""
        self.meson('install', '-C', self.build, '--no-rebuild', '--quiet', '--tags', 'devel,runtime', '--destdir', self.work)
        found = next(self.work.rglob('libsr.so')).parent
        while not (found / 'include').is_dir():
            found = found.parent
        prefix = found.rename(self.work / 'elsewhere')
        ours = [p for p in prefix.rglob('*') if p.is_file() and 'bin' not in p.parts and 'libexec' not in p.parts]
        if len(ours) < 50:
            sys.exit(f'only {len(ours)} files were installed')
        for path in ours:
            for place in (self.torch, ROOT, '/usr/local'):
                if str(place).encode() in path.read_bytes():
                    sys.exit(f'{path.relative_to(prefix)} names {place}')
        return prefix

    def pkg_config(self, prefix, package):
        pc = next(prefix.rglob(f'{package}.pc'))
        return run('pkg-config', f'--define-variable=torch_dir={self.torch}', '--cflags', '--libs', package,
                   env=dict(self.environment, PKG_CONFIG_PATH=str(pc.parent))).split()

    def compile(self, program, sources, flags):
        """One object for each source, through the compiler's cache, and a program or shared library of them."""
        objects = [self.work / f'{program}.{source.stem}.o' for source in sources]
        for source, made in zip(sources, objects):
            start = time.monotonic()
            compiles = [f for f in flags if not f.startswith(('-l', '-L', '-Wl,', '-shared'))]
            run(*self.compiler.launcher, *self.compiler.command, *WARNINGS, *compiles, *KERNEL_FLAGS.get(source.stem, []), '-c', source, '-o', made,
                silent=True, cwd=ROOT)
            print(f'{source.name}: compiled in {time.monotonic() - start:.0f} s', flush=True)
        run(*self.compiler.command, *objects, *(f for f in flags if not f.startswith(('-c', '-D', '-isystem'))), '-o',
            self.work / program, silent=True)

    def ok(self, program):
        if 'ok' not in run(self.work / program, cwd=self.work).splitlines():
            sys.exit(f'{program} does not say ok')

    def subproject(self):
        """`dependency('sr')` and `dependency('sr-headers')` of a copy in subprojects/; in short, what compiles for it."""
        project = self.work / 'project'
        shutil.copytree(self.sources[0].parent / 'subproject', project)
        shutil.copy(self.sources[0], project)
        copy = project / 'subprojects' / 'sr'
        copy.mkdir(parents=True)
        for name in TREE:
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
        build = self.work / 'build'
        self.meson('setup', build, project, f'-Dsr:torch={self.torch}', '--wrap-mode=nodownload')
        if self.long:
            self.meson('test', '-C', build, '--print-errorlogs')
        else:
            run(self.environment.get('NINJA', 'ninja'), '-C', build, 'compiled_once.p/main.cpp.o',
                'subprojects/sr/src/libsr_base.a.p/kernels_select.cpp.o')

    def pkgconfig(self):
        """g++ with the flags of sr.pc."""
        prefix = self.installed()
        self.compile('program', self.sources, self.pkg_config(prefix, 'sr'))
        self.ok('program')
        if self.long:
            self.compile('headers', self.sources, ['-O0', *self.pkg_config(prefix, 'sr-headers')])
            self.ok('headers')

    def c_program(self):
        """gcc with the flags of sr-c.pc; the program says why it cannot load a file."""
        flags = self.pkg_config(self.installed(), 'sr-c')
        run('gcc', '-std=c11', *WARNINGS, *self.sources, *flags, '-lm', '-o', self.work / 'program', silent=True)
        if 'nowhere.pt2' not in run(self.work / 'program', 'nowhere.pt2', 'input', 'expected', expect=1):
            sys.exit('the program does not name the file')

    def cmake(self):
        """find_package(sr) beside find_package(Torch)."""
        if not pathlib.Path(self.torch, 'share/cmake/Torch').is_dir():
            print('this LibTorch brings no configuration for CMake')
            sys.exit(SKIPPED)
        prefix, project, build = self.installed(), self.work / 'project', self.work / 'build'
        shutil.copytree(self.sources[0].parent / 'cmake', project)
        shutil.copy(self.sources[0], project)
        run('cmake', '-S', project, '-B', build, f'-DCMAKE_PREFIX_PATH={prefix};{self.torch}/share/cmake',
            f'-DCMAKE_CXX_COMPILER={shutil.which(self.compiler.command[0])}', '-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror',
            *(f'-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}' for launcher in self.compiler.launcher))
        for program in ('compiled_once', 'headers_only') if self.long else ('compiled_once',):
            run('cmake', '--build', build, '--target', program)
            self.ok(build / program)

    def headers(self):
        """Plain g++, header-only, several files, one of which defines SR_HEADER_ONLY; in long, all of them."""
        flags = [*self.compiler.flags, '-O2' if self.long else '-O0', *self.link]
        self.compile('program', self.sources, flags)
        if self.long:
            self.ok('program')
            self.compile('program', self.sources, [*flags, '-DSR_HEADER_ONLY'])
        self.ok('program')

    def sources_of_ours(self):
        """Plain g++: the library's files with the program's own, no define."""
        folder = ROOT / 'src'
        ours = [folder / 'runtime.cpp', folder / 'memory.cpp', *sorted((folder / 'operators').glob('*.cpp'))]
        self.compile('program', [*self.sources, *ours, *sorted((folder / 'kernels').glob('*.cpp'))],
                     [*self.compiler.flags, '-O2', *self.link])
        self.ok('program')

    def clang(self):
        """clang++ with the library that another compiler made; in long, header-only as well."""
        clang = shutil.which('clang++')
        if clang is None:
            sys.exit(SKIPPED)
        self.compiler.command = [clang]
        self.compile('program', self.sources, self.pkg_config(self.installed(), 'sr'))
        self.ok('program')
        if self.long:
            self.compile('headers', self.sources, [*self.compiler.flags, '-O2', '-DSR_HEADER_ONLY', *self.link])
            self.ok('headers')

    def with_plugin(self):
        program, plugin = self.sources
        flags = [*self.compiler.flags, '-DSR_HEADER_ONLY', *self.link] if self.long else self.pkg_config(self.installed(), 'sr')
        self.compile('libplugin.so', [plugin], ['-shared', '-fPIC', *flags])
        self.compile('program', [program], [f'-L{self.work}', '-lplugin', '-Wl,-rpath,$ORIGIN', *flags])

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
    parser.add_argument('--build', required=True, type=pathlib.Path, help='build directory with libsr')
    parser.add_argument('--long', action='store_true')
    parser.add_argument('consumer', choices=('subproject', 'pkgconfig', 'c_program', 'cmake', 'headers', 'sources_of_ours', 'clang', 'boundary', 'conflict'))
    parser.add_argument('sources', nargs='+', type=pathlib.Path)
    args = parser.parse_args()
    start = time.monotonic()
    work = args.build / 'consumers' / (args.consumer + ('_long' if args.long else ''))
    shutil.rmtree(work, ignore_errors=True)  # of a run that was killed
    work.mkdir(parents=True)
    try:
        getattr(Consumers(args, work), args.consumer)()
    finally:
        shutil.rmtree(work)
    print(f'{args.consumer}: {time.monotonic() - start:.0f} s')


if __name__ == '__main__':
    main()
