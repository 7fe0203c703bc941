/** Checks of many edits of a monitor, against a real kubelet, whose back-off after a crash grows to minutes. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Condition } from '../../src/api/meta.ts';
import { until } from '../../src/testing/until.ts';
import type { Check, Stage } from './check.ts';
import { podsOf } from './product.ts';
import { runPods, watchWeb } from './shop.ts';

/**
 * An edit takes effect within this time after it was made or, if edits are gathered to save restarts, after the
 * gathering ends. Units: ms.
 */
const limitMs = 20_000;
/** The longest gathering: until a namespace may cause one more restart of the instrument. Units: ms. */
const gatheringMs = 130_000;
const monitorPath = '/apis/svc.dev/v1alpha1/namespaces/shop/trafficmonitors/web';

interface Monitor {
  metadata: { generation: number };
  status?: {
    observedGeneration?: number;
    failedNodes?: { reason: string; message: string }[];
    conditions?: Condition[];
  };
}

const read = (stage: Stage): Promise<Monitor> => stage.api.request<Monitor>('GET', monitorPath);
const programmedOf = (monitor: Monitor): Condition | undefined =>
  monitor.status?.conditions?.find((c) => c.type === 'Programmed');

const port = (n: number): number => 9_000 + n;

async function edit(stage: Stage, n: number): Promise<number> {
  const monitor = {
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'TrafficMonitor',
    metadata: { namespace: 'shop', name: 'web' },
    spec: { selector: { matchLabels: { app: 'web' } }, ports: [{ port: 8_080 }, { port: port(n) }] },
  };
  const path = `${monitorPath}?fieldManager=e2e&force=true`;
  const { metadata } = await stage.api.request<Monitor>('PATCH', path, monitor, {
    contentType: 'application/apply-patch+yaml',
  });
  return metadata.generation;
}

/** True when this generation, or a later one, is in force. */
function inForce(monitor: Monitor, generation: number): boolean {
  const row = programmedOf(monitor);
  return row?.status === 'True' && (row.observedGeneration ?? 0) >= generation;
}

/** The time in the status until which edits are gathered; null if it has none. Units: ms since the epoch. */
function gatheredUntil(monitor: Monitor): number | null {
  const time = /the next restart is at (\S+Z)/.exec(programmedOf(monitor)?.message ?? '')?.[1];
  // The status has whole seconds, so the gathering may last up to a second longer.
  return time === undefined ? null : Date.parse(time) + 1_000;
}

export interface Edit {
  readonly generation: number;
  readonly at: number;
  /** The end of gathering that the status stated last before the edit took effect. */
  stated: number | null;
  done: number | null;
}

/** How long it took until an edit was in force: from when it was made, or from the stated end of gathering. */
export const tookMs = ({ at, stated, done }: Edit): number => Math.max(0, done! - Math.max(at, stated ?? 0));

async function restartsOfInstrument(stage: Stage): Promise<number> {
  const agents = await podsOf(stage.api, 'svc-system', 'app.kubernetes.io/component=agent');
  const all = agents.flatMap((pod) => pod.status.containerStatuses ?? []);
  return all.filter((c) => c.name === 'instrument').reduce((sum, c) => sum + c.restartCount, 0);
}

/** The file that the running instrument was started with, read on the node. */
async function runningFile(stage: Stage): Promise<string> {
  const [agent] = await podsOf(stage.api, 'svc-system', 'app.kubernetes.io/component=agent');
  const volumes = join(stage.dir, 'kubelet/pods', agent!.metadata.uid, 'volumes/kubernetes.io~empty-dir');
  const folder = readdirSync(volumes).find((name) => readdirSync(join(volumes, name)).includes('state.json'));
  return readFileSync(join(volumes, folder!, 'config.yaml'), 'utf8');
}

export const edits: readonly Check[] = [
  {
    what: 'edits in a row each take effect in time, none is reported as failed, and no container restarts',
    async run(stage) {
      const { edits: count, editSeconds } = stage.orders;
      await runPods(stage.kubectl, 'shop', 'web', 'client');
      await watchWeb(stage.kubectl);
      const first = await edit(stage, 0);
      await until('the monitor is in force', async () => inForce(await read(stage), first), { timeoutMs: 120_000 });
      const restarts = await restartsOfInstrument(stage);

      const made: Edit[] = [];
      const began = Date.now();
      const nextAt = (): number => began + (made.length * editSeconds * 1_000) / count;
      while (made.length < count || made.some(({ done }) => done === null)) {
        if (made.length < count && Date.now() >= nextAt()) {
          const at = Date.now();
          made.push({ generation: await edit(stage, made.length + 1), at, stated: null, done: null });
        }
        const monitor = await read(stage);
        const [failed] = monitor.status?.failedNodes ?? [];
        if (failed) throw new Error(`declared failed: ${failed.reason} ${failed.message}`);
        const until = gatheredUntil(monitor);
        for (const each of made.filter(({ done }) => done === null)) {
          if (until !== null) each.stated = until;
          if (inForce(monitor, each.generation)) each.done = Date.now();
          else if (Date.now() > each.at + gatheringMs + 2 * limitMs) {
            throw new Error(`generation ${each.generation} is not in force: ${programmedOf(monitor)?.message}`);
          }
        }
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
      const took = made.map(tookMs).sort((a, b) => a - b);
      const p95 = took[Math.ceil(took.length * 0.95) - 1]!;
      const waited = made.filter(({ stated }) => stated !== null).length;
      const message = programmedOf(await read(stage))?.message ?? '';
      const seen = `p95 ${(p95 / 1_000).toFixed(1)} s of ${count}, ${waited} gathered; ${message}`;
      if (p95 > limitMs) throw new Error(seen);
      const more = (await restartsOfInstrument(stage)) - restarts;
      if (more > 0) throw new Error(`${more} restarts of the container; ${seen}`);
      if (!(await runningFile(stage)).includes(String(port(count))))
        throw new Error('the newest port is not in the file');
      if (!/paused capture for \d+\.\d s/.test(message)) throw new Error(`no gap is stated: ${message}`);
      return seen;
    },
  },
  {
    what: 'the store on the node belongs to the agent, and other users of the node cannot read its configuration',
    async run() {
      const path = '/var/lib/svc-agent/capture-config.json';
      const { uid, mode } = await until('the configuration is stored', async () => statSync(path));
      const bits = (mode & 0o777).toString(8);
      if (uid !== 65_532 || bits !== '640') throw new Error(`${path}: uid ${uid}, mode ${bits}`);
      return `${path}: uid ${uid}, mode ${bits}`;
    },
  },
];
