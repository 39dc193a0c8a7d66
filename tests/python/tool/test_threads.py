"""sr info, sr tune and the open loop of sr bench as a user sees them. Tests that figures exist, not their values."""

import json
import os
import pathlib
import subprocess
import xml.etree.ElementTree

import pytest
import torch

TOOL = os.environ['SR_TOOL']
QUICK = ['--seconds', '0.02']


def sr(*arguments, **environment):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


def refusal(*arguments):
    done = sr(*arguments)
    assert done.returncode != 0, done.stdout
    assert done.stderr.startswith('sr'), done.stderr
    return done.stderr


class Model(torch.nn.Module):
    def forward(self, x, y, w, scale: float):
        return torch.relu(x @ w) * scale + y


@pytest.fixture(scope='module')
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp('models') / 'model.pt'
    torch.jit.save(torch.jit.script(Model()), path)
    return path


SHAPES = ['--shape', 'f32[4,8]', '--shape', 'f32[4,3]', '--shape', 'f32[8,3]', '--shape', 'float:0.5']


# --- sr info ------------------------------------------------------------------------------------------------------


def test_info_as_json_has_what_decides_on_threads():
    facts = json.loads(sr('info', '--json', OMP_NUM_THREADS='1', SR_CHECK='0').stdout)
    assert facts['torch'] == os.environ.get('SR_TORCH_VERSION', torch.__version__).split('+')[0]
    assert facts['intra_op_threads'] == 1
    assert facts['affinity_cpus'] == len(os.sched_getaffinity(0)) <= facts['hardware_threads']
    limits = [facts['affinity_cpus'], facts['cgroup_cpus'], facts['cgroup_quota']]
    assert facts['processors_allowed'] == max(1, int(min(limit for limit in limits if limit is not None)))
    assert facts['kernels']['used'] in facts['kernels']['available']
    assert facts['kernels']['available'][0] == 'baseline'
    assert 'linear_scan' in facts['planners']
    assert facts['operators'] > 100
    assert facts['environment']['OMP_NUM_THREADS'] == '1'
    assert facts['environment']['SR_CHECK'] == '0'
    assert facts['parallel_info'].startswith('ATen/Parallel')


def test_mkl_num_threads_precedes_omp_num_threads_in_info():
    facts = json.loads(sr('info', '--json', OMP_NUM_THREADS='2', MKL_NUM_THREADS='1').stdout)
    assert 'MKL_NUM_THREADS : 1' in facts['parallel_info']
    assert facts['environment']['MKL_NUM_THREADS'] == '1'


def test_info_follows_the_affinity_mask_and_the_limit_on_instruction_sets():
    one = min(os.sched_getaffinity(0))
    code = f'import os, subprocess; os.sched_setaffinity(0, {{{one}}}); subprocess.run([{TOOL!r}, "info", "--json"])'
    facts = json.loads(subprocess.run(['python3', '-c', code], capture_output=True, text=True,
                                      env={**os.environ, 'ATEN_CPU_CAPABILITY': 'default'}).stdout)
    assert facts['affinity_cpus'] == facts['processors_allowed'] == 1
    assert facts['kernels']['used'] == 'baseline'


def test_info_follows_a_quota():
    group = pathlib.Path(f'/sys/fs/cgroup/cpu/sr_test_{os.getpid()}')
    try:
        group.mkdir()
    except OSError:
        pytest.skip('control groups cannot be made here')
    try:
        (group / 'cpu.cfs_quota_us').write_text('150000')
        code = f'open("{group}/cgroup.procs", "w").write("0"); import os; os.execv({TOOL!r}, ["sr", "info", "--json"])'
        facts = json.loads(subprocess.run(['python3', '-c', code], capture_output=True, text=True).stdout)
    finally:
        group.rmdir()
    assert facts['cgroup_quota'] == 1.5
    assert facts['processors_allowed'] == 1


def test_info_as_text_prints_the_parallel_info_of_aten():
    text = sr('info').stdout
    assert 'ATen/Parallel' in text
    assert 'OMP_WAIT_POLICY' in text


# --- sr tune ------------------------------------------------------------------------------------------------------


def test_tune_writes_a_table_figures_and_a_picture(model, tmp_path):
    figures, picture = tmp_path / 'figures.json', tmp_path / 'picture.svg'
    done = sr('tune', model, *SHAPES, *QUICK, '--threads', '2,1', '--concurrency', '1,2', '--batch', '6,2',
              '--json', figures, '--plot', picture)
    assert done.returncode == 0, done.stderr
    assert 'Recommended for throughput: batch ' in done.stdout
    assert 'setting 8 of 8' in done.stderr
    record = json.loads(figures.read_text())
    settings = [(p['batch'], p['threads'], p['concurrency']) for p in record['points']]
    assert settings == [(b, t, c) for b in (2, 6) for t in (1, 2) for c in (1, 2)]
    assert all(0 < p['p50_us'] <= p['p99_us'] for p in record['points'])
    assert all(p['throughput_per_s'] == pytest.approx(p['batch'] * p['calls_per_s']) for p in record['points'])
    assert record['recommendation'] in record['points']
    assert xml.etree.ElementTree.parse(picture).getroot().tag.endswith('svg')


def test_a_batch_scales_the_tensors_that_have_as_many_rows_as_the_first(model, tmp_path):
    done = sr('tune', model, *SHAPES, *QUICK, '--threads', 1, '--concurrency', 1, '--batch', '2,6',
              '--json', tmp_path / 'json')
    assert done.returncode == 0, done.stderr
    assert json.loads((tmp_path / 'json').read_text())['context']['arguments'] == [
        '(Float[2, 8], Float[2, 3], Float[8, 3], Double)', '(Float[6, 8], Float[6, 3], Float[8, 3], Double)']


def test_tune_without_batches_counts_calls(model, tmp_path):
    done = sr('tune', model, *SHAPES, *QUICK, '--threads', 1, '--concurrency', 1, '--json', tmp_path / 'json')
    assert 'calls/s' in done.stdout
    assert 'examples/s' not in done.stdout
    [point] = json.loads((tmp_path / 'json').read_text())['points']
    assert point['batch'] is None
    assert point['throughput_per_s'] == point['calls_per_s']


def test_a_goal_that_nothing_meets_is_said_so(model, tmp_path):
    done = sr('tune', model, *SHAPES, *QUICK, '--threads', 1, '--concurrency', 1, '--p99-us', '0.001',
              '--json', tmp_path / 'json')
    assert 'No setting has its p99 within' in done.stdout
    record = json.loads((tmp_path / 'json').read_text())
    assert record['recommendation'] is None
    assert record['shortest_p99'] == record['points'][0]
    assert record['goal']['p99_us'] == 0.001


def test_tune_of_a_product(tmp_path):
    done = sr('tune', '--mm', 32, *QUICK, '--threads', '1,2', '--json', tmp_path / 'json')
    assert done.returncode == 0, done.stderr
    assert 'GFLOP/s' in done.stdout
    points = json.loads((tmp_path / 'json').read_text())['points']
    assert [p['threads'] for p in points] == [1, 2]
    assert all(p['gflops'] == pytest.approx(2e-9 * 32**3 * p['calls_per_s']) for p in points)


def test_mistakes_in_tune_are_named(model, tmp_path):
    assert 'Give sr tune a model file, or --mm N' in refusal('tune')
    assert '--mm' in refusal('tune', model, '--mm', '8')
    assert "not as 'plot.png'" in refusal('tune', '--mm', '8', '--plot', 'plot.png')
    assert 'cannot be written' in refusal('tune', '--mm', '8', *QUICK, '--threads', 1, '--json', tmp_path / 'no' / 'x')
    assert '--threads' in refusal('tune', '--mm', '8', '--threads', '0')
    assert 'the model takes 4' in refusal('tune', model, '--shape', 'f32[4,8]')
    assert refusal('tune', tmp_path / 'missing.pt').count('missing.pt') == 1


def test_a_model_that_does_not_take_a_batch_is_named_with_its_arguments(model):
    # The weights have as many rows as the batch, so they are scaled with it.
    message = refusal('tune', model, '--shape', 'f32[8,8]', '--shape', 'f32[8,3]', '--shape', 'f32[8,3]', '--shape',
                      'float:1', *QUICK, '--threads', 1, '--concurrency', 1, '--batch', '5')
    assert 'The model fails with batch 5, when its arguments are (Float[5, 8], Float[5, 3], Float[5, 3], Double)' in message


def test_a_first_argument_without_rows_has_no_batch(model):
    message = refusal('tune', model, '--shape', 'f32[]', '--shape', 'f32[]', '--shape', 'f32[]', '--shape', 'float:1',
                      '--batch', '5')
    assert 'has to be a tensor with rows, but the arguments are (Float[]' in message


# --- sr bench --rate ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize('poisson', [[], ['--poisson']])
def test_an_open_loop_has_percentiles_and_rates(model, tmp_path, poisson):
    done = sr('bench', model, *SHAPES, '--rate', 200, '--iters', 40, '--concurrency', 2, '--interop-threads', 3, *poisson,
              '--against', 'interpreter', '--json', tmp_path / 'json')
    assert done.returncode == 0, done.stderr
    assert 'p99.9 ns' in done.stdout
    record = json.loads((tmp_path / 'json').read_text())
    assert record['context']['rate_per_s'] == 200
    assert record['context']['interop_threads'] == 3
    assert [line['runner'] for line in record['results']] == ['sr', 'interpreter']
    for line in record['results']:
        loop = line['open_loop']
        assert loop['arrivals'] == 40
        ranks = [loop[name] for name in ('p50_ns', 'p90_ns', 'p99_ns', 'p999_ns', 'max_ns')]
        assert ranks == sorted(ranks) and ranks[0] > 0
        assert loop['offered_per_s'] == pytest.approx(200) or poisson
        assert line['median_ns'] is None


def test_a_load_that_can_not_be_sustained_is_said_so(model, tmp_path):
    done = sr('bench', model, *SHAPES, '--rate', 1e9, '--iters', 20000, '--json', tmp_path / 'json')
    assert done.returncode == 0, done.stderr
    assert '!!! NOT SUSTAINED by sr linear_scan fresh: 1000000000.0 calls a second arrived' in done.stdout
    [line] = json.loads((tmp_path / 'json').read_text())['results']
    assert line['open_loop']['sustained'] is False
    assert line['open_loop']['achieved_per_s'] < 1e9


def test_mistakes_in_loads_are_named(model):
    assert '--rate' in refusal('bench', model, *SHAPES, '--poisson')
    assert '--rate' in refusal('bench', model, *SHAPES, '--rate', '0')
    assert 'at most' in refusal('bench', model, *SHAPES, '--rate', '1e9', '--seconds', '3600')
