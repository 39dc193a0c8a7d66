"""As many connections as the server may have, most of whose clients never end their request."""

import resource
import socket
import time

import torch

import served


def is_closed(connection):
    connection.setblocking(False)
    try:
        connection.recv(500)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def test_thousands_of_connections(folder, models):
    # 10,000, or what both processes may open.
    count = min(9990, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 200)
    bound = ['--max-connections', str(count + 10), '--idle-timeout', '5']
    x, ids = torch.rand(5, 16), torch.arange(5)
    expected = models['ranking'](x, ids)[0]

    with served.serving(f'ranking={folder / "ranking.pt2"}', *bound) as server:
        def is_right():
            status, body = server.infer('ranking', {'x': x, 'ids': ids})
            return status == 200 and torch.allclose(next(iter(served.tensors(body).values())), expected)

        assert is_right()
        before = server.resident_bytes()
        begin = time.monotonic()
        connections = []
        for i in range(count):
            connections.append(socket.create_connection(('127.0.0.1', int(server.ports['http']))))
            if i % 3 == 0:
                connections[-1].sendall(b'GET /v2/health/live HTTP/1.1\r\nHost: x\r\n')
        assert is_right()
        assert server.resident_bytes() < before + (20 + count / 100) * 2 ** 20  # 10 KiB for each
        assert time.monotonic() - begin < 60
        end = time.monotonic() + 60
        while not all(map(is_closed, connections)):
            assert time.monotonic() < end, 'the server keeps idle connections'
            time.sleep(0.5)
        for connection in connections:
            connection.close()
        assert is_right()
