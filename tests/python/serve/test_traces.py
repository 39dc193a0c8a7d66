"""Spans of requests that bear a traceparent."""

import json

import numpy as np
import pytest
import torch
import tritonclient.grpc

import served

TRACE, PARENT = '4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'
SAMPLED = f'00-{TRACE}-{PARENT}-01'


@pytest.fixture(scope='module', params=[False, True], ids=['calls', 'batches'])
def traced(request, folder, models, tmp_path_factory):
    spans = tmp_path_factory.mktemp('traces') / 'spans.json'
    more = ['--batching'] if request.param else []
    with served.serving(f'ranking={folder / "ranking.pt2"}', '--traces', spans, *more) as server:
        yield server, spans


def lines_after(path, call):
    before = len(path.read_text().splitlines())
    call()
    return [json.loads(line) for line in path.read_text().splitlines()[before:]]


def ask(server, headers, ids=(1, 2, 3)):
    return server.infer('ranking', {'x': torch.rand(len(ids), 16), 'ids': torch.tensor(ids)}, headers=headers)


def spans_of(lines):
    (line,) = lines
    (resource,) = line['resourceSpans']
    assert resource['resource']['attributes'] == [{'key': 'service.name', 'value': {'stringValue': 'sr'}}]
    (scope,) = resource['scopeSpans']
    assert scope['scope']['name'] == 'sr'
    return scope['spans']


def check_tree(spans):
    """Every span is within its parent, and all are of the client's trace."""
    request, *rest = spans
    by_id = {span['spanId']: span for span in spans}
    assert len(by_id) == len(spans) and all(len(span) == 16 for span in by_id)
    assert {span['traceId'] for span in spans} == {TRACE}
    assert (request['name'], request['parentSpanId'], request['kind']) == ('sr.request', PARENT, 2)
    for span in rest:
        parent = by_id[span['parentSpanId']]
        assert int(parent['startTimeUnixNano']) <= int(span['startTimeUnixNano']) <= int(span['endTimeUnixNano']) <= int(
            parent['endTimeUnixNano'])


def attributes(span):
    return {each['key']: next(iter(each['value'].values())) for each in span['attributes']}


def test_a_request_has_spans_down_to_the_steps(traced):
    server, path = traced
    for _ in range(3):  # so that the next one is replayed
        ask(server, {})
    spans = spans_of(lines_after(path, lambda: ask(server, {'traceparent': SAMPLED})))
    check_tree(spans)
    names = [span['name'] for span in spans]
    (batch,) = [span for span in spans if span['name'] == 'sr.batch']
    assert attributes(spans[0]) == {'sr.model': 'ranking', 'sr.version': '1'}
    assert attributes(batch)['sr.path'] == 'replay' and attributes(batch)['sr.requests'] == '1'
    steps = [span['name'] for span in spans if span['parentSpanId'] == batch['spanId']]
    assert any('linear' in name for name in steps) and any('softmax' in name for name in steps), names


def test_by_grpc(traced):
    server, path = traced
    x, ids = np.random.rand(2, 16).astype(np.float32), np.array([4, 5])
    inputs = [tritonclient.grpc.InferInput('x', [2, 16], 'FP32'), tritonclient.grpc.InferInput('ids', [2], 'INT64')]
    for given, value in zip(inputs, (x, ids)):
        given.set_data_from_numpy(value)
    client = tritonclient.grpc.InferenceServerClient(server.grpc)
    check_tree(spans_of(lines_after(path, lambda: client.infer('ranking', inputs, headers={'traceparent': SAMPLED}))))


def test_a_failure_is_in_its_span(traced):
    server, path = traced
    spans = spans_of(lines_after(path, lambda: ask(server, {'traceparent': SAMPLED}, ids=(1, 100))))
    check_tree(spans)
    assert spans[0]['status']['code'] == 2 and 'index' in spans[0]['status']['message']


@pytest.mark.parametrize('header', [
    '', 'x', f'00-{TRACE}-{PARENT}-00', f'00-{TRACE}-{PARENT}', f'ff-{TRACE}-{PARENT}-01', f'00-{"0" * 32}-{PARENT}-01',
    f'00-{TRACE}-{"0" * 16}-01', f'00-{TRACE.upper()}-{PARENT}-01', f'00-{TRACE}-{PARENT}-01-more', f'00-{TRACE}x{PARENT}-01',
    f'01-{TRACE}-{PARENT}-01more', f'00-{TRACE}-{PARENT}-0g', '00-' + '"' * 60])
def test_no_spans_without_a_sampled_context(traced, header):
    server, path = traced
    assert lines_after(path, lambda: ask(server, {'traceparent': header})) == []


def test_a_later_version_is_read(traced):
    server, path = traced
    check_tree(spans_of(lines_after(path, lambda: ask(server, {'traceparent': f'01-{TRACE}-{PARENT}-03-more'}))))


def test_other_requests_are_answered_without_a_file(server):
    assert ask(server, {'traceparent': SAMPLED})[0] == 200


def test_a_file_that_cannot_be_opened(folder, models):
    with pytest.raises(AssertionError, match='cannot be opened'):
        with served.serving(f'ranking={folder / "ranking.pt2"}', '--traces', '/nothing/spans.json'):
            pass
