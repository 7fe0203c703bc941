import { access, readdir, readFile } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import type { CaptureMonitorRule } from '../../capture/index.ts';
import type { Identity } from '../identity/identity.ts';
import type { SeriesMapper } from '../mapping/mapper.ts';
import type { CaptureState } from './capture-state.ts';
import type { CaptureFacts } from './obstacles.ts';

export interface FactSources {
  readonly settings: { readonly kernelCheck: boolean };
  readonly clock: Clock;
  readonly mapper: SeriesMapper;
  readonly identity: Identity;
  readonly capture: CaptureState;
}

/**
 * Gathers the facts that explain why the monitors in `idle` have no data: from the instrument's own metrics and from
 * the node.
 */
export async function captureFacts(
  idle: readonly CaptureMonitorRule[],
  { settings, clock, mapper, identity, capture }: FactSources,
): Promise<CaptureFacts> {
  const view = capture.instrument;
  const uidOf = (namespace: string, pod: string): string | undefined => identity.pod(namespace, pod)?.uid;
  const uids = idle
    .filter((rule) => rule.ports !== undefined)
    .flatMap((rule) => rule.pods.flatMap((pod) => uidOf(rule.namespace, pod) ?? []));
  const ports = uids.length > 0 ? await listeningPorts(new Set(uids)) : new Map<string, ReadonlySet<number>>();
  return {
    // A new config file may wait days for a restart. Until then the controller wants the instrument to run the old one.
    runningMs: view.up && view.process && !capture.awaitsRestart ? Math.max(0, clock.now() - view.process.startMs) : 0,
    kernel: settings.kernelCheck ? await kernelFault() : null,
    paranoid: settings.kernelCheck ? await perfEventParanoid() : null,
    attached: attachedProcesses(mapper),
    unplaced: mapper.unplaced,
    ports: (namespace, pod) => ports.get(uidOf(namespace, pod) ?? '') ?? null,
  };
}

/**
 * Number of processes that the instrument watches. The instrument omits the metric while it watches none, but still
 * reports other metrics about itself.
 */
export function attachedProcesses(mapper: SeriesMapper): number | null {
  const said = instrumentSum(mapper, '_instrumented_processes');
  return said ?? (instrumentSum(mapper, '_internal_build_info') === null ? null : 0);
}

/**
 * A metric of the instrument about itself, summed over its series; its name carries a prefix that depends on the build.
 * Null when there is none.
 */
export function instrumentSum(mapper: SeriesMapper, suffix: string): number | null {
  let sum: number | null = null;
  for (const { name, groups } of mapper.table.families.values()) {
    if (!name.endsWith(suffix)) continue;
    for (const { series } of groups.values()) for (const { total } of series) sum = (sum ?? 0) + total;
  }
  return sum;
}

/**
 * Describes in words what this kernel lacks for the capture of requests; null when it lacks nothing or cannot be
 * inspected.
 * Type information is a file in sysfs and kprobes are listed as an event source; both are readable without privileges.
 */
export async function kernelFault(sys = '/sys'): Promise<string | null> {
  const has = (path: string): Promise<boolean> =>
    access(`${sys}/${path}`).then(
      () => true,
      () => false,
    );
  if (!(await has('kernel')) || !(await has('bus/event_source/devices'))) return null;
  const missing = [
    ...((await has('bus/event_source/devices/kprobe')) ? [] : ['kprobes']),
    ...((await has('kernel/btf/vmlinux')) ? [] : ['type information (BTF)']),
  ];
  return missing.length === 0 ? null : `the kernel has no ${missing.join(' and no ')}`;
}

/** The kernel's `perf_event_paranoid` level, which restricts probes; null when it cannot be read. */
export async function perfEventParanoid(proc = '/proc'): Promise<number | null> {
  const level = Number.parseInt(await text(`${proc}/sys/kernel/perf_event_paranoid`));
  return Number.isNaN(level) ? null : level;
}

/**
 * The TCP ports on which the pods of this node listen, by pod uid, as `/proc` shows them if the agent's pod shares the
 * host's process namespace. A pod without a visible process is left out of the result: its ports are unknown. Processes
 * are matched to pods by their cgroup, whose path names the pod's uid with dashes or underscores; one process per pod
 * is read, since all containers of a pod share one network.
 * Guarantees: a process that ends during the scan is skipped.
 * Cost: one small file per process of the node.
 */
export async function listeningPorts(
  uids: ReadonlySet<string>,
  proc = '/proc',
): Promise<ReadonlyMap<string, ReadonlySet<number>>> {
  const found = new Map<string, ReadonlySet<number>>();
  for (const pid of await readdir(proc).catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue;
    const uid = podUid(await text(`${proc}/${pid}/cgroup`));
    if (uid === null || !uids.has(uid) || found.has(uid)) continue;
    const tables = await Promise.all(['tcp', 'tcp6'].map((name) => text(`${proc}/${pid}/net/${name}`)));
    // An empty table still has its header, so a missing table means that it may not be read.
    if (tables.some((table) => table !== '')) found.set(uid, new Set(tables.flatMap(portsOf)));
    if (found.size === uids.size) break;
  }
  return found;
}

function podUid(cgroup: string): string | null {
  const uid = /pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})/.exec(cgroup)?.[1];
  return uid?.replaceAll('_', '-') ?? null;
}

/** Local ports of sockets in state 0A (LISTEN). Format: `proc_net_tcp` in the kernel's documentation. */
function portsOf(table: string): number[] {
  return table.split('\n').flatMap((row) => {
    const [, local = '', , state] = row.trim().split(/\s+/);
    const port = Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16);
    return state === '0A' && port > 0 ? [port] : [];
  });
}

function text(path: string): Promise<string> {
  return readFile(path, 'utf8').catch(() => '');
}
