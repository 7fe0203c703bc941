import { OperatorError } from '../../../base/errors.ts';
import { silentLogger } from '../../../base/logger.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { until } from '../../../testing/until.ts';
import { FailureMemory, type RememberedFailure } from './failure-memory.ts';

const failure = (node: string, message = 'CAP_BPF'): RememberedFailure => ({
  node,
  pod: 'pod-1',
  reason: 'MissingCapability',
  message,
  yamlHash: 'sha256:1',
  hash: 'sha256:2',
});

/** A memory of the instrument's files that failed on nodes. `stored` is what the ConfigMap holds, or a read error. */
function aMemory(stored: unknown) {
  const clock = new FakeClock();
  const written: RememberedFailure[][] = [];
  const refusals: Error[] = [];
  const api = { stored };
  const memory = new FailureMemory({
    clock,
    logger: silentLogger,
    namespace: 'svc-system',
    client: {
      get: () =>
        api.stored instanceof Error
          ? Promise.reject(api.stored)
          : Promise.resolve({ data: { 'failures.json': api.stored } } as never),
      apply: (_resource, object) => {
        const refusal = refusals.pop();
        if (refusal) return Promise.reject(refusal);
        const { data } = object as unknown as { data: Record<string, string> };
        written.push(JSON.parse(data['failures.json']!) as RememberedFailure[]);
        return Promise.resolve(object);
      },
    },
  });
  return { memory, clock, written, refusals, api };
}
const signal = new AbortController().signal;
const apiError = (code: 'ERR_API_NOT_FOUND' | 'ERR_API_FORBIDDEN' | 'ERR_API_REQUEST') => new OperatorError(code, 'no');

test.each([
  ['no object', apiError('ERR_API_NOT_FOUND')],
  ['no permission to read it', apiError('ERR_API_FORBIDDEN')],
  ['an object edited by hand', '[{"node": 1}]'],
  ['an object that is not JSON', 'x'],
])('with %s, no failure is loaded', async (_what, stored) => {
  expect(await aMemory(stored).memory.load(signal)).toEqual([]);
});

test('stored failures are loaded, and not written again while they stay the same', async () => {
  const { memory, clock, written } = aMemory(JSON.stringify([failure('node-1')]));
  const before = await memory.load(signal);
  expect(before).toEqual([failure('node-1')]);
  memory.remember(before);
  await clock.advance(10_000);
  await memory.stop();
  expect(written).toEqual([]);
});

test('failures that release 0.1.0 wrote are read, although it named the hash of the file differently', async () => {
  const { yamlHash: yaml, ...rest } = failure('node-1');
  const { memory } = aMemory(JSON.stringify([{ ...rest, yaml }, failure('node-2')]));
  expect(await memory.load(signal)).toEqual([failure('node-1'), failure('node-2')]);
});

test('a stored failure also names the hash of the file as release 0.1.0 does, which rejects the record otherwise', async () => {
  const { memory, clock, written } = aMemory('[]');
  await memory.load(signal);
  memory.remember([failure('node-1'), { ...failure('node-2'), yamlHash: null }]);
  await until('the write', async () => {
    await clock.advance(100);
    return written.length > 0;
  });
  expect(written).toEqual([
    [
      { ...failure('node-1'), yaml: 'sha256:1' },
      { ...failure('node-2'), yamlHash: null, yaml: null },
    ],
  ]);
  const { memory: next } = aMemory(JSON.stringify(written[0]));
  expect(await next.load(signal)).toEqual([failure('node-1'), { ...failure('node-2'), yamlHash: null }]);
});

test('simultaneous failures are one write, sorted and with short messages; a failed write is retried', async () => {
  const { memory, clock, written, refusals } = aMemory('[]');
  await memory.load(signal);
  refusals.push(apiError('ERR_API_REQUEST'));
  memory.remember([failure('node-2', 'x'.repeat(900))]);
  memory.remember([failure('node-2', 'x'.repeat(900)), failure('node-1')]);
  await until('the first write', async () => {
    await clock.advance(100);
    return written.length > 0;
  });
  const yaml = 'sha256:1';
  expect(written).toEqual([
    [
      { ...failure('node-1'), yaml },
      { ...failure('node-2', 'x'.repeat(200)), yaml },
    ],
  ]);
  memory.remember([]);
  await until('the second write', async () => {
    await clock.advance(100);
    return written.length > 1;
  });
  expect(written[1]).toEqual([]);
});

test('the record of a cluster in which every node failed fits into a ConfigMap', async () => {
  const { memory, clock, written } = aMemory('[]');
  await memory.load(signal);
  const [pod, yamlHash] = ['u'.repeat(36), `sha256:${'1'.repeat(64)}`];
  const long = (i: number) => failure(`${i}`.padStart(253, 'n'), '"é'.repeat(450));
  memory.remember(
    Array.from({ length: 5_000 }, (_, i) => ({ ...long(i), pod, yamlHash, hash: yamlHash, reason: 'r'.repeat(20) })),
  );
  await until('the write', async () => {
    await clock.advance(100);
    return written.length > 0;
  });
  expect(written[0]!.length).toBeGreaterThan(500);
  expect(Buffer.byteLength(JSON.stringify(written[0]))).toBeLessThan(1_048_576);
});

test('a load waits for an unreachable API server: else a file that failed might be tried again', async () => {
  const { memory, clock, api } = aMemory(apiError('ERR_API_REQUEST'));
  let loaded: readonly RememberedFailure[] | undefined;
  const load = memory.load(signal).then((found) => (loaded = found));
  for (let i = 0; i < 5; i++) {
    await clock.advance(1_000);
  }
  expect(loaded).toBeUndefined();
  api.stored = JSON.stringify([failure('node-1')]);
  await until('its answer', async () => {
    await clock.advance(1_000);
    return loaded;
  });
  expect(await load).toEqual([failure('node-1')]);
});

test('a load that waits for the API server ends with its signal', async () => {
  const { memory, clock } = aMemory(apiError('ERR_API_REQUEST'));
  const ended = new AbortController();
  const load = memory.load(ended.signal);
  await clock.advance(1_000);
  ended.abort();
  expect(await load).toEqual([]);
});
