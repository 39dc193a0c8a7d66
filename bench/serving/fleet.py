"""How many replicas answer a million requests a second, and what they cost: a simulation with figures that were measured.

A replica has one processor and a batcher: when it is free, it takes all requests that wait, up to its largest batch,
and computes for `fixed + rows * per_row` microseconds (./dev bench batching: what a row takes alone, and in a batch of
64). A request is sent to the shorter of two queues that are drawn, which is how Ray Serve chooses. Sending one costs
the routers `route` microseconds of a processor; an ingress that sends several requests of one client together divides
that by their number. Arrivals are Poisson. Replicas do not depend on each other, so a part of the fleet is simulated.
"""

import argparse
import collections
import heapq
import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    name: str
    alone: float  # microseconds of one row
    of_64: float  # of each row in a batch of 64

    @property
    def per_row(self) -> float:
        return (64 * self.of_64 - self.alone) / 63

    @property
    def fixed(self) -> float:
        return self.alone - self.per_row

    def batch(self, rows: int) -> float:
        return self.fixed + self.per_row * rows


MODELS = (Model('MLP 256-512-256-10', 16.3, 8.2), Model('DLRM, 26 tables', 34.9, 12.3))


def latencies(model: Model, replicas: int, rate: float, most_rows: int, requests: int, seed: int) -> list[float]:
    """Microseconds of each request at `rate` requests a microsecond, on so many replicas."""
    draw = random.Random(seed)
    queues = [collections.deque() for _ in range(replicas)]  # of times of arrival
    running: list[list[float]] = [[] for _ in range(replicas)]
    ends: list[tuple[float, int]] = []
    result: list[float] = []
    now, left = 0.0, requests

    def begin(replica: int) -> None:
        queue = queues[replica]
        running[replica] = [queue.popleft() for _ in range(min(most_rows, len(queue)))]
        heapq.heappush(ends, (now + model.batch(len(running[replica])), replica))

    arrival = draw.expovariate(rate)
    while left or ends:
        if left and (not ends or arrival < ends[0][0]):
            now, left = arrival, left - 1
            arrival = now + draw.expovariate(rate)
            a, b = draw.randrange(replicas), draw.randrange(replicas)
            chosen = min(a, b, key=lambda r: len(queues[r]) + len(running[r]))
            queues[chosen].append(now)
            if not running[chosen]:
                begin(chosen)
        else:
            now, replica = heapq.heappop(ends)
            result += [now - came for came in running[replica]]
            running[replica] = []
            if queues[replica]:
                begin(replica)
    return result


def percentile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


def highest_rate(model: Model, most_rows: int, bound: float, args: argparse.Namespace) -> float:
    """Requests a second of one replica whose 99th percentile is within `bound` microseconds."""
    low, high = 0.0, 1 / model.batch(most_rows) * most_rows
    for _ in range(12):
        middle = (low + high) / 2
        times = latencies(model, args.replicas, middle * args.replicas, most_rows, args.requests, args.seed)
        low, high = (middle, high) if percentile(times[len(times) // 5:], 0.99) <= bound else (low, middle)
    return low * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--rate', type=float, default=1e6, help='requests a second of the whole fleet')
    parser.add_argument('--p99-us', type=float, default=1000)
    parser.add_argument('--price', type=float, default=0.04, help='of a processor for an hour')
    parser.add_argument('--route-us', type=float, nargs='+', default=[1000, 50, 5],
                        help='microseconds of a processor to send a request to a replica')
    parser.add_argument('--replicas', type=int, default=40, help='of the part that is simulated')
    parser.add_argument('--requests', type=int, default=60_000)
    parser.add_argument('--seed', type=int, default=1)
    args = parser.parse_args()
    print(f'{args.rate:,.0f} requests a second with a 99th percentile of at most {args.p99_us:g} us in the replica\n')
    print('| model | rows of a batch, at most | requests/s of a replica | replicas | ' +
          ' | '.join(f'routers at {route:g} us | price of a million' for route in args.route_us) + ' |')
    print('|---|---:|---:|---:|' + '---:|' * 2 * len(args.route_us))
    for model in MODELS:
        for most_rows in 1, 16, 64:
            of_one = highest_rate(model, most_rows, args.p99_us, args)
            replicas = -(-args.rate // of_one)
            cells = [model.name, f'{most_rows}', f'{of_one:,.0f}', f'{replicas:,.0f}']
            for route in args.route_us:
                routers = -(-args.rate * route // 1e6)
                cells += [f'{routers:,.0f}', f'{(replicas + routers) * args.price / 3600 / args.rate * 1e6:.5f}']
            print('| ' + ' | '.join(cells) + ' |', flush=True)


if __name__ == '__main__':
    main()
