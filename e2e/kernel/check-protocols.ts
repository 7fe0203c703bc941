import type { InstrumentVersion } from '../../src/capture/index.ts';
import { until } from '../../src/testing/until.ts';
import type { Check } from './check.ts';
import { attached } from './check-requests.ts';
import type { Calls, Protocol } from './protocols.ts';
import type { KernelStage } from './stage.ts';
import { difference, type Counts } from './traffic.ts';

interface Protocols {
  readonly protocol: Protocol;
  readonly what: string;
  readonly calls: readonly Calls[];
  /** A call that is made first: when it is counted, the instrument watches the processes. Its count is not checked. */
  readonly warm: Calls;
  readonly metric: (version: InstrumentVersion) => string;
  readonly pod: string;
  /** The name under which a series is counted; empty for a series that the check does not count. */
  readonly nameOf: (labels: Readonly<Record<string, string>>) => string;
  /** The name under which a call is counted. */
  readonly named: (call: string) => string;
}

const verb = (call: string): string => call.split(' ')[0]!;
const ofSystem =
  (system: string) =>
  (labels: Readonly<Record<string, string>>): string =>
    labels['db_system_name'] === system ? (labels['db_operation_name'] ?? '') : '';

const databaseCalls = (): string => 'db_client_operation_duration_count';

const protocols: readonly Protocols[] = [
  {
    protocol: 'redis',
    what: 'commands of Redis are counted exactly by the client, by their names',
    calls: [
      { call: 'GET key', count: 12 },
      { call: 'SET key value', count: 7 },
    ],
    warm: { call: 'PING', count: 1 },
    ...{ metric: databaseCalls, pod: 'client', nameOf: ofSystem('redis'), named: verb },
  },
  {
    protocol: 'postgres',
    what: 'statements of SQL are counted exactly by the client, by their verbs',
    calls: [
      { call: 'SELECT name FROM carts', count: 9 },
      { call: 'INSERT INTO carts VALUES (1)', count: 4 },
    ],
    warm: { call: 'DELETE FROM warm', count: 1 },
    ...{ metric: databaseCalls, pod: 'client', nameOf: ofSystem('postgresql'), named: verb },
  },
  {
    protocol: 'grpc',
    what: "calls of gRPC are counted exactly by the server's side, by their methods",
    calls: [
      { call: '/shop.Cart/Add', count: 8 },
      { call: '/shop.Cart/List', count: 5 },
    ],
    warm: { call: '/shop.Cart/Warm', count: 1 },
    metric: (version) => (version === 'v0.9' ? 'rpc_server_duration_count' : 'rpc_server_call_duration_count'),
    pod: 'calls',
    nameOf: (labels) => labels['rpc_method'] ?? '',
    named: (call) => call,
  },
];

async function counted(stage: KernelStage, { metric, pod, nameOf }: Protocols): Promise<Counts> {
  const counts: Record<string, number> = {};
  for (const { labels, value } of await stage.series(metric(stage.orders.version), pod)) {
    const name = nameOf(labels);
    if (name !== '') counts[name] = (counts[name] ?? 0) + value;
  }
  return counts;
}

const each: readonly Check[] = protocols.map((one) => ({
  what: one.what,
  real: true,
  run: async (stage) => {
    const warm = one.named(one.warm.call);
    await until(
      `${one.warm.call} is counted`,
      async () => {
        await stage.call(one.protocol, [one.warm]);
        const found = await counted(stage, one);
        if (found[warm] === undefined) throw new Error(`counted are ${JSON.stringify(found)}`);
        return true;
      },
      stage.patience(20_000),
    );
    await stage.call(one.protocol, one.calls);
    const wanted = Object.fromEntries(one.calls.map(({ call, count }) => [one.named(call), count]));
    return until(
      'the counts',
      async () => {
        const { [warm]: _, ...found } = await counted(stage, one);
        const wrong = difference(wanted, found);
        if (wrong !== '') throw new Error(wrong);
        return JSON.stringify(found);
      },
      stage.patience(20_000),
    );
  },
}));

/** Protocols other than HTTP, which the instrument recognizes by the bytes that are sent. */
export const otherProtocols: readonly Check[] = [
  { what: 'the client is watched', real: true, run: (stage) => attached(stage, 'node') },
  ...each,
];
