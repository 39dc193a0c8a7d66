"""`sr serve` beside other servers of the same model, on loopback: ./dev bench serve.

All servers have the first processor, and the client has the second one. Latencies are those of one connection, whose next request
follows the answer. The rate of a core is that of 16 connections, divided by the time that the first processor was busy. Interleaved
rounds, medians. Ray Serve runs last and alone, because its processes use the processor even while they wait. The echo server sends
each body back, and shows what loopback alone costs. The thread of `sr serve` polls for 50 us before it sleeps. The row of an
image is that of a model which returns the mean of each channel. The last line is about 64 connections to three models, at half of the rate
that saturates the server.
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
from models import DeepWide, DigitsConv, DigitsMlp  # noqa: E402

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
    tensors = {name: torch.rand(rows, *shape) for name, shape in zip(NAMES, SHAPES)}
    (folder / 'bytes').write_bytes(raw(tensors))
    (folder / 'json').write_text(json.dumps({'inputs': [{**described(name, tensor), 'data': tensor.flatten().tolist()}
                                                        for name, tensor in tensors.items()]}))
    (folder / 'lists').write_text(json.dumps({name: tensor.tolist() for name, tensor in tensors.items()}))
    return write_binary(folder / 'binary', tensors)


def described(name, tensor):
    return {'name': name, 'datatype': 'FP32', 'shape': list(tensor.shape)}


def raw(tensors):
    return b''.join(tensor.numpy().tobytes() for tensor in tensors.values())


def write_binary(path, tensors):
    """Writes JSON and the tensors' bytes behind it; returns the bytes of JSON."""
    inputs = [{**described(name, tensor), 'parameters': {'binary_data_size': tensor.nbytes}} for name, tensor in tensors.items()]
    head = json.dumps({'inputs': inputs, 'parameters': {'binary_data_output': True}}).encode()
    path.write_bytes(head + raw(tensors))
    return len(head)


class Means(torch.nn.Module):
    """Takes an image, and little time."""

    def forward(self, x):
        return x.mean((2, 3))


def binary_of_image(folder):
    """Exports a model of images, and returns the arguments that send one."""
    exported(Means(), folder, 'image', ((3, 224, 224),))
    json_bytes = write_binary(folder / 'image', {'x': torch.rand(1, 3, 224, 224)})
    return ['--body', folder / 'image', '--json-bytes', str(json_bytes)]


@contextlib.contextmanager
def running(command, ready):
    """A process on the first processor, once `ready` (a URL or a port) answers."""
    process = subprocess.Popen(['taskset', '--cpu-list', '0', *command], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 120
        while True:
            with contextlib.suppress(OSError):
                if isinstance(ready, int):
                    socket.create_connection(('127.0.0.1', ready), timeout=1).close()
                    break
                if urllib.request.urlopen(ready, timeout=1).status == 200:
                    break
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f'serve.py: {" ".join(map(str, command))} does not answer')
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(30)


def ask(client, arguments, connections, seconds):
    command = ['taskset', '--cpu-list', '1', client, '--connections', str(connections), '--seconds', str(seconds), *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def busy_seconds():
    """The time that the first processor has worked since the machine started."""
    fields = next(line for line in pathlib.Path('/proc/stat').read_text().splitlines() if line.startswith('cpu0 ')).split()
    user, nice, system, _idle, _waiting, interrupts, soft_interrupts = map(int, fields[1:8])
    return (user + nice + system + interrupts + soft_interrupts) / 100


def wait_until_idle():
    """Waits for servers that are still busy with their start; at most a minute."""
    for _ in range(60):
        before = busy_seconds()
        time.sleep(1)
        if busy_seconds() - before < 0.1:
            return


def rate_of_core(client, arguments, connections, seconds):
    before = busy_seconds()
    answer = ask(client, arguments, connections, seconds)
    return answer['requests'] / (busy_seconds() - before)


def measured(options, client, ways):
    """The medians of p50, p99 and the rate of a core, for each way of asking."""
    wait_until_idle()
    latencies, rates = {way: [] for way in ways}, {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, arguments in ways.items():
            latencies[way].append(ask(client, arguments, 1, options.seconds))
            rates[way].append(rate_of_core(client, arguments, 16, options.seconds))
    return {way: (*(statistics.median(each[name] for each in latencies[way]) for name in ('p50', 'p99')), statistics.median(rates[way]))
            for way in ways}


def exported(module, folder, name, shapes):
    rows = torch.export.Dim('rows', min=1, max=4096)
    example = tuple(torch.rand(3, *shape) for shape in shapes)
    path = folder / f'{name}.pt2'
    torch.export.save(torch.export.export(module.eval(), example, dynamic_shapes=tuple({0: rows} for _ in example)), path)
    return path


def direct_call(model, rows):
    """Microseconds of a call in this process."""
    import sr
    module, tensors = sr.load(model), [torch.rand(rows, *shape) for shape in SHAPES]
    module(*tensors)
    times = []
    for _ in range(5000):
        begin = time.perf_counter()
        module(*tensors)
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def mixed(options, client, tool, folder):
    """64 connections to three models."""
    models = {'deep_wide': (Model(), NAMES, SHAPES), 'mlp': (DigitsMlp(), ('x',), ((64,),)),
              'conv': (DigitsConv(), ('x',), ((1, 8, 8),))}
    arguments, http = [], free_port()
    for name, (module, names, shapes) in models.items():
        exported(module, folder, name, shapes)
        tensors = {each: torch.rand(1, *shape) for each, shape in zip(names, shapes)}
        json_bytes = write_binary(folder / f'{name}.binary', tensors)
        arguments += ['--target', f'/v2/models/{name}/infer', '--body', folder / f'{name}.binary', '--json-bytes', str(json_bytes)]
    arguments = ['--http', f'127.0.0.1:{http}', '--type', 'application/octet-stream', *arguments]
    server = [tool, 'serve', *(f'{name}={folder / name}.pt2' for name in models), '--http-port', str(http), '--grpc-port', '0', '--threads', '1',
              '--spin', '50']
    with running(server, f'http://127.0.0.1:{http}/v2/health/ready'):
        most = ask(client, arguments, 64, options.seconds)['per_second']
        answers = [ask(client, [*arguments, '--rate', str(most / 2 / 64)], 64, options.seconds) for _ in range(options.rounds)]
    p50, p99 = (statistics.median(each[name] for each in answers) for name in ('p50', 'p99'))
    print(f'\n64 connections, three models, {most / 2:,.0f} requests a second (saturated: {most:,.0f}): p50 {p50:.0f} us, p99 {p99:.0f} us, '
          f'ratio {p99 / p50:.1f}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build')
    parser.add_argument('--servers-python', type=pathlib.Path, default=ROOT / '.venv-servers/bin/python')
    parser.add_argument('--ray-python', type=pathlib.Path, default=ROOT / '.venv-ray/bin/python')
    parser.add_argument('--rows', type=int, default=1)
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--seconds', type=float, default=1)
    options = parser.parse_args()
    client, tool = options.build / 'bench/serve_client', options.build / 'sr'
    folder = pathlib.Path(tempfile.mkdtemp())
    model = exported(Model(), folder, 'model', SHAPES)
    json_bytes = write_bodies(folder, options.rows)

    http, grpc, echo, unix = free_port(), free_port(), free_port(), folder / 'sr.sock'
    infer = ['--target', '/v2/models/model/infer']
    binary = [*infer, '--body', folder / 'binary', '--json-bytes', str(json_bytes), '--type', 'application/octet-stream']
    ways = {
        'echo': ['--echo', f'127.0.0.1:{echo}', '--body', folder / 'binary'],
        'sr serve, HTTP, bytes': ['--http', f'127.0.0.1:{http}', *binary],
        'sr serve, unix socket, bytes': ['--unix', unix, *binary],
        'sr serve, gRPC': ['--grpc', f'127.0.0.1:{grpc}', '--model', 'model', '--body', folder / 'binary', '--json-bytes', str(json_bytes)],
        'sr serve, HTTP, JSON': ['--http', f'127.0.0.1:{http}', *infer, '--body', folder / 'json'],
    }
    image = [*binary_of_image(folder), '--type', 'application/octet-stream']
    ways['sr serve, HTTP, an image of 602 KB'] = ['--http', f'127.0.0.1:{http}', '--target', '/v2/models/image/infer', *image]
    program = ROOT / 'bench/serving/servers.py'
    with contextlib.ExitStack() as servers:
        servers.enter_context(running([client, '--serve-echo', str(echo)], echo))
        server = [tool, 'serve', f'model={model}', f'image={folder / "image.pt2"}', '--http-port', str(http), '--grpc-port', str(grpc), '--unix', unix,
                  '--threads', '1', '--spin', '50']
        servers.enter_context(running(server, f'http://127.0.0.1:{http}/v2/health/ready'))
        if options.ray_python.exists():
            fast = free_port()
            servers.enter_context(running([options.ray_python, program, 'fastapi', model, str(fast)], f'http://127.0.0.1:{fast}/docs'))
            ways['FastAPI and uvicorn, bytes'] = ['--http', f'127.0.0.1:{fast}', '--target', '/bytes', '--body', folder / 'bytes']
            ways['FastAPI and uvicorn, JSON'] = ['--http', f'127.0.0.1:{fast}', '--target', '/json', '--body', folder / 'lists']
        if options.servers_python.exists():
            ml = free_port()
            servers.enter_context(running([options.servers_python, program, 'mlserver', model, str(ml)], f'http://127.0.0.1:{ml}/v2/health/ready'))
            ways['MLServer, JSON'] = ['--http', f'127.0.0.1:{ml}', *infer, '--body', folder / 'json']
        results = measured(options, client, ways)
    if options.ray_python.exists():
        ray = free_port()
        with running([options.ray_python, program, 'ray', model, str(ray)], f'http://127.0.0.1:{ray}/-/routes'):
            way = ['--http', f'127.0.0.1:{ray}', '--target', '/bytes', '--body', folder / 'bytes']
            results |= measured(options, client, {'Ray Serve, bytes': way})
    print(f'\nDeep and wide, {options.rows} row(s); a server on one processor. A call in Python: {direct_call(model, options.rows):.1f} us.\n')
    print('| server | p50, us | p99, us | requests a second and core |\n| --- | ---: | ---: | ---: |')
    for way, (p50, p99, rate) in results.items():
        print(f'| {way} | {p50:.0f} | {p99:.0f} | {rate:,.0f} |')
    mixed(options, client, tool, folder)


if __name__ == '__main__':
    main()
