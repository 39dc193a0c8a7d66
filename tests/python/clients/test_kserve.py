"""KServe's inference client against the running server. Every answer is compared with a direct call.

`./dev test clients` runs these tests in .venv-clients, because the packages that KServe needs do not fit those of .venv.
"""

import asyncio
import pathlib
import sys

import numpy as np
import pytest
import torch
from kserve import InferenceGRPCClient, InferenceRESTClient, InferInput, InferRequest, RESTConfig
from kserve.protocol.infer_type import InferOutput, RequestedOutput

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'serve'))
import served  # noqa: E402


@pytest.fixture(scope='module')
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp('models')
    return folder, served.write_models(folder)


@pytest.fixture(scope='module')
def server(models):
    folder, made = models
    with served.serving(*(f'{name}={folder / name}.{"pt2" if name == "ranking" else "pt"}' for name in made)) as running:
        yield running


def request_of(model, tensors, binary, **more):
    inputs = []
    for name, tensor in tensors.items():
        given = InferInput(name, list(tensor.shape), served.DATATYPES[tensor.dtype])
        given.set_data_from_numpy(tensor.numpy(), binary_data=binary)
        inputs.append(given)
    return InferRequest(model, inputs, **more)


def ask(server, kind, *requests):
    """The answers to requests that are sent at once."""
    async def run():
        if kind == 'http':
            client = InferenceRESTClient(RESTConfig(protocol='v2'))
            base = f'http://{server.http}'
            assert await client.is_server_live(base) and await client.is_server_ready(base)
            return await asyncio.gather(*(client.infer(base, each, model_name=each.model_name) for each in requests))
        client = InferenceGRPCClient(server.grpc)
        assert await client.is_server_live() and await client.is_server_ready()
        return await asyncio.gather(*(client.infer(each) for each in requests))
    return asyncio.run(run())


KINDS = [('http', False), ('http', True), ('grpc', True)]


@pytest.mark.parametrize('kind, binary', KINDS)
@pytest.mark.parametrize('rows', [1, 7, 300])
def test_answers_are_those_of_the_model(server, models, kind, binary, rows):
    x, ids = torch.rand(rows, 16), torch.randint(0, 100, (rows,))
    scores, best = models[1]['ranking'](x, ids)
    more = {'request_outputs': [RequestedOutput(f'output_{i}', {'binary_data': True}) for i in range(2)]} if kind == 'http' and binary else {}
    (answer,) = ask(server, kind, request_of('ranking', {'x': x, 'ids': ids}, binary, request_id='r1', **more))
    assert answer.id == 'r1' and answer.model_name == 'ranking' and len(answer.outputs) == 2
    got = [out.as_numpy() for out in answer.outputs]
    np.testing.assert_allclose(got[0], scores.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(got[1], best.numpy())


@pytest.mark.parametrize('kind, binary', KINDS)
def test_every_dtype(server, kind, binary):
    for dtype in served.DATATYPES:
        if dtype in (torch.bfloat16,):  # which NumPy has not
            continue
        if dtype == torch.float16 and not binary:  # JSON of halves is refused by the client
            continue
        x = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype)
        (answer,) = ask(server, kind, request_of('echo', {'x': x}, binary))
        (out,) = answer.outputs
        assert isinstance(out, InferOutput) and out.datatype == served.DATATYPES[dtype]
        np.testing.assert_array_equal(out.as_numpy(), x.numpy())


@pytest.mark.parametrize('kind, binary', KINDS)
def test_many_at_once(server, models, kind, binary):
    drawn = [(torch.rand(rows, 16), torch.randint(0, 100, (rows,))) for rows in range(1, 41)]
    answers = ask(server, kind, *(request_of('ranking', {'x': x, 'ids': ids}, binary) for x, ids in drawn))
    for (x, ids), answer in zip(drawn, answers):
        scores, best = models[1]['ranking'](x, ids)
        np.testing.assert_allclose(answer.outputs[0].as_numpy(), scores.detach().numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(answer.outputs[1].as_numpy(), best.numpy())


@pytest.mark.parametrize('kind, binary', KINDS)
def test_errors_have_the_sentence_of_sr(server, kind, binary):
    with pytest.raises(Exception, match='There is no model'):
        ask(server, kind, request_of('nothing', {'x': torch.zeros(2)}, binary))
    with pytest.raises(Exception, match='ids'):
        ask(server, kind, request_of('ranking', {'x': torch.rand(1, 16)}, binary))
