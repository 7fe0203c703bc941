import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { createLogger } from '../../base/logger.ts';
import { captureHash, type CaptureConfig, zeroConfig } from '../../capture/index.ts';
import { withoutRight } from '../../testing/without-right.ts';
import { loadRetention, loadRunning, saveLastGood, saveRunning } from './last-good.ts';
import { startConfig } from './start-config.ts';

let dir: string;
let lines: { msg: string; hash?: string }[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'start-config-'));
  lines = [];
});
afterEach(() => rmSync(dir, { recursive: true }));

const pushed = zeroConfig({ node: 'n1', ports: '80', instrumentVersion: 'v0.10.0' });
const earlier: CaptureConfig = { ...pushed, generations: { 'TrafficMonitor/shop/m': 1 } };
const logger = createLogger({ write: (line) => void lines.push(JSON.parse(line)) });
const start = (change: { nodeName?: string; namespace?: string; hostNetwork?: boolean } = {}) =>
  startConfig(
    {
      nodeName: 'n1',
      namespace: 'svc-system',
      dataDir: dir,
      otlpBindAddress: '127.0.0.1',
      otlpHttpPort: 4318,
      obiInstrumentPorts: '80,443,8080,8443',
      hostNetwork: false,
      instrumentConfig: join(dir, 'config.yaml'),
      instrumentHealthSocket: '@svc-obi-health',
      instrumentVersion: 'v0.10.0',
      ...change,
    },
    logger,
  );
const messages = (): string[] => lines.map(({ msg }) => msg);
const damage = (name = 'capture-config.json'): void => writeFileSync(join(dir, name), '{"version":1');

test('an agent starts with the last good config; without one, with the built-in seed, which it logs', async () => {
  expect((await start()).source).toBe('seed');
  expect(messages()).toEqual([
    'discovery seeded: open_ports=80,443,8080,8443',
    expect.stringMatching(/^flows are off: .*spec\.network\.enabled: true/),
  ]);
  expect((await start({ namespace: 'observability' })).config.instrument.yaml).toContain(
    'k8s_namespace: observability',
  );
  await saveLastGood(dir, pushed);
  expect(await start()).toEqual({ config: pushed, source: 'disk' });
});

test('an agent that lacks the right to read sound files does not start, and the error names the file and the remedy', async () => {
  await saveLastGood(dir, pushed);
  const error = (name: string): object => ({
    code: 'ERR_STORE_WRITE',
    message: expect.stringMatching(`^data-dir ${dir}: .*EACCES: .*${name}.*; let the user of the agent read`) as string,
  });
  await withoutRight(dir, async () => {
    await expect(start()).rejects.toMatchObject(error('capture-config.json'));
    await expect(loadRunning(dir, 'n1', logger)).rejects.toMatchObject(error('capture-running.json'));
    await expect(loadRetention(dir, logger)).rejects.toMatchObject(error('retention.json'));
  });
  expect(lines).toEqual([]);
});

describe('an agent that cannot use the last good config', () => {
  test.each<[string, () => void | Promise<void>]>([
    ['is damaged', () => damage()],
    ['is of another version', () => writeFileSync(join(dir, 'capture-config.json'), '{"version":2}')],
    ['cannot be read', () => void mkdirSync(join(dir, 'capture-config.json'))],
    ['is for another node', () => saveLastGood(dir, { ...pushed, node: 'n2' })],
  ])('captures nothing when it %s, and says so instead of that discovery is seeded', async (_why, spoil) => {
    await spoil();
    const { config, source } = await start({ hostNetwork: true });
    expect(source).toBe('parked');
    const { discovery, metrics, network } = parse(config.instrument.yaml);
    expect(discovery.instrument).toEqual([{ k8s_namespace: 'svc-system', exports: [] }]);
    expect([metrics.features, network]).toEqual([['application'], undefined]);
    expect(messages()).toEqual([
      expect.stringMatching(/^last good capture config (cannot be used|is for another node)$/),
      'nothing is captured until the operator sends a config',
    ]);
  });

  test('starts with the config that the instrument last ran, where there is a record of it', async () => {
    damage();
    await saveRunning(dir, { config: earlier, held: false });
    // It deletes no data: the last good config may have had other destinations.
    expect(await start()).toEqual({ config: earlier, source: 'seed' });
    expect(lines.at(-1)).toMatchObject({
      msg: 'starting with the capture config that the instrument last ran',
      hash: captureHash(earlier),
    });
    damage('capture-running.json');
    await start();
    expect(messages().at(-1)).toBe('nothing is captured until the operator sends a config');
  });
});
