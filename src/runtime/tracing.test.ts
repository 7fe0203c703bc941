import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/logger.ts';
import { coreResources } from '../kube/index.ts';
import { FakeClock } from '../testing/fake-clock.ts';
import { noFaults, runController } from '../testing/run-controller.ts';
import { openTracing, SpanPerRun, TerminalError } from './index.ts';

const { configMaps } = coreResources;
const options = {
  service: 'shop-operator',
  version: '1',
  instance: 'pod-0',
  environment: {},
  clock: systemClock,
  logger: silentLogger,
};

test('each reconcile has a span with kind, key, reason, attempt and result, and with its failure', async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' } };
  let runs = 0;
  const harness = await runController(
    (env) =>
      env.addController({
        name: 'maps',
        for: { source: { resource: configMaps } },
        reconcile() {
          runs++;
          if (runs === 1) return Promise.reject(new TypeError('a fault'));
          if (runs === 3) return Promise.reject(new TerminalError('never'));
          return Promise.resolve();
        },
      }),
    [object],
    noFaults,
    { manager: { tracer: new SpanPerRun(provider.getTracer('test'), new FakeClock()) } },
  );
  await harness.passUntil(() => runs === 2, 'the retry');
  harness.server.put(configMaps, { ...object, data: { x: '1' } });
  await harness.passUntil(() => runs === 3, 'the update');
  await harness.stop();
  const told = exporter.getFinishedSpans().map(({ name, attributes, status }) => ({
    name,
    ...attributes,
    failed: status.message,
  }));
  const common = { name: 'reconcile maps', controller: 'maps', kind: 'ConfigMap', key: 'shop/a' };
  expect(told).toEqual([
    expect.objectContaining({ ...common, reason: 'initial list', attempt: 0, result: 'error', failed: 'a fault' }),
    expect.objectContaining({ ...common, reason: 'retry', attempt: 1, result: 'success', failed: undefined }),
    expect.objectContaining({ ...common, reason: 'ConfigMap updated', attempt: 0, result: 'error' }),
  ]);
  expect(exporter.getFinishedSpans()[0]!.events[0]!.name).toBe('exception');
});

describe('the export', () => {
  let collector: Server;
  let base: string;
  let posted: { path: string | undefined; bytes: number }[];
  beforeEach(async () => {
    posted = [];
    collector = createServer((req, res) => {
      let bytes = 0;
      req.on('data', (chunk: Buffer) => (bytes += chunk.length));
      req.on('end', () => {
        posted.push({ path: req.url, bytes });
        res.end();
      });
    });
    await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    collector.closeAllConnections();
    collector.close();
  });
  const run = { controller: 'c', kind: 'K', key: 'a', reason: 'start', attempt: 0, reconcileID: 'id' };

  test.each([
    ['the setting', (): object => ({ endpoint: base }), '/v1/traces'],
    ['the setting with a path', (): object => ({ endpoint: `${base}/custom` }), '/custom'],
    ['the general variable', (): object => ({ environment: { OTEL_EXPORTER_OTLP_ENDPOINT: base } }), '/v1/traces'],
    [
      'the variable for traces',
      (): object => ({ environment: { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${base}/t` } }),
      '/t',
    ],
  ])('goes to the endpoint of %s, at the latest on close', async (_name, where, path) => {
    const tracing = await openTracing({ ...options, ...where() });
    tracing!.tracer.begin(run).end('success');
    await tracing!.close();
    expect(posted).toEqual([{ path, bytes: expect.any(Number) }]);
    expect(posted[0]!.bytes).toBeGreaterThan(50);
  });

  test('is off without an endpoint, and if the SDK is disabled', async () => {
    expect(await openTracing(options)).toBeUndefined();
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_SDK_DISABLED: 'true' };
    expect(await openTracing({ ...options, environment })).toBeUndefined();
  });

  test('does not wait on close once the spans are sent', async () => {
    const clock = new FakeClock();
    const tracing = await openTracing({ ...options, clock, endpoint: base });
    tracing!.tracer.begin(run).end('success');
    await tracing!.close();
    expect([posted.length, clock.pending]).toEqual([1, 0]);
  });

  test('a collector that hangs does not hold up the close', async () => {
    const clock = new FakeClock();
    collector.removeAllListeners('request');
    const tracing = await openTracing({ ...options, clock, endpoint: base });
    tracing!.tracer.begin(run).end('success');
    const closed = tracing!.close();
    await clock.advance(3_000);
    await expect(closed).resolves.toBeUndefined();
  });
});
