"""Shared by the checks: compiler flags, our headers, a precompiled LibTorch, and parallel work."""

import concurrent.futures
import fcntl
import functools
import hashlib
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / 'include'
WORK = ROOT / 'build' / 'syntax'
_INCLUDE_LINE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)

# What a header-only program includes in addition: definitions and operators.
_HEADER_ONLY = re.compile(r'^#ifdef SR_HEADER_ONLY\n.*?^#endif\n', re.MULTILINE | re.DOTALL)


def digest(*parts):
    """A key of these texts that is the same in every clone: paths in the clone are relative to it."""
    return hashlib.sha256('\0'.join(map(str, parts)).replace(str(ROOT), '.').encode()).hexdigest()[:32]


def includes(path, header_only=True):
    """What a header includes; `header_only`: with SR_HEADER_ONLY defined."""
    text = path.read_text()
    return _INCLUDE_LINE.findall(text if header_only else _HEADER_ONLY.sub('', text))


def headers():
    """Our headers, by the name in an #include."""
    return {str(p.relative_to(INCLUDE)): p for p in sorted(INCLUDE.rglob('*.hpp'))}


def closure(names, known, header_only=True):
    """All headers that `names` include, directly or indirectly; other projects' headers are listed but not read."""
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += includes(known[name], header_only) if name in known else []
    return seen


def files_read(source):
    """That file and every file of ours that it includes, directly or indirectly."""
    seen, todo = set(), [source]
    while todo:
        path = todo.pop()
        if path not in seen:
            seen.add(path)
            places = [folder / name for name in includes(path) for folder in (path.parent, INCLUDE)]
            todo += [place.resolve() for place in places if place.is_file()]
    return seen


def wants_torch(names):
    # c10 alone is cheap (under a second); these are not.
    return any(n.startswith(('torch/', 'ATen/')) for n in names)


def parallel(function, items, what='check'):
    """Calls the function for each item, one a core at a time; prints its progress every ten seconds."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        futures = [pool.submit(function, item) for item in items]
        said = time.monotonic()
        for done, _ in enumerate(concurrent.futures.as_completed(futures), 1):
            if time.monotonic() - said > 10:
                said = time.monotonic()
                print(f'{what} {done} of {len(futures)}', flush=True)
        return [f.result() for f in futures]


class Passed:
    """Checks that passed, by a key of everything they read. Clones share them, like the compiler cache."""

    KEPT_FOR = 30 * 24 * 3600  # seconds since the last use

    def __init__(self, check):
        cache = os.environ.get('XDG_CACHE_HOME') or pathlib.Path.home() / '.cache'
        self.folder = pathlib.Path(cache) / 'sr' / check
        self.folder.mkdir(parents=True, exist_ok=True)
        for entry in self.folder.iterdir():
            if time.time() - entry.stat().st_mtime > self.KEPT_FOR:
                entry.unlink(missing_ok=True)

    def __contains__(self, key):
        entry = self.folder / key
        if not entry.exists():
            return False
        entry.touch()
        return True

    def add(self, key):
        (self.folder / key).touch()


class Compiler:
    """$CXX (g++ unless it is set), or `command`."""

    def __init__(self, torch, command=None):
        self.command = [command] if command else shlex.split(os.environ.get('CXX', 'g++'))
        if 'ccache' in self.command[0]:
            self.command = self.command[1:]  # it cannot store the output of -fsyntax-only
        self.is_clang = 'clang' in self.command[0]
        self.launcher = ['ccache'] if shutil.which('ccache') else []
        self.torch = pathlib.Path(torch)
        self.flags = ['-std=c++20', '-D_GLIBCXX_USE_CXX11_ABI=1', f'-I{INCLUDE}',
                      f'-isystem{self.torch}/include', f'-isystem{self.torch}/include/torch/csrc/api/include']

    @functools.cached_property
    def identity(self):
        """All that determines the result except the sources: versions of compiler and LibTorch, and the flags."""
        version = subprocess.run([*self.command, '-v'], capture_output=True, text=True).stderr
        torch = (self.torch / 'version.py', self.torch / 'include' / 'torch' / 'headeronly' / 'version.h')
        return digest(version, *self.flags, *(p.read_text() for p in torch if p.exists()))

    def check(self, source, *flags, torch_ready=True):
        """Reads a source text without making code. `torch_ready`: LibTorch comes precompiled, which saves 10 s or more."""
        pch = self.precompiled() if torch_ready else []
        return subprocess.run([*self.command, *self.flags, *flags, *pch, '-fsyntax-only', '-x', 'c++', '-'],
                              input=source, capture_output=True, text=True)

    def precompiled(self):
        """Flags that include a precompiled LibTorch, which is made if there is none."""
        text = (ROOT / 'tools' / 'precompiled.hpp').read_text()
        name = pathlib.Path(self.command[0]).name
        header = WORK / f'{name}-{digest(text, self.identity)}.hpp'
        WORK.mkdir(parents=True, exist_ok=True)
        made = header.with_suffix('.hpp.gch')
        with open(WORK / 'lock', 'w') as lock:  # tests run side by side
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not made.exists():
                for old in WORK.glob(f'{name}-*'):
                    old.unlink()
                header.write_text(text)
                new = header.with_suffix('.new.gch')
                # Clang reads of a precompiled header only what a source uses, and need not instantiate its templates again.
                extra = ['-fpch-instantiate-templates'] if self.is_clang else ['-c']
                subprocess.run([*self.launcher, *self.command, *self.flags, '-x', 'c++-header', *extra, header, '-o', new],
                               check=True)
                new.rename(made)
        return ['-include-pch', str(made)] if self.is_clang else ['-include', str(header)]
