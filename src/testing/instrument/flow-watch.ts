import type { Attribute, Metric, NumberPoint } from '../../agent/otlp/model.ts';

/**
 * A TCP socket of this machine as `ss -tinpHO` shows it. `sent` and `received` count the bytes of payload since the
 * socket was opened.
 */
export interface Socket {
  readonly local: string;
  readonly peer: string;
  readonly pid: number;
  readonly sent: number;
  readonly received: number;
}

/** One end of a flow, as the real instrument's informer names it. */
export interface FlowEnd {
  readonly namespace: string;
  readonly pod: string;
  readonly node: string;
  readonly ownerName: string;
  readonly ownerType: string;
}

export interface FlowWatchOptions {
  /** The node whose flows are reported: those with an end on it. */
  readonly node: string;
  /** The attributes that the instrument's file selects; each is a name, or a pattern with one `*`. */
  readonly include: readonly string[];
  /** The pod that a process runs in. */
  readonly endOf: (pid: number) => Promise<FlowEnd | null>;
}

const established = /^ESTAB\s+\d+\s+\d+\s+(\S+)\s+(\S+).*?\bpid=(\d+)/;
const bytesSent = /\bbytes_sent:(\d+)/;
const bytesReceived = /\bbytes_received:(\d+)/;

/**
 * Reads what `ss -tinpHO` prints. Sockets that are not established, or have no process, are left out; missing counts
 * are 0. Pure.
 */
export function parseSockets(text: string): Socket[] {
  return text.split('\n').flatMap((line) => {
    const [, local = '', peer = '', pid] = established.exec(line) ?? [];
    if (pid === undefined) return [];
    const number = (name: RegExp): number => Number(name.exec(line)?.[1] ?? 0);
    const plain = (address: string): string => address.replace(/^\[::ffff:([\d.]+)\]/, '$1');
    const bytes = { sent: number(bytesSent), received: number(bytesReceived) };
    return [{ local: plain(local), peer: plain(peer), pid: Number(pid), ...bytes }];
  });
}

/**
 * Flows of TCP payload between processes of this machine, from the kernel's own counters of each socket.
 *
 * Both sockets of a connection are on this machine. The socket with the lower port counts as the server's; the real
 * instrument guesses the same. The bytes that the server received are the flow of direction `request`, the bytes that
 * it sent the flow of direction `response`.
 * Caveats: a connection that opens and ends between two looks is not seen, and headers of packets are not counted.
 */
export class FlowWatch {
  readonly #options: FlowWatchOptions;
  readonly #seen = new Map<string, Socket>();
  readonly #bytes = new Map<string, { attributes: Attribute[]; value: number }>();
  #startNs = 0;

  constructor(options: FlowWatchOptions) {
    this.#options = options;
  }

  /**
   * Adds the bytes since the last look. Looks up the pod of each process at most once, and only if the process sent or
   * received bytes.
   */
  async look(sockets: readonly Socket[], nowNs: number): Promise<void> {
    this.#startNs ||= nowNs;
    const byEnds = new Map(sockets.map((socket) => [`${socket.local} ${socket.peer}`, socket]));
    const asked = new Map<number, Promise<FlowEnd | null>>();
    const endOf = (pid: number): Promise<FlowEnd | null> => {
      const end = asked.get(pid) ?? this.#options.endOf(pid);
      asked.set(pid, end);
      return end;
    };
    for (const [key, server] of byEnds) {
      const client = byEnds.get(`${server.peer} ${server.local}`);
      if (!client || portOf(server.local) >= portOf(server.peer)) continue;
      const before = this.#seen.get(key);
      this.#seen.set(key, server);
      if (before && before.received === server.received && before.sent === server.sent) continue;
      // Fewer bytes between the same addresses mean a new connection, whose bytes count from 0.
      const known = before && before.received <= server.received && before.sent <= server.sent ? before : undefined;
      const ends = await Promise.all([endOf(client.pid), endOf(server.pid)]);
      if (!ends.some((end) => end?.node === this.#options.node)) continue;
      this.#add('request', ends[0], ends[1], server.received - (known?.received ?? 0));
      this.#add('response', ends[1], ends[0], server.sent - (known?.sent ?? 0));
    }
    for (const key of this.#seen.keys()) if (!byEnds.has(key)) this.#seen.delete(key);
  }

  /** The counters so far, as the real instrument sends them; null while there are none. */
  metric(nowNs: number): Metric | null {
    const points = [...this.#bytes.values()].map(({ attributes, value }): NumberPoint => ({
      startNs: this.#startNs,
      timeNs: nowNs,
      noValue: false,
      exemplars: [],
      value,
      attributes,
    }));
    if (points.length === 0) return null;
    return {
      name: 'obi.network.flow.bytes',
      description: 'total bytes_sent value of network flows observed by probe since its launch',
      unit: '{bytes}',
      data: { kind: 'sum', temporality: 'cumulative', monotonic: true, points },
    };
  }

  #add(direction: string, from: FlowEnd | null, to: FlowEnd | null, bytes: number): void {
    if (bytes <= 0) return;
    const whole = [['direction', direction], ['transport', 'TCP'], ...endOf('src', from), ...endOf('dst', to)];
    const attributes = whole
      .filter(([key, value]) => value !== '' && this.#options.include.some((one) => covers(one, key!)))
      .map(([key, value]) => ({ key: key!, value: value! }));
    const id = JSON.stringify(attributes);
    const flow = this.#bytes.get(id) ?? { attributes, value: 0 };
    flow.value += bytes;
    this.#bytes.set(id, flow);
  }
}

function endOf(side: 'src' | 'dst', end: FlowEnd | null): string[][] {
  return [
    [`k8s.${side}.namespace`, end?.namespace ?? ''],
    [`k8s.${side}.name`, end?.pod ?? ''],
    [`k8s.${side}.type`, end ? 'Pod' : ''],
    [`k8s.${side}.owner.name`, end?.ownerName ?? ''],
    [`k8s.${side}.owner.type`, end?.ownerType ?? ''],
    [`k8s.${side}.node.name`, end?.node ?? ''],
  ];
}

function covers(pattern: string, key: string): boolean {
  const [start = '', end] = pattern.split('*');
  if (end === undefined) return pattern === key;
  return key.length >= start.length + end.length && key.startsWith(start) && key.endsWith(end);
}

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}
