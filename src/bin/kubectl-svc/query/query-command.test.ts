import { writeFile } from 'node:fs/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QueryRequest } from '../connect/query-server.ts';
import { runPluginHere } from '../../../testing/plugin/plugin-run.ts';

const vector = {
  data: {
    resultType: 'vector',
    result: [
      { metric: { __name__: 'up', node: 'a', job: 'x,"y' }, value: [1_700_000_000.5, '1'] },
      { metric: { __name__: 'up', node: 'b' }, value: [1_700_000_000.5, 'NaN'] },
    ],
  },
};
const matrix = {
  data: {
    resultType: 'matrix',
    result: [
      { metric: { node: 'a' }, values: Array.from({ length: 61 }, (_, i) => [1_700_000_000 + i * 60, String(i)]) },
      { metric: { node: 'b' }, values: [[1_700_000_000, '30']] },
    ],
  },
};
const asking = (answer: object): { answer: (request: QueryRequest) => object; asked: QueryRequest[] } => {
  const asked: QueryRequest[] = [];
  return { asked, answer: (request) => (asked.push(request), answer) };
};

test('an instant query prints a table with a column for each label, and nothing else on stdout', async () => {
  const played = asking(vector);
  const { code, stdout, stderr } = await runPluginHere(['query', 'up'], played);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toBe(
    'METRIC   job      node   VALUE\nup       x,"y     a          1\nup       <none>   b        NaN\n',
  );
  expect(played.asked[0]!.path).toBe('/api/v1/query');
  expect(Object.fromEntries(played.asked[0]!.form!)).toEqual({
    query: 'up',
    limit: '1000',
    timeout: '30000ms',
    partial_response: 'true',
  });
});

test.each([
  ['csv', '__name__,job,node,timestamp,value\r\nup,"x,""y",a,1700000000.5,1\r\nup,,b,1700000000.5,NaN\r\n'],
  ['promtool', 'up{node="a", job="x,\\"y"} => 1 @[1700000000.5]\nup{node="b"} => NaN @[1700000000.5]\n'],
])('-o %s gives labels, time and value of each sample', async (format, text) => {
  const { stdout } = await runPluginHere(['query', '-o', format, 'up'], asking(vector));
  expect(stdout).toBe(text);
});

test.each(['table', 'csv', 'promtool'])(
  '-o %s writes a large answer in pieces, as fast as it is read',
  async (format) => {
    const metric = (n: number): object => ({ __name__: 'up', series: `${n}`, path: `/${'p'.repeat(60)}` });
    const values = Array.from({ length: 1_000 }, (_, i) => [1_700_000_000 + i, String(i)]);
    const result = Array.from({ length: 20 }, (_, n) => ({ metric: metric(n), values }));
    const pieces: string[] = [];
    let waits = 0;
    const { code, stderr } = await runPluginHere(['query', '--since', '1h', '-o', format, 'up'], {
      ...asking({ data: { resultType: 'matrix', result } }),
      onStdout: (text) => void pieces.push(text),
      drained: async () => void waits++,
    });
    expect([code, stderr]).toEqual([0, '']);
    expect(pieces.length).toBeGreaterThan(2);
    expect(waits).toBe(pieces.length - 1);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThanOrEqual(2 ** 20);
    const lines = pieces.join('').trimEnd().split(/\r?\n/);
    expect(lines).toHaveLength(format === 'promtool' ? 20 * 1_001 : 20 * 1_000 + 1);
    const last = {
      table: /^2023-11-14T22:29:59Z   up       \/p+   19         999$/,
      csv: /^up,\/p+,19,1700000999,999$/,
    };
    expect(lines.at(-1)).toMatch({ ...last, promtool: /^999 @\[1700000999\]$/ }[format]!);
  },
);

test('-o json prints the whole answer of the server, and asks for no limit', async () => {
  const played = asking({ ...vector, degraded: true, missingNodes: ['node-3'] });
  const { stdout } = await runPluginHere(['query', 'up', '-o', 'json'], played);
  expect(JSON.parse(stdout)).toEqual({ status: 'success', ...vector, degraded: true, missingNodes: ['node-3'] });
  expect(played.asked[0]!.form!.has('limit')).toBe(false);
});

test('a degraded answer, warnings and infos are reported on stderr', async () => {
  const answer = { ...vector, degraded: true, missingNodes: ['node-3'], warnings: ['late'], infos: ['be careful'] };
  const { code, stderr } = await runPluginHere(['query', 'up'], asking(answer));
  expect(code).toBe(0);
  expect(stderr).toBe('warning: late\ninfo: be careful\nwarning: degraded: the answer lacks 1 node: node-3\n');
});

test('a parse error shows its position', async () => {
  const error = 'invalid parameter "query": 2:3: parse error: unexpected identifier "woo"';
  const answer = { status: 'error', errorType: 'bad_data', error };
  const { code, stdout, stderr } = await runPluginHere(['query', 'sum(\n  woo up)'], asking(answer));
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toBe(`error: ${error}\n    woo up)\n    ^~~\n`);
});

test('a range query prints a graph with axes and a legend on a terminal, and a table elsewhere', async () => {
  const args = ['query', '--start', '1700000000', '--end', '1700003600', '--step', '1m', 'x'];
  const played = asking(matrix);
  const { stdout } = await runPluginHere(args, { ...played, terminal: 60, env: { NO_COLOR: '1' } });
  const lines = stdout.trimEnd().split('\n');
  expect(lines.every((line) => line.length <= 60)).toBe(true);
  expect(lines[0]).toMatch(/^60 ┤ +•+$/);
  expect(lines.at(-1)).toBe('× {node="b"}  30');
  expect(lines.at(-2)).toBe('• {node="a"}  60');
  expect(lines.some((line) => /^ 0 ┤•/.test(line))).toBe(true);
  expect(Object.fromEntries(played.asked[0]!.form!)).toMatchObject({
    start: '1700000000',
    end: '1700003600',
    step: '60',
  });
  const piped = await runPluginHere(args, asking(matrix));
  expect(piped.stdout.split('\n').slice(0, 2)).toEqual([
    'TIME                   node   VALUE',
    '2023-11-14T22:13:20Z   a          0',
  ]);
});

test('colours are written to a terminal only', async () => {
  const args = ['query', '--since', '1h', '-o', 'graph', 'x'];
  const { stdout } = await runPluginHere(args, { ...asking(matrix), terminal: 80 });
  expect(stdout).toContain('\u001b[36m');
  expect((await runPluginHere(args, asking(matrix))).stdout).not.toContain('\u001b');
});

test.each([
  [['query'], 'what to ask?'],
  [['query', 'up', '--step', '1m'], '--since or --start'],
  [['query', 'up', '--since', 'yesterday'], 'no duration'],
  [['query', 'up', '--start', '2m', '--end', '5m'], 'the range is empty'],
  [['query', 'up', '--since', '1h', '--time', '5m'], 'a range has --end'],
  [['query', 'up', '--since', '1y', '--step', '1s'], '--step is too small'],
  [['query', 'up', '-o', 'xml'], 'none of table, json, csv, promtool, graph'],
  [['query', 'up', '-n', 'shop'], 'names its namespaces itself'],
  [['query', ' '], 'empty'],
])('%j is wrong usage', async (args, message) => {
  const { code, stdout, stderr } = await runPluginHere(args, asking(vector));
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(message);
});

test('the expression comes from the standard input or a file', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'svc-plugin-'));
  await writeFile(join(dir, 'q'), 'sum(x)\n');
  for (const args of [['-'], ['-f', '-'], ['-f', join(dir, 'q')]]) {
    const played = asking(vector);
    await runPluginHere(['query', ...args], { ...played, stdin: 'sum(x)\n' });
    expect(played.asked[0]!.form!.get('query')).toBe('sum(x)\n');
  }
  const missing = await runPluginHere(['query', '-f', join(dir, 'none')], asking(vector));
  expect([missing.code, missing.stderr]).toEqual([1, expect.stringContaining('ENOENT')]);
  rmSync(dir, { recursive: true });
});

test('an expression of more than 1 MiB is refused, with the remedy', async () => {
  const { code, stderr } = await runPluginHere(['query', '-'], { ...asking(vector), stdin: 'x'.repeat(2 ** 20 + 1) });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'error: standard input: more than 1048576 bytes\n  divide the expression into several queries\n',
  });
});

test('an expression that begins with a dash comes after --', async () => {
  const played = asking(vector);
  expect((await runPluginHere(['query', '-o', 'csv', '--', '-1'], played)).code).toBe(0);
  expect(played.asked[0]!.form!.get('query')).toBe('-1');
});

/** A string that begins a control sequence in two ways and reverses the writing direction. */
const hostile = 'x\u001b[2J\u009b2J\u202ey';
const escaped = String.raw`x\u001b[2J\u009b2J\u202ey`;
const raw = /[\u001b\u009b\u202e]/;

test.each([
  ['table', []],
  ['promtool', []],
  ['graph', ['--since', '1h']],
])('control characters in label names and values do not reach the terminal with -o %s', async (format, range) => {
  const series = { metric: { a: hostile, [hostile]: 'b' }, value: [1, '1'], values: [[1, '1']] };
  const data = { resultType: range.length > 0 ? 'matrix' : 'vector', result: [series] };
  const env = { NO_COLOR: '1' };
  const args = ['query', ...range, '-o', format, 'x'];
  const { stdout } = await runPluginHere(args, { ...asking({ data }), terminal: 200, env });
  expect(stdout.split(escaped)).toHaveLength(3);
  expect(stdout).not.toMatch(raw);
});

test('control characters of a string, a caveat, an explanation and an error do not reach the terminal', async () => {
  const env = { NO_COLOR: '1' };
  const explain = { path: 'agg', fallbacks: [], plan: [hostile], fragments: [{ nodes: [{ node: hostile }] }] };
  const caveats = { warnings: [hostile], infos: [hostile], degraded: true, missingNodes: [hostile], explain };
  const answer = { data: { resultType: 'string', result: [1, hostile] }, ...caveats };
  const told = await runPluginHere(['query', 'x', '--explain'], { ...asking(answer), terminal: 200, env });
  expect(told.stdout).toBe(`${escaped}\n`);
  expect(told.stderr.split(escaped)).toHaveLength(6);
  expect(told.stderr).not.toMatch(raw);
  const refused = { status: 'error', errorType: 'execution', error: `duplicate series ${hostile}` };
  const { stderr } = await runPluginHere(['query', 'x'], { ...asking(refused), terminal: 200, env });
  expect(stderr).toBe(`error: duplicate series ${escaped}\n`);
});

test('statistics and the path of execution are printed on stderr', async () => {
  const answer = {
    data: { ...vector.data, stats: { timings: { evalTotalTime: 0.0012 }, samples: { peakSamples: 7 } } },
    explain: {
      path: 'agg',
      fallbacks: [],
      plan: ['sum: pushed'],
      fragments: [{ nodes: [{ node: 'a', elapsedMs: 3 }] }],
    },
  };
  const { stderr } = await runPluginHere(['query', 'up', '--explain', '--stats'], asking(answer));
  expect(stderr).toBe('executed: agg\n  sum: pushed\n  a: 3 ms\nstats: evalTotalTime 1.2 ms\nstats: peakSamples 7\n');
});

test('an answer that is not from a query server is reported as such', async () => {
  const { code, stderr } = await runPluginHere(['query', 'up'], { answer: () => ({ status: 404, text: '<html>' }) });
  expect(code).toBe(1);
  expect(stderr).toBe('error: https://query.test: 404 <html>\n  is this the address of a query server?\n');
});
