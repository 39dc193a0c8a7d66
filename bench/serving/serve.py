"""`sr serve` beside other servers of the same model, on loopback: ./dev bench serve.

Each server has one processor, and the client another one. Latencies are those of one connection, whose next request follows the
answer; rates are those of 16 connections. Interleaved rounds, medians.
"""

import argparse
import contextlib
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools'))
from models import DeepWide  # noqa: E402

NAMES = ('ad', 'user', 'wide')
SHAPES = ((1, 32), (1, 32), (50,))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = DeepWide()

    def forward(self, ad, user, wide):
        return self.model(ad, user, wide)


def free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def write_bodies(folder, rows):
    """Files of one request in each form, and the bytes of JSON in that with bytes behind it."""
    tensors = [torch.rand(rows, *shape) for shape in SHAPES]
    raw = b''.join(tensor.numpy().tobytes() for tensor in tensors)
    described = [{'name': name, 'datatype': 'FP32', 'shape': list(tensor.shape)} for name, tensor in zip(NAMES, tensors)]
    head = json.dumps({'inputs': [{**one, 'parameters': {'binary_data_size': tensor.nbytes}} for one, tensor in zip(described, tensors)],
                       'parameters': {'binary_data_output': True}}).encode()
    (folder / 'binary').write_bytes(head + raw)
    (folder / 'bytes').write_bytes(raw)
    (folder / 'json').write_text(json.dumps({'inputs': [{**one, 'data': tensor.flatten().tolist()}
                                                        for one, tensor in zip(described, tensors)]}))
    (folder / 'lists').write_text(json.dumps({name: tensor.tolist() for name, tensor in zip(NAMES, tensors)}))
    return len(head)


@contextlib.contextmanager
def running(command, ready):
    """A process on the first processor, once `ready` (a URL) answers."""
    process = subprocess.Popen(['taskset', '--cpu-list', '0', *command], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError):
                if urllib.request.urlopen(ready, timeout=1).status == 200:
                    break
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f'serve.py: {" ".join(command)} does not answer')
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(30)


def ask(client, arguments, connections, seconds):
    command = ['taskset', '--cpu-list', '1', client, '--connections', str(connections), '--seconds', str(seconds), *arguments]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build')
    parser.add_argument('--servers-python', type=pathlib.Path, default=ROOT / '.venv-servers/bin/python')
    parser.add_argument('--rows', type=int, default=1)
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--seconds', type=float, default=1)
    options = parser.parse_args()
    client, tool = options.build / 'bench/serve_client', options.build / 'sr'
    folder = pathlib.Path(tempfile.mkdtemp())
    rows = torch.export.Dim('rows', min=1, max=4096)
    example = tuple(torch.rand(3, *shape) for shape in SHAPES)
    model = folder / 'model.pt2'
    torch.export.save(torch.export.export(Model().eval(), example, dynamic_shapes=tuple({0: rows} for _ in example)), model)
    json_bytes = write_bodies(folder, options.rows)

    http, grpc, unix = free_port(), free_port(), folder / 'sr.sock'
    infer = ['--target', '/v2/models/model/infer']
    binary = [*infer, '--body', folder / 'binary', '--json-bytes', str(json_bytes), '--type', 'application/octet-stream']
    ways = {
        'sr serve, HTTP, bytes': ['--http', f'127.0.0.1:{http}', *binary],
        'sr serve, unix socket, bytes': ['--unix', unix, *binary],
        'sr serve, gRPC': ['--grpc', f'127.0.0.1:{grpc}', '--model', 'model', '--body', folder / 'binary', '--json-bytes', str(json_bytes)],
        'sr serve, HTTP, JSON': ['--http', f'127.0.0.1:{http}', *infer, '--body', folder / 'json'],
    }
    with contextlib.ExitStack() as servers:
        servers.enter_context(running([tool, 'serve', model, '--http-port', str(http), '--grpc-port', str(grpc), '--unix', unix, '--threads', '1'],
                                      f'http://127.0.0.1:{http}/v2/health/ready'))
        if options.servers_python.exists():
            fast, ml = free_port(), free_port()
            start = [options.servers_python, ROOT / 'bench/serving/servers.py']
            servers.enter_context(running([*start, 'fastapi', model, str(fast)], f'http://127.0.0.1:{fast}/docs'))
            ways['FastAPI and uvicorn, bytes'] = ['--http', f'127.0.0.1:{fast}', '--target', '/bytes', '--body', folder / 'bytes']
            ways['FastAPI and uvicorn, JSON'] = ['--http', f'127.0.0.1:{fast}', '--target', '/json', '--body', folder / 'lists']
            servers.enter_context(running([*start, 'mlserver', model, str(ml)], f'http://127.0.0.1:{ml}/v2/health/ready'))
            ways['MLServer, JSON'] = ['--http', f'127.0.0.1:{ml}', *infer, '--body', folder / 'json']
        latencies = {way: [] for way in ways}
        rates = {way: [] for way in ways}
        for _ in range(options.rounds):
            for way, arguments in ways.items():
                latencies[way].append(ask(client, arguments, 1, options.seconds))
                rates[way].append(ask(client, arguments, 16, options.seconds)['per_second'])
    print(f'\nDeep and wide, {options.rows} row(s); a server on one processor.\n')
    print('| server | p50, us | p99, us | requests a second |\n| --- | ---: | ---: | ---: |')
    for way in ways:
        p50, p99 = (statistics.median(each[name] for each in latencies[way]) for name in ('p50', 'p99'))
        print(f'| {way} | {p50:.0f} | {p99:.0f} | {statistics.median(rates[way]):,.0f} |')


if __name__ == '__main__':
    main()
