"""The verbs of ./dev: reads the command line and prints the shell commands that carry it out.

The commands are functions of dev_setup.sh and dev_build.sh, and programs. `./dev` runs them in its shell.
"""

import argparse
import shlex
import sys

PYTHONPATH = 'PYTHONPATH="$root/build/python${PYTHONPATH:+:$PYTHONPATH}"'
CHECKS = ('format', 'sources', 'readme', 'abi', 'headers', 'tidy')


def quoted(words):
    return ' '.join(shlex.quote(word) for word in words)


def built(*targets, needs=('setup',)):
    """What is installed and built before a program runs."""
    return [*needs, 'configure_plain', f'compile build {quoted(targets)}'.strip()]


def in_python(program, arguments, *targets, needs=('setup',), python='"$python"', environment=''):
    """A Python program that imports the package of the build."""
    return [*built(*(targets or ('python-package',)), needs=needs),
            f'{environment}{PYTHONPATH} {python} {program} {quoted(arguments)}']


def environment(name):
    return f'.venv-{name}/bin/python'


# --- ./dev test SUITE ---


def fuzz(arguments):
    return [*built('tests/sr_fuzz'), f'build/tests/sr_fuzz --count 200000 --jobs "$(nproc)" --save build/fuzz --verbose {quoted(arguments)}']


def eager(arguments):
    return in_python('tests/fuzz/eager.py --fuzzer build/tests/sr_fuzz', arguments, 'tests/sr_fuzz', 'python-package')


def archives(arguments):
    # Frames are several times as large as without the sanitizer, and values in JSON nest 2,000 deep. An absurd size throws
    # std::bad_alloc, as it does without the sanitizer.
    return ['setup', 'use_sanitizer address', 'compile "$build_dir" tests/sr_fuzz_archives', 'ulimit -s 65536',
            'ASAN_OPTIONS=$ASAN_OPTIONS:allocator_may_return_null=1 "$build_dir/tests/sr_fuzz_archives" '
            f'--seeds tests/fuzz/archives/seeds --jobs "$(nproc)" --verbose {quoted(arguments)}']


def stress(arguments):
    parser = argparse.ArgumentParser(prog='./dev test stress', add_help=False)
    parser.add_argument('--sanitize', default='', choices=('address', 'undefined', 'thread'))
    known, rest = parser.parse_known_args(arguments)
    return ['setup', f"use_sanitizer '{known.sanitize}'", 'compile "$build_dir" tests/sr_stress',
            f'"${{launch[@]}}" "$build_dir/tests/sr_stress" {quoted(rest)}']


def serving(arguments):
    parser = argparse.ArgumentParser(prog='./dev test serving', add_help=False)
    parser.add_argument('--sanitize', default='', choices=('address', 'undefined', 'thread'))
    known, rest = parser.parse_known_args(arguments)
    given = ['--any-memory', *rest] if known.sanitize else rest  # freed memory stays with the sanitizer for a while
    return ['setup', f"use_sanitizer '{known.sanitize}'", 'compile "$build_dir" sr sr-serve',
            f'SR_TOOL="$root/$build_dir/sr" "$python" tests/stress/serving/main.py --seconds 600 {quoted(given)}']


def examples(arguments, check=True):
    steps, given = built('python-package', needs=('setup', 'setup_examples')), (['--check'] if check else []) + arguments
    for name in ('sentence_embeddings', 'deepfm', 'din'):
        steps += [f"say 'example {name}'",
                  f'{PYTHONPATH} {environment("examples")} examples/models/{name}.py {quoted(given)} || status=1']
    return [*steps, '(exit "${status:-0}")']


def languages(arguments):
    return ['install_packages "${language_packages[@]}"', *in_python('-m pytest -q -p no:cacheprovider tests/languages', arguments, 'sr-c')]


def pytest_in(name, folder, *targets):
    def steps(arguments):
        return in_python(f'-m pytest -q -p no:cacheprovider {folder}', arguments, *targets, 'python-package', needs=('setup', f'setup_{name}'),
                         python=environment(name), environment='SR_TOOL=$root/build/sr ')
    return steps


SUITES = {
    'fuzz': (fuzz, 'random programs against the interpreter'),
    'eager': (eager, 'random programs against eager mode'),
    'archives': (archives, 'damaged files of models, under AddressSanitizer'),
    'stress': (stress, '[--sanitize thread] 32 threads on modules that come and go'),
    'soak': (lambda a: in_python('tests/stress/soak.py --seconds 3600', a), 'clients of a batcher beside one that sends nonsense'),
    'serving': (serving, '[--sanitize KIND] `sr serve` under load, beside mutated requests and clients that break off'),
    'conformance': (lambda a: [*built('tests/conformance/sr_bridge.so'), f'"$python" tests/conformance/main.py {quoted(a)}'],
                    "every operator of torch's own database"),
    'quantized': (lambda a: in_python('tests/python/exported/drawn_quantized.py', a), 'drawn int8 models of torchao and PT2E'),
    'exhaustive': (lambda a: [*built('tests/sr_exhaustive'), f'build/tests/sr_exhaustive {quoted(a)}'], 'pointwise kernels on all 2^32 floats'),
    'examples': (examples, 'published models, compared with eager'),
    'pages': (pytest_in('pages', 'tests/python/pages', 'sr'), 'pages and the notebook, opened in Chromium'),
    'clients': (pytest_in('clients', 'tests/python/clients', 'sr', 'sr-serve'), "KServe's client and the manifests of `sr serve`"),
    'languages': (languages, 'the examples in C, Rust, Go and Java'),
    'ray': (pytest_in('ray', 'tests/python/serving'), 'deployments on a cluster of Ray'),
}
# What `./dev test --long` adds: each in a separate process, and all of them even if one fails.
LONG = ('test fuzz', 'test stress --seconds 600', 'test soak', 'test serving', 'test exhaustive', 'test conformance', 'test quantized --count 300',
        'test examples', 'test languages', 'test ray', 'test clients', 'docs', 'test pages', 'package', 'package --isolated --without-json --torch 2.13.0 --python',
        'bench counts --destination build/instruction_counts_all.json')


def test(arguments):
    if arguments and arguments[0] in SUITES:
        return SUITES[arguments[0]][0](arguments[1:])
    parser = argparse.ArgumentParser(prog='./dev test', epilog='Other arguments are those of `meson test`.')
    parser.add_argument('--torch', metavar='VERSION', help='with the headers and libraries of another LibTorch, such as 2.14.1')
    parser.add_argument('--sanitize', choices=('address', 'undefined', 'thread'))
    parser.add_argument('--long', action='store_true', help='also what takes an hour or more, and consumers that compile everything')
    known, rest = parser.parse_known_args(arguments)
    if known.torch and known.sanitize:
        parser.error('--torch and --sanitize do not go together')
    # Without the first, the collections of the instruction counts would be skipped.
    steps = ['install_packages "${count_packages[@]}" "${consumer_packages[@]}"', 'setup']
    steps.append(f'use_torch {shlex.quote(known.torch)}' if known.torch else f"use_sanitizer '{known.sanitize or ''}'")
    options = ['--no-suite', 'short' if known.long else 'long']
    if known.sanitize:  # those suites start compilers, without the sanitizer
        options += ['--no-suite', 'consume', '--no-suite', 'compile', '--timeout-multiplier', '4']
    steps += ['compile "$build_dir" all meson-test-prereq', f'run_tests {quoted([*options, *rest])} || status=1']
    if known.long:
        steps += [f'run_part {quoted(part.split())} || status=1' for part in LONG]
    return [*steps, '(exit "${status:-0}")']


# --- ./dev bench NAME ---


def peers(arguments):
    if not arguments or arguments[0] not in ('streams', 'int8', 'busy', 'charts', 'tokens', 'vision'):
        arguments = ['main', *arguments]
    return in_python(f'bench/peers/{arguments[0]}.py', arguments[1:], 'sr', 'bench/bench_peers', 'python-package',
                     needs=('setup', 'setup_peers'), python=environment('peers'))


def counts(arguments):
    needs = ('install_packages "${count_packages[@]}"', 'setup')
    if {'--compare', '--list', '--help'} & set(arguments):  # files are compared, and names listed, without the program
        return [*needs, f'"$python" bench/instruction_counts/main.py {quoted(arguments)}']
    return [*needs, 'configure_plain', 'compile build bench/bench_instruction_counts $(python_package_target)',
            f'{PYTHONPATH} "$python" bench/instruction_counts/main.py {quoted(arguments)}']


def serve(arguments):
    return in_python('bench/serving/serve.py', arguments, 'sr', 'sr-serve', 'bench/serve_client', 'python-package',
                     needs=('setup', 'setup_ray', 'setup_servers'))


def cpp_benchmark(name, arguments):
    return [*built(f'bench/bench_{name}'), f'build/bench/bench_{name} {quoted(arguments)}']


BENCHES = {
    'peers': (peers, '[streams|int8|busy|charts|tokens|vision] sr against compiled runtimes on the same weights'),
    'counts': (counts, '[--filter RE] [--destination FILE.json] [--quick] [--compare OLD NEW] instructions a call, under callgrind'),
    'examples': (lambda a: examples(a, check=False), 'published models, timed against five rivals'),
    'coverage': (lambda a: in_python('examples/coverage/main.py', a, needs=('setup', 'setup_coverage'), python=environment('coverage')),
                 'published architectures, compared with eager and timed'),
    'compile': (lambda a: [*built(), f'"$python" bench/build/main.py --torch "$torch_home" --build build {quoted(a)}'],
                'what programs that use sr cost to compile'),
    'python': (lambda a: in_python('bench/calls/python_call.py', a, needs=('setup', 'setup_peers'), python=environment('peers')),
               'what a call from Python costs'),
    'serve': (serve, '`sr serve` beside FastAPI, Ray Serve and MLServer'),
    'workers': (lambda a: in_python('bench/calls/workers.py', a), 'the memory of processes that serve one model'),
    'many-models': (lambda a: in_python('bench/models/many_models.py', a), 'the memory of many models in one process'),
    'roofline': (lambda a: cpp_benchmark('roofline', ['--markdown', 'docs/measurements/performance.md', *a]), 'kernels against the machine'),
    'streams': (lambda a: cpp_benchmark('streams', ['--markdown', 'docs/measurements/varying_sizes.md', *a]), 'sizes that vary'),
    'planner_data': (lambda a: cpp_benchmark('planner_data', a or ['--traces', 'bench/memory/plans']), 'planners on recorded lifetimes'),
}


def bench(arguments):
    if not arguments:
        return [*built('meson-benchmark-prereq'), 'say benchmarks', 'meson test -C build --benchmark --no-rebuild --verbose']
    name, *rest = arguments
    return BENCHES[name][0](rest) if name in BENCHES else cpp_benchmark(name, rest)


# --- the others ---


def check(arguments):
    if unknown := [name for name in arguments if name not in CHECKS]:
        raise SystemExit(f"dev: no check named '{unknown[0]}'; there are {', '.join(CHECKS)}")
    return ['install_packages "${check_packages[@]}"', 'setup', f'run_checks {quoted(arguments or CHECKS)}']


def run(arguments):
    return [*built('sr'), "say 'main job'", f'"$python" tools/main_job.py {quoted(arguments)}']


def package(arguments):
    everywhere = '--everywhere' in arguments
    making = [argument for argument in arguments if argument != '--everywhere']
    trying = ['--without-json'] * ('--without-json' in making) + ['--torch'] * everywhere
    return ['setup', f'"$python" tools/make_wheel.py {quoted(making)}', f'"$python" tools/try_wheel.py dist/*.whl {quoted(trying)}']


def docs(_):
    return [*built('python-package', needs=('setup', 'setup_site')),
            f'{PYTHONPATH} NO_MKDOCS_2_WARNING=1 {environment("site")} -m mkdocs build --quiet --config-file tools/site/mkdocs.yml',
            'doxygen tools/site/Doxyfile', "say 'the site is build/site/index.html'"]


VERBS = {
    'setup': (lambda _: ['setup', 'say "ready; LibTorch is $torch_home"'], 'install what is missing: packages, .venv with LibTorch'),
    'build': (lambda a: built(*a), '[TARGET...]  build into build/; the tool is build/sr'),
    'run': (run, '[--seconds S]  set up, build, and measure real models: the main job'),
    'test': (test, f'[--torch VERSION | --sanitize KIND] [--long] [meson test arguments] | {"|".join(SUITES)} [ARGUMENT...]'),
    'check': (check, f'[{"|".join(CHECKS)}]...  format, orphan sources, README and docs, the C ABI, headers alone, lint'),
    'bench': (bench, f'[{"|".join(BENCHES)}|NAME [ARGUMENT...]]  a program of bench/, such as suite or steps; or all'),
    'docs': (docs, 'the documentation as a site with references of C++ and Python, in build/site'),
    'package': (package, '[--torch VERSION...] [--python PYTHON...] [--everywhere]  a wheel in dist/, tried where there is no compiler'),
    'python': (lambda a: ['setup >&2', f'{PYTHONPATH} "$python" {quoted(a)}'], "[ARGUMENT...]  the environment's Python, with the package of the build"),
    'fmt': (lambda _: ['install_packages "${check_packages[@]}"', 'cpp_files | xargs -0 -r clang-format -i'], 'format every C++ file in place'),
    'clean': (lambda _: ['rm -rf build build-address build-undefined build-thread build-torch-* dist'], 'remove what was built (.venv and .torch stay)'),
}


def usage(verb=None):
    lines = [f'usage: ./dev {verb or "VERB"} [ARGUMENT...]']
    lines += [f'  {name:<9} {text}' for name, (_, text) in VERBS.items() if verb in (None, name)]
    for of, parts in (('test', SUITES), ('bench', BENCHES)):
        if verb == of:
            lines += [f'    {name:<14} {text}' for name, (_, text) in parts.items()]
    return '\n'.join(lines)


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ('help', '--help', '-h'):
        commands = [f'echo {shlex.quote(usage())}']
    elif arguments[0] not in VERBS:
        print(usage(), file=sys.stderr)
        raise SystemExit(f"dev: no verb named '{arguments[0]}'")
    elif arguments[1:2] == ['--help'] and arguments[0] in ('bench', 'test'):
        commands = [f'echo {shlex.quote(usage(arguments[0]))}']
    else:
        commands = VERBS[arguments[0]][0](arguments[1:])
    print('\n'.join(commands))


if __name__ == '__main__':
    main()
