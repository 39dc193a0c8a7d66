"""What the checks share: the compiler's flags, our headers, one precompiled LibTorch, and work done in parallel."""

import concurrent.futures
import fcntl
import hashlib
import os
import pathlib
import re
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = ROOT / 'include'
WORK = ROOT / 'build' / 'syntax'
_INCLUDE_LINE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)


def digest(*parts):
    return hashlib.sha256('\0'.join(map(str, parts)).encode()).hexdigest()[:16]


def includes(path):
    return _INCLUDE_LINE.findall(path.read_text())


def headers():
    """Our headers by the name a program includes them by."""
    return {str(p.relative_to(INCLUDE)): p for p in sorted(INCLUDE.rglob('*.hpp'))}


def closure(names, known):
    """Everything `names` include, directly or not; headers that are not ours are listed but not read."""
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += includes(known[name]) if name in known else []
    return seen


def wants_torch(names):
    # c10 alone is cheap (under a second); these are not.
    return any(n.startswith(('torch/', 'ATen/')) for n in names)


def parallel(function, items):
    with concurrent.futures.ThreadPoolExecutor(max(2, os.cpu_count() or 2)) as pool:
        return list(pool.map(function, items))


class Compiler:
    def __init__(self, torch):
        self.command = shlex.split(os.environ.get('CXX', 'g++'))
        if 'ccache' in self.command[0]:
            self.command = self.command[1:]  # it can not store what -fsyntax-only prints
        self.torch = pathlib.Path(torch)
        self.flags = ['-std=c++20', '-D_GLIBCXX_USE_CXX11_ABI=1', f'-I{INCLUDE}',
                      f'-isystem{self.torch}/include', f'-isystem{self.torch}/include/torch/csrc/api/include']

    def check(self, source, *flags, torch_ready=True):
        """Reads a source text without making code. `torch_ready`: LibTorch comes precompiled (3 s instead of 13 s)."""
        pch = ['-include', str(self.precompiled())] if torch_ready else []
        return subprocess.run([*self.command, *self.flags, *flags, *pch, '-fsyntax-only', '-x', 'c++', '-'],
                              input=source, capture_output=True, text=True)

    def precompiled(self):
        text = (ROOT / 'src' / 'pch' / 'pch.hpp').read_text()
        version = subprocess.run([*self.command, '-v'], capture_output=True, text=True).stderr
        header = WORK / f'{digest(text, version, self.flags)}.hpp'
        WORK.mkdir(parents=True, exist_ok=True)
        with open(WORK / 'lock', 'w') as lock:  # tests run side by side
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not header.with_suffix('.hpp.gch').exists():
                for old in WORK.glob('*.hpp*'):
                    old.unlink()
                header.write_text(text)
                made = header.with_suffix('.tmp')
                subprocess.run([*self.command, *self.flags, '-x', 'c++-header', header, '-o', made], check=True)
                made.rename(header.with_suffix('.hpp.gch'))
        return header
