import { readdir, readFile } from 'node:fs/promises';

/**
 * The TCP ports on which the pods of this node listen, by pod uid, as `/proc` shows them where the pod shares the
 * host's process namespace. A pod of which no process is seen is not in the result: of it nothing is known.
 * Processes are put to pods by their cgroup, whose path names the pod's uid with dashes or underscores; one process
 * per pod is asked, since a pod shares one network.
 * Guarantees: a process that ends while it is looked at is passed over. Cost: one small file per process of the node.
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
    // An empty table still has its header: no table at all means that it may not be read.
    if (tables.some((table) => table !== '')) found.set(uid, new Set(tables.flatMap(portsOf)));
    if (found.size === uids.size) break;
  }
  return found;
}

function podUid(cgroup: string): string | null {
  const uid = /pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})/.exec(cgroup)?.[1];
  return uid?.replaceAll('_', '-') ?? null;
}

/** Local ports of sockets in state 0A (LISTEN). Form: proc_net_tcp of the kernel's documentation. */
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
