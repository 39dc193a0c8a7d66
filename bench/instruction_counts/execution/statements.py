"""One program of many C++ statements: the compiler reads LibTorch's headers once, not twice for each of them."""

import hashlib
import os
import pathlib
import re
import shlex
import subprocess

import torch

from core.api import TimerArgs
from core.expand import Case
from core.types import Language
from execution.runner import say

HERE = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#.*$', re.MULTILINE)

STATEMENT = '''namespace statement_{index} {{
{globals}
void run(const Driver& driver) {{
{setup}
driver.run([&](std::int64_t times) {{
for (std::int64_t time = 0; time < times; ++time) {{
{stmt}
}}
}});
}}
}}  // namespace statement_{index}
'''

MAIN = '''int main(int argc, char** argv) {{
  using Run = void (*)(const Driver&);
  static constexpr Run all[] = {{{all}}};
  return sr::counts::drive(argc, argv, [](const Driver& driver) {{
    at::set_num_threads(driver.threads());
    all[std::stoi(driver.option("--statement"))](driver);
  }});
}}
'''


def source_of(statements: list[TimerArgs]) -> str:
    includes = dict.fromkeys(line.strip() for args in statements for line in INCLUDE.findall(args.global_setup))
    parts = ['#include <torch/torch.h>', *includes, '#include "driver.hpp"', 'using sr::counts::Driver;']
    parts += [STATEMENT.format(index=i, globals=INCLUDE.sub('', args.global_setup), setup=args.setup, stmt=args.stmt)
              for i, args in enumerate(statements)]
    return '\n'.join(parts) + MAIN.format(all=', '.join(f'statement_{i}::run' for i in range(len(statements))))


def command_of(source: pathlib.Path, program: pathlib.Path) -> list[str]:
    home = pathlib.Path(torch.__file__).parent
    return [*shlex.split(os.environ.get('CXX', 'g++')), '-std=c++20', '-O2', '-DNDEBUG', f'-I{HERE}',
            f'-isystem{home}/include', f'-isystem{home}/include/torch/csrc/api/include', str(source),
            '-o', str(program), f'-L{home}/lib', f'-Wl,-rpath,{home}/lib', '-ltorch', '-ltorch_cpu', '-lc10']


def build(statements: list[TimerArgs], folder: pathlib.Path) -> pathlib.Path | None:
    """The program, made anew when statements, driver or LibTorch are others; None if it does not compile."""
    folder.mkdir(parents=True, exist_ok=True)
    source = source_of(statements)
    text = '\0'.join((source, (HERE / 'driver.hpp').read_text(), torch.__version__, *command_of(HERE, HERE)))
    program = folder / f'statements-{hashlib.sha256(text.encode()).hexdigest()[:16]}'
    if program.exists():
        return program
    file, part = program.with_suffix('.cpp'), program.with_suffix('.part')
    file.write_text(source)
    say(f'compiling {len(statements)} statements into one program')
    done = subprocess.run(command_of(file, part), capture_output=True, text=True)
    if done.returncode:
        program.with_suffix('.log').write_text(done.stderr)
        return None
    part.rename(program)
    return program


def compile_statements(cases: list[Case], folder: pathlib.Path) -> list[Case]:
    """C++ statements become calls of the program. Where it does not compile, each is compiled by its worker, and the
    log of that which does not says why."""
    chosen = [i for i, case in enumerate(cases) if case.args.language is Language.CPP and not case.args.program]
    program = build([cases[i].args for i in chosen], folder) if chosen else None
    if chosen and program is None:
        say('together the C++ statements do not compile: each is compiled alone')
    made = list(cases)
    for number, i in enumerate(chosen if program else []):
        args = cases[i].args
        made[i] = cases[i]._replace(args=TimerArgs(args.stmt, num_threads=args.num_threads, language=Language.CPP,
                                                   program=(str(program), '--statement', str(number))))
    return made
