"""Prints the results of all architectures as a table and a summary."""

import collections
import statistics

BOUND = 1e-5  # of the largest result


def agrees(found: dict) -> bool:
    """Whether the results are right. A network with random weights may amplify rounding errors, also those of eager. Then
    the results of `numerics='exact'` must agree, and the difference must be of the order of eager's own error."""
    if found['difference'] <= BOUND:
        return True
    return found.get('exact_difference', 1) <= BOUND and found['difference'] <= 20 * found.get('eager_error', 0)


def verdict(found: dict) -> str:
    """The problem in a few words; empty if there is none."""
    if 'refused_by' in found:
        return f'refused by {found["refused_by"]}'
    if 'call_error' in found:
        return 'a call is refused'
    if not agrees(found):
        return 'differs'
    if not found['replayed']:
        return 'never replayed'
    return 'interprets' if found['interpreted'] else ''


def ratio(found: dict, rival: str) -> float | None:
    times = found.get('microseconds', {})
    return times[rival] / times['sr'] if rival in times else None


def table(all_found: list[dict]) -> str:
    columns = ('architecture', 'largest difference', 'shapes', 'replayed', 'interpreted', 'sr, us', 'eager /',
               'TorchScript /', 'remark')
    lines = ['| ' + ' | '.join(columns) + ' |', '| --- | ---: | ---: | ---: | --- | ---: | ---: | ---: | --- |']
    for found in all_found:
        reason = found.get('reason') or found.get('call_error') or '; '.join(found.get('bailouts', []))[:200]
        if 'eager_error' in found:
            reason += f'rounding is amplified: eager differs by {found["eager_error"]:.1e} from float64'
        words = ': '.join(word for word in (verdict(found), reason) if word).replace('|', '\\|')
        if 'difference' not in found:
            lines.append(f'| {found["name"]} | | | | | | | | {words} |')
            continue
        ratios = [f'{value:.2f}' if (value := ratio(found, rival)) else '' for rival in ('eager', 'torchscript')]
        shapes = '3' if found['shapes'] == 3 else f'{found["shapes"]} (torch.export fixes the others)'
        cells = (found['name'], f'{found["difference"]:.1e}', shapes, found['replayed'], ', '.join(found['interpreted_ops']),
                 f'{found["microseconds"]["sr"]:,.0f}', *ratios, words)
        lines.append(f'| {" | ".join(map(str, cells))} |')
    loaded = [found for found in all_found if 'difference' in found and 'call_error' not in found]
    agree = [found for found in loaded if agrees(found)]
    against = [value for found in agree if (value := ratio(found, 'torchscript'))]
    lines += ['', f'{len(all_found)} architectures: {len(loaded)} load and answer, {len(agree)} agree with eager, '
              f'{sum(bool(found["replayed"]) for found in agree)} of them are replayed, '
              f'{sum(found["replayed"] and not found["interpreted"] for found in agree)} without an interpreted node.']
    if against:
        slower = sum(value < 1 for value in against)
        lines.append(f'Frozen TorchScript takes {statistics.median(against):.2f} times as long in the median; {slower} of '
                     f'{len(against)} are slower in sr, the slowest takes {1 / min(against):.2f} times as long.')
    counts = collections.Counter(op for found in agree for op in found['interpreted_ops'])
    lines += [f'- {op} is interpreted in {count}' for op, count in counts.most_common()]
    return '\n'.join(lines)
