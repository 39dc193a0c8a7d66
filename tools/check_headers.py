"""Checks of include/sr: every header compiles alone, none includes itself, the umbrellas and libsr are complete.

A header that reaches LibTorch is compiled behind a precompiled LibTorch, so a missing include of LibTorch or of the
standard library can hide there; `--thorough` compiles each without it (about 13 s a header). Clang reads them if it is
installed: it takes half a second where g++ takes four, since g++ loads all of a precompiled header.
"""

import argparse
import re
import shutil
import sys
import time

import toolchain

# The folders of include/sr, lowest layer first. A folder includes only itself and earlier ones; '' is the root.
# What upstream's Static Runtime has and sr keeps for its users, compat, stands above it.
LAYERS = ('base', 'memory', 'kernels', 'pool', 'graph', 'registry', 'passes', 'frontend', 'quantization', 'module', 'executor', 'replay',
          'ops', 'runtime', 'batching', '', 'compat')
# The folders of include/sr/replay, in the same order.
REPLAY_LAYERS = ('sizes', 'trace', 'steps', 'lowering', 'fusion', 'programs', 'runner')
WITHOUT_TORCH = ('memory', 'kernels', 'pool')
UMBRELLA = 'sr/sr.hpp'
# Headers of includes only, for programs and for libsr: they reach all layers.
COLLECTIONS = (UMBRELLA, 'sr/impl/runtime.hpp')
OPS = 'sr/ops/'
REPLAY = 'sr/replay/'
OPS_UMBRELLA = 'sr/ops/all.hpp'
# Headers that <sr/sr.hpp> does not include even under SR_HEADER_ONLY: for compiled kernels, for tools that ask about
# operators or times of steps, or with a JSON parser.
OUTSIDE_UMBRELLA = ('sr/kernels/compiled.hpp', 'sr/profile.hpp', 'sr/replay/programs/inventory.hpp', 'sr/registry/probe_node.hpp', 'sr/exported.hpp',
                    'sr/frontend/export/', 'sr/frontend/pickle/')
# Headers that a program which links libsr never includes.
COMPILED_ONCE = (OPS, 'sr/replay/', 'sr/frontend/')
# Of these folders, too: definitions of the headers beside them.
DEFINITIONS = 'impl'
FLAGS = ('-Wall', '-Wextra', '-Werror')
# Implementations of one other header, which may include them.
PARTS = ('sr/kernels/vec_avx512.hpp', 'sr/kernels/vec_generic.hpp')


def layer_of(name):
    """The folder below include/sr; definitions of the public face, in impl/, belong to it."""
    folder = name.split('/')[1] if name.count('/') > 1 else ''
    return '' if folder == DEFINITIONS else folder


def replay_layer(name):
    return REPLAY_LAYERS.index(name.split('/')[2])


def layer_problems(known):
    described = (toolchain.ROOT / 'docs/internals/architecture.md').read_text()
    for folder in LAYERS:
        if folder and f'| `{folder}/` |' not in described:
            yield f'docs/internals/architecture.md: its table has no line for the folder {folder}/'
    for name, path in known.items():
        if layer_of(name) not in LAYERS or (name.startswith(REPLAY) and name.split('/')[2] not in REPLAY_LAYERS):
            yield f'{name}: its folder is in no layer'
            continue
        for included in toolchain.includes(path):
            if name not in COLLECTIONS and included in known and LAYERS.index(layer_of(included)) > LAYERS.index(layer_of(name)):
                yield f'{name}: includes {included}, of a layer above it'
            if name.startswith(REPLAY) and included.startswith(REPLAY) and replay_layer(included) > replay_layer(name):
                yield f'{name}: includes {included}, of a part of replay/ above it'
            if layer_of(name) in WITHOUT_TORCH and toolchain.wants_torch([included]):
                yield f'{name}: includes {included}, of LibTorch'


def family_problems(known):
    """Families of operators, the folders of ops/, that include each other in a circle."""
    family = re.compile(rf'{OPS}(\w+)/')
    includes = {}
    for name, path in known.items():
        if here := family.match(name):
            there = {found[1] for included in toolchain.includes(path) if (found := family.match(included))}
            includes.setdefault(here[1], set()).update(there - {here[1]})
    while ready := {name for name, others in includes.items() if not others & includes.keys()}:
        includes = {name: others for name, others in includes.items() if name not in ready}
    if includes:
        yield f'{OPS}: these families include each other in a circle: {", ".join(sorted(includes))}'


def shape_problems(known):
    for name, path in known.items():
        text = path.read_text()
        if '#pragma once' not in text:
            yield f'{name}: no #pragma once'
        if name in toolchain.closure(toolchain.includes(path, False), known, False) and not (
                name in PARTS or any(part in toolchain.includes(path) for part in PARTS)):
            yield f'{name}: includes itself through others'
    guard = ('#ifdef SR_HEADER_ONLY', 'SR_SILENT_BEGIN', 'SR_SILENT_END', '#endif')
    for umbrella, belongs in ((UMBRELLA, lambda n: not n.startswith(OUTSIDE_UMBRELLA)),
                              (OPS_UMBRELLA, lambda n: n.startswith(OPS))):
        if umbrella not in known:
            yield f'{umbrella}: does not exist'
            continue
        for line in known[umbrella].read_text().splitlines():
            if line.strip() and not line.startswith(('#include', '#pragma once', '//', *guard)):
                yield f'{umbrella}: holds more than includes: {line}'
        reached = toolchain.closure([umbrella], known)
        for name in known:
            if belongs(name) and name not in reached:
                yield f'{umbrella}: does not reach {name}'
    compiled = {i for p in (toolchain.ROOT / 'src' / 'operators').glob('*.cpp') for i in toolchain.includes(p)}
    for name in sorted(toolchain.closure([OPS_UMBRELLA], known) - toolchain.closure(compiled, known)):
        if name.startswith(OPS) and name not in (OPS_UMBRELLA, 'sr/ops/builtin.hpp'):
            yield f'{name}: no file of src/operators includes it, so libsr lacks it'
    if UMBRELLA in known:
        for name in sorted(toolchain.closure([UMBRELLA], known, False)):
            if name.startswith(COMPILED_ONCE) or f'/{DEFINITIONS}/' in name:
                yield f'{UMBRELLA}: reaches {name}, which libsr has compiled'


def alone_problems(compiler, known, thorough):
    passed = toolchain.Passed('headers')
    reached = {name: toolchain.closure([name], known) for name in known}
    ready = (toolchain.ROOT / 'tools' / 'precompiled.hpp').read_text()
    key = {name: toolchain.digest(name, thorough, FLAGS, compiler.identity, ready,
                                  *(known[n].read_text() for n in sorted(all_) if n in known))
           for name, all_ in reached.items()}
    todo = [name for name in known if name not in PARTS and key[name] not in passed]
    behind_torch = {name for name in todo if toolchain.wants_torch(reached[name]) and not thorough}
    start = time.monotonic()
    if behind_torch:
        compiler.precompiled()
    print(f'headers: {len(known)}, to compile alone: {len(todo)}', flush=True)

    def compile_alone(name):
        # Twice, to detect a missing guard.
        source = f'#include <{name}>\n#include <{name}>\n'
        result = compiler.check(source, *FLAGS, torch_ready=name in behind_torch)
        if result.returncode == 0:
            passed.add(key[name])
        return result

    results = dict(zip(todo, toolchain.parallel(compile_alone, todo, 'header')))
    print(f'headers: compiled alone in {time.monotonic() - start:.0f} s')
    for name, result in results.items():
        if result.returncode:
            yield f'{name}: does not compile alone\n' + '\n'.join(result.stderr.splitlines()[:12])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--torch', required=True, help='directory of LibTorch')
    parser.add_argument('--thorough', action='store_true', help='without a precompiled LibTorch')
    args = parser.parse_args()
    known = toolchain.headers()
    problems = [*layer_problems(known), *family_problems(known), *shape_problems(known),
                *alone_problems(toolchain.Compiler(args.torch, shutil.which('clang++')), known, args.thorough)]
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == '__main__':
    sys.exit(main())
