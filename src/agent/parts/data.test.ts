import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '../../base/logger.ts';
import { readSettings } from '../../base/settings.ts';
import { type CaptureConfig, zeroConfig } from '../../capture/index.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { withoutRight } from '../../testing/without-right.ts';
import { labelsFromObject } from '../../tsdb/index.ts';
import { startConfig } from '../capture/start-config.ts';
import { emptyScope, type MetricsRequest, type Span, type TracesRequest } from '../otlp/model.ts';
import { createSelfMetrics } from '../self-metrics.ts';
import { type AgentSettings, agentSettingTable } from '../settings.ts';
import { openCapture } from './capture.ts';
import { Closing } from './closing.ts';
import { type AgentData, openData } from './data.ts';

const hour = 3_600_000;
const start = Date.UTC(2026, 0, 1);
const seed = zeroConfig({ node: 'node-1', ports: '8080', instrumentVersion: 'v0.10.0' });
const keeping = (metrics: CaptureConfig['retention']['metrics']): CaptureConfig => ({
  ...seed,
  retention: { ...seed.retention, metrics },
});

let dir: string;
let settings: AgentSettings;
let clock: FakeClock;
let lines: string[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'agent-parts-'));
  settings = readSettings(agentSettingTable, {
    flags: { nodeName: 'node-1', dataDir: join(dir, 'data'), instrumentConfig: join(dir, 'config.yaml') },
    env: {},
    prefix: 'SVC_',
  });
  clock = new FakeClock(start);
  lines = [];
});
afterEach(() => rmSync(dir, { recursive: true }));

/** The data of an agent that starts, works and ends. Resolves to where its first config came from. */
async function run(
  work: (data: AgentData, push: (config: CaptureConfig) => Promise<unknown>) => Promise<void>,
): Promise<string> {
  const logger = createLogger({ write: (line) => void lines.push(line) });
  const closing = new Closing(logger);
  const metrics = createSelfMetrics({ node: 'node-1', version: '1' });
  const refreshSelf = (): Promise<void> => Promise.resolve();
  const data = await openData(settings, { clock, logger, metrics, version: '1', closing, refreshSelf });
  const probe = (): Promise<null> => Promise.resolve(null);
  const { capture } = openCapture(settings, data, { clock, logger, closing, probe });
  const { config, source } = await startConfig(settings, logger);
  await capture.apply(config, source);
  await work(data, (pushed) => capture.apply(pushed, 'push'));
  await closing.inReverse();
  return source;
}

/** A request with a report of a flow. */
function flowRequest(): MetricsRequest {
  const timeNs = clock.now() * 1e6;
  const attributes = ['src.address', 'dst.address'].map((key) => ({ key, value: '10.0.0.9' }));
  const points = [{ attributes, startNs: timeNs, timeNs, noValue: false, value: 7, exemplars: [] }];
  const data = { kind: 'sum', temporality: 'delta', monotonic: true, points } as const;
  const metrics = [{ name: 'obi.network.flow.bytes', description: '', unit: '', data }];
  return { resources: [{ attributes: [], scopes: [{ scope: emptyScope, metrics }] }] };
}

/** A request with a call of a protocol that no rule can name. */
function spanRequest(): TracesRequest {
  const startNs = BigInt(clock.now()) * 1_000_000n;
  const span: Span = {
    ...{ traceId: '1'.repeat(32), spanId: '2'.repeat(16), parentSpanId: '', name: 'call', kind: 'client' },
    ...{ startNs, endNs: startNs + 1n, status: 'unset', statusMessage: '' },
    attributes: [{ key: 'rpc.system', value: 'onc_rpc' }],
  };
  return { resources: [{ attributes: [], scopes: [{ scope: emptyScope, spans: [span] }] }] };
}

test('a data directory without rights for the user of the agent ends the start with the remedy', async () => {
  mkdirSync(settings.dataDir);
  await withoutRight(settings.dataDir, async () => {
    await expect(run(() => Promise.resolve())).rejects.toMatchObject({
      code: 'ERR_STORE_WRITE',
      message: expect.stringMatching(/^data-dir .*EACCES.*; let the user of the agent read and write it/) as string,
    });
  });
});

test('the redaction of a config holds for flows in the stream', async () => {
  await run(async ({ consumer, ring }, push) => {
    await push({ ...seed, redaction: [{ labels: [{ name: 'src_address', action: 'Drop' }] }] });
    consumer.metrics(flowRequest(), 1);
    const { source, destination } = ring.at(0)!.flow!;
    expect([source, destination]).toEqual([{}, { address: '10.0.0.9' }]);
  });
});

const spoil = (name: string): void => writeFileSync(join(settings.dataDir, name), '{"version":2');

describe('an agent that cannot use its last good config', () => {
  test('keeps nothing that an instrument with an earlier file still sends, until a config comes', async () => {
    mkdirSync(settings.dataDir);
    spoil('capture-config.json');
    await run(async ({ consumer, mapper, ring }, push) => {
      const send = (): void => {
        expect(consumer.metrics(flowRequest(), 1).rejected).toBe(0);
        expect(consumer.traces(spanRequest(), 1).rejected).toBe(0);
      };
      send();
      expect([mapper.streams, ring.next]).toEqual([0, 0]);
      await push(seed);
      send();
      expect([mapper.streams, ring.next]).toEqual([1, 2]);
    });
  });

  test('keeps the queues of all exports until a config without their destinations comes', async () => {
    const queue = join(settings.dataDir, 'export/0123456789abcdef');
    mkdirSync(queue, { recursive: true });
    writeFileSync(join(queue, '00000001'), 'unsent');
    spoil('capture-config.json');
    const source = await run(async (_, push) => {
      expect(readdirSync(queue)).toEqual(['00000001']);
      await push(seed);
      expect(existsSync(queue)).toBe(false);
    });
    expect(source).toBe('parked');
  });

  test('keeps series for as long as that config said', async () => {
    expect(settings.retentionTime).toBe(24 * hour);
    await run(async ({ store }, push) => {
      await push(keeping({ timeMs: 168 * hour }));
      for (let minute = 0; minute < 300; minute += 10) {
        store.append(labelsFromObject({ __name__: 'm' }), clock.now(), minute);
        clock.jumpWall(600_000);
      }
      await store.commit();
      await store.maintain();
      expect(store.stats().blocks).toBe(2);
    });
    clock.jumpWall(48 * hour);
    /** A step of the clock counts for retention once it has lasted for an hour. */
    const upkeep = async ({ store }: AgentData): Promise<number> => {
      for (const ms of [0, 2 * hour]) {
        await clock.advance(ms);
        await store.maintain();
      }
      return store.stats().oldestMs ?? Infinity;
    };
    spoil('capture-config.json');
    expect(await run(async (data) => expect(await upkeep(data)).toBe(start))).toBe('parked');
    await run(async (data, push) => {
      await push(seed);
      expect(await upkeep(data)).toBeGreaterThan(start + 24 * hour);
    });
  });

  test('keeps series by its flags if the saved retention cannot be used either, and says so', async () => {
    mkdirSync(settings.dataDir);
    spoil('retention.json');
    expect(await run(() => Promise.resolve())).toBe('seed');
    expect(lines.join('')).toMatch(/saved retention cannot be used.*retention\.json/);
  });
});

test('the retention of the last good config is saved by a start, so that an upgrade needs no new config', async () => {
  await run((_, push) => push(keeping({ timeMs: 168 * hour })).then(() => {}));
  rmSync(join(settings.dataDir, 'retention.json'));
  await run(() => Promise.resolve());
  expect(existsSync(join(settings.dataDir, 'retention.json'))).toBe(true);
});
