"""The manifests in examples/serving against the schemas of Kubernetes and the classes of KServe."""

import pathlib

import kserve
import kubernetes.client
import kubernetes_validate
import pytest
import yaml

FOLDER = pathlib.Path(__file__).parents[3] / 'examples/serving'


def documents(name):
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


def test_kubernetes():
    found = documents('kubernetes.yaml')
    assert {document['kind'] for document in found} >= {'Deployment', 'Service'}
    for document in found:
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)


def check(value, type_name, path):
    """Fails where `value` has a field that the class does not have, or a value of another type."""
    if type_name.lower().startswith('list['):
        assert isinstance(value, list), f'{path} is not a list'
        for i, each in enumerate(value):
            check(each, type_name[5:-1], f'{path}[{i}]')
    elif type_name.lower().startswith(('dict(', 'dict[')):
        assert isinstance(value, dict), f'{path} is not a mapping'
        for key, each in value.items():
            check(each, type_name[5:-1].split(',', 1)[1].strip(), f'{path}.{key}')
    elif found := getattr(kserve, type_name, None) or getattr(kubernetes.client, type_name, None):
        assert isinstance(value, dict), f'{path} is not a mapping'
        types = found.openapi_types
        fields = {field: types[name] for name, field in found.attribute_map.items()}
        for key, each in value.items():
            assert key in fields, f'{type_name} has no field {path}.{key}'
            check(each, fields[key], f'{path}.{key}')
    else:
        expected = {'str': str, 'int': int, 'bool': bool, 'object': (str, int, dict, list)}[type_name]
        assert isinstance(value, expected) and (type_name == 'bool') == isinstance(value, bool), f'{path} is not a {type_name}'


def test_kserve():
    (document,) = documents('kserve.yaml')
    assert (document['apiVersion'], document['kind']) == ('serving.kserve.io/v1beta1', 'InferenceService')
    check(document, 'V1beta1InferenceService', 'document')


@pytest.mark.parametrize('path, value', [(('spec', 'predictor', 'minReplicas'), 'one'), (('spec', 'predictor', 'container'), []),
                                         (('spec', 'predictor', 'containers', 0, 'ports', 0, 'containerPort'), '8080')])
def test_kserve_refuses(path, value):
    (document,) = documents('kserve.yaml')
    place = document
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(AssertionError):
        check(document, 'V1beta1InferenceService', 'document')
