"""Tests `sr serve` under load, beside clients that disconnect and clients that send mutated requests.

The server must not crash, must give no wrong answer, and must not grow.

Ends with status 1 and a sentence if one of these does not hold.
"""

import argparse
import collections
import json
import multiprocessing
import pathlib
import random
import statistics
import sys
import tempfile
import time

import torch

import clients
import mutants

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'python' / 'serve'))
import served  # noqa: E402

GROWTH = 24 << 20  # bytes; glibc's arenas of a server with a thread for each processor


def write_models(folder):
    models = served.write_models(folder)
    configs = {
        'ranking': {'file': 'ranking.pt2', 'warmup': [['f32[1,16]', 'i64[1]'], ['f32[8,16]', 'i64[8]']],
                    'batching': {'max_rows': 32, 'max_wait': 0.0002, 'max_waiting': 500}},
        'echo': {'file': 'echo.pt', 'warmup': [['f32[3]']]},
        'counter': {'file': 'counter.pt', 'warmup': [['f32[3]']], 'sessions': {'max': 200, 'idle': 1}},
    }
    for name, config in configs.items():
        (folder / f'{name}.json').write_text(json.dumps({'name': name, **config}))
    return models['ranking']


def right_answers(model, count=200):
    """Pairs of a request and the two results of a direct call."""
    dice, pairs = random.Random(1), []
    for _ in range(count):
        inputs = mutants.ranking_inputs(dice)
        x, ids = (torch.frombuffer(bytearray(data), dtype=served.DTYPES[datatype]).reshape(shape) for _, datatype, shape, data in inputs)
        with torch.no_grad():
            results = model(x, ids)
        body = mutants.infer_body(inputs, parameters={'binary_data_output': True})
        pairs.append((mutants.http_post('ranking', *body), tuple(result.numpy() for result in results)))
    return pairs


def in_process(role, reports, name, *arguments):
    report = clients.Report()
    try:
        role(report, *arguments)
    except Exception as error:
        report.wrong.append(f'{type(error).__name__}: {error}')
    reports.put((name, report))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seconds', type=float, default=5)
    parser.add_argument('--mutants', type=int, default=100000, help='at most so many by each of HTTP and gRPC')
    parser.add_argument('--clients', type=int, default=2, help='how many check answers; each waits for 16 requests at a time')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--any-memory', action='store_true', help='does not bound the growth, as under a sanitizer')
    args = parser.parse_args()
    torch.set_num_threads(1)
    context, samples = multiprocessing.get_context('fork'), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        expected = right_answers(write_models(folder))
        with served.serving('--models', folder) as server:
            port, grpc_port, until = int(server.ports['http']), int(server.ports['grpc']), time.monotonic() + args.seconds
            roles = {f'right {i}': (clients.right, port, until, expected, args.seed + i) for i in range(args.clients)}
            roles['breaking off'] = (clients.breaking_off, port, grpc_port, until, args.seed)
            if args.mutants:
                roles['HTTP mutants'] = (clients.http_mutants, port, until, args.mutants, args.seed)
                roles['gRPC mutants'] = (clients.grpc_mutants, grpc_port, until, args.mutants, args.seed)
            reports = context.Queue()
            processes = [context.Process(target=in_process, args=(role, reports, label, *given), daemon=True)
                         for label, (role, *given) in roles.items()]
            for process in processes:
                process.start()
            while time.monotonic() < until and server.process.poll() is None:
                samples.append(server.resident_bytes())
                time.sleep(min(1, args.seconds / 50))
            status = server.process.poll()
            if status is None:
                seen = [reports.get(timeout=120) for _ in processes]
            else:
                print(f'serving: the server ended with status {status} after {len(samples)} samples', file=sys.stderr)
                print(*(event['message'] for event in server.events if event['event'] == 'text'), sep='\n', file=sys.stderr)
                for process in processes:
                    process.kill()
                return True
            ended = server.stop()
            problems = [f'the server ended with status {ended} after SIGTERM'] if ended != 0 else []
    # By a third of the run all plans are recorded, and the allocators have reached their size.
    settled = samples[len(samples) // 3:]
    part = max(1, len(settled) // 5)
    grown = statistics.median(settled[-part:]) - statistics.median(settled[:part])
    total = collections.Counter()
    for label, report in sorted(seen, key=lambda each: each[0]):
        print(f'{label}: ' + ', '.join(f'{number} {what}' for what, number in report.counts.most_common()))
        problems += [f'{label}: {sentence}' for sentence in dict.fromkeys(report.wrong)]
        if label.startswith('right'):
            total.update(report.counts)
    print(f'{total[200] / args.seconds:.0f} right answers a second; {settled[-1] / 2**20:.0f} MiB at the end, '
          f'{grown / 2**20:+.1f} MiB since a third of the time')
    if total[200] < 100 * args.seconds:
        problems.append(f'only {total[200]} answers')
    if grown > GROWTH and not args.any_memory:
        problems.append(f'memory grew by {grown} bytes')
    for problem in problems[:40]:
        print('serving:', problem, file=sys.stderr)
    return bool(problems)


if __name__ == '__main__':
    sys.exit(main())
