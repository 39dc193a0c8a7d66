"""Checks of include/sr: every header compiles alone, none includes itself, and the umbrellas are complete.

A header that reaches LibTorch is compiled behind a precompiled LibTorch, so a missing include of LibTorch or of the
standard library can hide there; `--thorough` compiles each without it (about 13 s a header).
"""

import argparse
import json
import sys
import time

import toolchain

UMBRELLA = 'sr/sr.hpp'
OPS = 'sr/ops/'
OPS_UMBRELLA = 'sr/ops/all.hpp'
# Headers that are not part of <sr/sr.hpp> on purpose: they come with the operators, or with compiled kernels, or are
# for tools that ask about operators, or need a JSON parser.
OUTSIDE_UMBRELLA = (OPS, 'sr/plan/lower/', 'sr/plan/bound_iterator.hpp', 'sr/kernels/own.hpp',
                    'sr/kernels/kernel_set.hpp', 'sr/kernels/bfloat16.hpp', 'sr/kernels/compiled.hpp',
                    'sr/kernels/copy.hpp',
                    'sr/kernels/transpose.hpp', 'sr/kernels/products.hpp', 'sr/kernels/product_tiles.hpp',
                    'sr/kernels/reductions.hpp', 'sr/kernels/chains.hpp', 'sr/kernels/convolution.hpp',
                    'sr/kernels/pooling.hpp', 'sr/kernels/bags.hpp', 'sr/kernels/norms.hpp',
                    'sr/kernels/columns.hpp', 'sr/kernels/conversions.hpp', 'sr/kernels/indices.hpp',
                    'sr/plan/product_step.hpp', 'sr/plan/convolution_step.hpp', 'sr/plan/lookup_step.hpp',
                    'sr/plan/shares.hpp', 'sr/dispatched.hpp', 'sr/argument_of_handle.hpp',
                    'sr/one_node.hpp', 'sr/inventory.hpp', 'sr/exported.hpp', 'sr/exported/')
# Implementations of one other header, which includes itself through them.
PARTS = ('sr/kernels/vec_avx512.hpp', 'sr/kernels/vec_generic.hpp')


def shape_problems(known):
    for name, path in known.items():
        text = path.read_text()
        if '#pragma once' not in text:
            yield f'{name}: no #pragma once'
        if name in toolchain.closure(toolchain.includes(path), known) and not (
                name in PARTS or any(part in toolchain.includes(path) for part in PARTS)):
            yield f'{name}: includes itself through others'
    for umbrella, belongs in ((UMBRELLA, lambda n: not n.startswith(OUTSIDE_UMBRELLA)),
                              (OPS_UMBRELLA, lambda n: n.startswith(OPS))):
        if umbrella not in known:
            yield f'{umbrella}: does not exist'
            continue
        for line in known[umbrella].read_text().splitlines():
            if line.strip() and not line.startswith(('#include', '#pragma once', '//')):
                yield f'{umbrella}: holds more than includes: {line}'
        reached = toolchain.closure([umbrella], known)
        for name in known:
            if belongs(name) and name not in reached:
                yield f'{umbrella}: does not reach {name}'
    if UMBRELLA in known:
        for name in sorted(toolchain.closure([UMBRELLA], known)):
            if name.startswith(OUTSIDE_UMBRELLA):
                yield f'{UMBRELLA}: reaches {name}, which is for one file of a program'


def alone_problems(compiler, known, thorough):
    store = toolchain.WORK / 'headers.json'
    passed = set(json.loads(store.read_text())) if store.exists() else set()
    reached = {name: toolchain.closure([name], known) for name in known}
    key = {name: toolchain.digest(name, thorough, compiler.flags, *(known[n].read_text() for n in sorted(all_) if n in known))
           for name, all_ in reached.items()}
    todo = [name for name in known if key[name] not in passed]
    behind_torch = {name for name in todo if toolchain.wants_torch(reached[name]) and not thorough}
    if behind_torch:
        compiler.precompiled()

    def compile_alone(name):
        # Twice, so that a missing guard shows.
        source = f'#include <{name}>\n#include <{name}>\n'
        return compiler.check(source, '-Wall', '-Wextra', '-Werror', torch_ready=name in behind_torch)

    start = time.monotonic()
    todo = [name for name in todo if name not in PARTS]
    results = dict(zip(todo, toolchain.parallel(compile_alone, todo)))
    failed = {name: r.stderr for name, r in results.items() if r.returncode}
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_text(json.dumps(sorted({key[n] for n in known if n not in failed})))
    print(f'headers: {len(known)}, compiled alone now: {len(todo)} in {time.monotonic() - start:.0f} s')
    for name, output in failed.items():
        yield f'{name}: does not compile alone\n' + '\n'.join(output.splitlines()[:12])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--torch', required=True, help='directory of LibTorch')
    parser.add_argument('--thorough', action='store_true', help='without a precompiled LibTorch')
    args = parser.parse_args()
    known = toolchain.headers()
    problems = [*shape_problems(known), *alone_problems(toolchain.Compiler(args.torch), known, args.thorough)]
    for problem in problems:
        print(problem, file=sys.stderr)
    return bool(problems)


if __name__ == '__main__':
    sys.exit(main())
