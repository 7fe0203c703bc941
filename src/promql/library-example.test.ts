import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

test('the example of the PromQL library runs and prints the output that its guide shows', async () => {
  const path = fileURLToPath(new URL('../../examples/promql/cpu-by-host.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [path]);
  expect(stdout.split('\n')).toEqual([
    '{host="a"} 0.75',
    '{host="b"} 0.125',
    '2 series over 6 steps',
    'bad_data: 1:21: parse error: expected type range vector in call to function "rate", got instant vector',
    expect.stringMatching(/^nodes series: sum by \(host\) \(rate\(cpu_seconds_total\[5m\]\)\) {2}\[/),
    expect.stringMatching(/^nodes partial: avg\(rate\(cpu_seconds_total\[5m\]\)\) {2}\[.*exact expansion/),
    '',
  ]);
});
