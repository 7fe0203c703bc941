/**
 * Chaos for up to a quarter of an hour: faults one after the other, in an order that the seed decides, while known
 * numbers are sent and queried. An oracle judges every answer and, at the end, every stored sample.
 */
import { setTimeout as lasting } from 'node:timers/promises';
import type { Condition } from '../../../src/api/meta.ts';
import { Random } from '../../../src/testing/promql/random.ts';
import { until } from '../../../src/testing/until.ts';
import { openAsker, type Asker } from '../asker.ts';
import type { Check, Stage } from '../check.ts';
import { faults, shuffled, type Fault } from './faults.ts';
import { Meter } from '../meter.ts';
import { nodeName } from '../node.ts';
import { inventedOf, judge, lostOf, spread, type Sample } from './oracle.ts';
import { isReady, podsOf } from '../product.ts';
import { runPods, watchWeb } from '../shop.ts';

const route = '/chaos';
const series = `http_server_request_duration_count{http_route="${route}"}`;
/**
 * How long the product may take to recover. The kubelet's back-off after four kills is up to 80 s; the rest is for a
 * slow machine. Units: ms.
 */
const recoveryMs = 240_000;
/** A kubelet reports the end of a container within this time. Units: ms. */
const unnoticedMs = 3_000;

interface WithConditions {
  status?: { conditions?: Condition[] };
}

/** Checks that the product has recovered from a fault. Errors: one that names what has not recovered. */
async function whole(stage: Stage, asker: Asker, meter: Meter, pod: string, sentBefore: number): Promise<true> {
  const { api } = stage;
  for (const [namespace, count] of [
    ['svc-system', 5],
    ['platform-agent', 2],
  ] as const) {
    const ours = await podsOf(api, namespace, 'app.kubernetes.io/name=svc-operator');
    const unready = ours.filter((each) => !isReady(each)).map(({ metadata }) => metadata.name);
    if (unready.length > 0) throw new Error(`not ready: ${unready.join(', ')}`);
    if (ours.length !== count) throw new Error(`${ours.length} pods in ${namespace} in place of ${count}`);
  }
  const wanted = [
    ['clustertrafficpolicies/default', 'Ready'],
    ['namespaces/shop/trafficmonitors/web', 'Programmed'],
    ['namespaces/platform-agent/minterdeployments/minter', 'Ready'],
  ] as const;
  for (const [path, type] of wanted) {
    const { status } = await api.request<WithConditions>('GET', `/apis/svc.dev/v1alpha1/${path}`);
    const row = status?.conditions?.find((each) => each.type === type);
    if (row?.status !== 'True') throw new Error(`${path}: ${row?.reason} ${row?.message}`);
  }
  if (meter.acknowledged(pod) <= sentBefore) throw new Error('the agent has acknowledged nothing since');
  const { status, body } = await asker.query(series);
  if (status !== 200 || body.degraded) throw new Error(`query: ${status} ${body.error ?? body.missingNodes?.join()}`);
  return true;
}

interface Answers {
  right: number;
  degraded: number;
  none: number;
  readonly wrong: string[];
}

/** Queries once a second until `over` is aborted, and judges each answer. */
async function watch(asker: Asker, meter: Meter, pod: string, over: AbortSignal): Promise<Answers> {
  const seen: Answers = { right: 0, degraded: 0, none: 0, wrong: [] };
  while (!over.aborted) {
    const acknowledged = meter.acknowledged(pod);
    try {
      const { status, body } = await asker.query(series);
      if (status !== 200) throw new Error(`${status}`);
      // The samples that a new agent took before it knew the pods form a series of their own.
      const values = (body.data?.result ?? []).map(({ value }) => Number(value[1]));
      const value = values.length === 0 ? null : Math.max(...values);
      const answer = { isDegraded: body.degraded === true, missingNodes: body.missingNodes ?? [], value };
      const verdict = judge(answer, { acknowledged, newest: meter.newest(pod), nodes: [nodeName] });
      if (verdict === 'right' || verdict === 'degraded') seen[verdict]++;
      else seen.wrong.push(`${new Date().toISOString()} ${verdict}`);
    } catch {
      seen.none++;
    }
    await lasting(1_000);
  }
  return seen;
}

async function stored(asker: Asker, sinceMs: number): Promise<Sample[]> {
  const seconds = Math.ceil((Date.now() - sinceMs) / 1000) + 60;
  const { status, body } = await asker.query(`${series}[${seconds}s]`);
  if (status !== 200 || body.degraded) throw new Error(`the samples cannot be read: ${status} ${body.error}`);
  const rows = (body.data?.result ?? []) as unknown as { values: Sample[] }[];
  return rows.flatMap(({ values }) => values);
}

/**
 * Resolves to the time since which `holds` succeeds. It has to succeed for `unnoticedMs`, in which the API server may
 * not know yet that something broke. Units: ms since the epoch.
 */
async function settled(what: string, holds: () => Promise<true>): Promise<number> {
  let since: number | null = null;
  const lasts = async (): Promise<boolean> => {
    try {
      await holds();
    } catch (error) {
      since = null;
      throw error;
    }
    since ??= Date.now();
    return Date.now() - since > unnoticedMs;
  };
  await until(what, lasts, { timeoutMs: recoveryMs });
  return since!;
}

/** Causes faults until the time is over and each kind has run. Resolves to the recovery times by fault. Units: ms. */
async function trouble(stage: Stage, recovered: () => () => Promise<true>): Promise<Map<string, number[]>> {
  const { chaosSeconds, seed } = stage.orders;
  const random = new Random(seed);
  const times = new Map<string, number[]>();
  const end = Date.now() + chaosSeconds * 1_000;
  let order: Fault[] = shuffled(random);
  while (Date.now() < end || times.size < faults.length) {
    const fault = order.shift() ?? (order = shuffled(random)).shift()!;
    await fault.run(stage, random);
    const over = Date.now();
    const took = (await settled(`the product after: ${fault.name}`, recovered())) - over;
    times.set(fault.name, [...(times.get(fault.name) ?? []), took]);
    stage.log(`      ${fault.name}: whole again after ${(took / 1000).toFixed(1)} s`);
  }
  return times;
}

export const chaos: readonly Check[] = [
  {
    what: 'in a row of faults nothing acknowledged is lost, every answer is right or marked, and everything returns by itself',
    async run(stage) {
      const { orders, kubectl, log } = stage;
      await runPods(kubectl, 'shop', 'web');
      await watchWeb(kubectl);
      const [pod] = await podsOf(stage.api, 'shop', 'app=web');
      const name = pod!.metadata.name;
      const asker = await openAsker(stage);
      const began = Date.now();
      const meter = new Meter({ node: nodeName, route, everyMs: 500, pods: () => [pod!], step: () => 1 });
      const over = new AbortController();
      try {
        const recovered = (): (() => Promise<true>) => {
          const before = meter.newest(name);
          return () => whole(stage, asker, meter, name, before);
        };
        await until('the product is whole', () => whole(stage, asker, meter, name, 0), { timeoutMs: recoveryMs });
        log(`      seed ${orders.seed}, for ${orders.chaosSeconds} s`);
        const watched = watch(asker, meter, name, over.signal);
        const times = await trouble(stage, recovered);
        over.abort();
        const answers = await watched;
        meter.close();
        const sent = meter.sent.get(name) ?? [];
        const samples = await until('the samples', () => stored(asker, began));
        const lost = lostOf(sent, samples);
        const invented = inventedOf(sent, samples);
        const all = [...times.values()].flat();
        const { median, longest } = spread(all);
        const acknowledged = sent.filter(({ isAcknowledged }) => isAcknowledged).length;
        const seen = [
          `${all.length} faults, whole again after ${(median / 1000).toFixed(1)} s (median), ${(longest / 1000).toFixed(1)} s at most`,
          `${acknowledged} of ${sent.length} values acknowledged, ${lost.length} of them lost`,
          `${answers.right} answers right, ${answers.degraded} marked, ${answers.none} none, ${answers.wrong.length} wrong`,
        ].join('; ');
        if (lost.length > 0) throw new Error(`${seen}: first lost ${JSON.stringify(lost.slice(0, 3))}`);
        if (invented.length > 0) throw new Error(`${seen}: nobody sent ${JSON.stringify(invented.slice(0, 3))}`);
        if (answers.wrong.length > 0) throw new Error(`${seen}: ${answers.wrong.slice(0, 3).join('; ')}`);
        return seen;
      } finally {
        over.abort();
        meter.close();
      }
    },
  },
];
