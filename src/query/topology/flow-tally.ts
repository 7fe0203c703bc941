import { nodeLabel } from '../../api/labels.ts';
import type { TopologyGrouping } from '../../api/page/types.ts';
import type { Pacing } from '../../base/turns/turns.ts';
import type { End, Ends } from './ends.ts';

/**
 * The bytes that two ends exchange: `forth` from the client to the server, `back` the other way. Units: bytes per
 * second.
 */
export interface FlowPair {
  readonly client: End;
  readonly server: End;
  readonly transport: string;
  readonly forth: number;
  readonly back: number;
  /** Labels that select the series of `forth`; undefined when labels alone cannot select them. */
  readonly subject: Readonly<Record<string, string>> | undefined;
  /** The end whose node captured the rate in `forth`; undefined when neither end is a pod of the capturing node. */
  readonly local: Local;
}

/** Adding up one direction of a pair costs as much as reading 200 samples. */
const wayWork = 200;

type Local = 'src' | 'dst' | undefined;
type Capture = NonNullable<Local> | 'other';
type Labels = Readonly<Record<string, string>>;

/** One direction, as captured by the nodes of both ends. */
interface Way {
  readonly source: End;
  readonly target: End;
  readonly isResponse: boolean;
  readonly transport: string;
  readonly rates: Record<Capture, number>;
  /**
   * Labels of the pair, as captured at each end; null when it consists of several label sets, or when an owner has no
   * name.
   */
  readonly subjects: Partial<Record<Capture, Record<string, string> | null>>;
}

const ends = ['src', 'dst'];
const pairLabels = [
  ...['direction', 'transport'],
  ...ends.flatMap((end) => ['namespace', 'owner_name', 'owner_type'].map((what) => `k8s_${end}_${what}`)),
];
/** Labels that tell the pairs of a grouping apart in addition to their names. */
const moreLabels: Readonly<Record<TopologyGrouping, readonly string[]>> = {
  workload: [],
  namespace: [],
  node: [nodeLabel, ...ends.map((end) => `k8s_${end}_node_name`)],
};

/**
 * Adds up flows by their ends. A flow between two nodes is captured on both, and each agent adds its node's name to the
 * ends that are its own pods. One record counts: that of the sender's node, or of the receiver's when the sender's node
 * has no agent.
 */
export class FlowTally {
  readonly #ways = new Map<string, Way>();
  readonly #labels: readonly string[];

  constructor(by: TopologyGrouping) {
    this.#labels = [...pairLabels, ...moreLabels[by]];
  }

  add(labels: Labels, rate: number, ends: Ends): void {
    const [source, target] = [ends.flow(labels, 'src'), ends.flow(labels, 'dst')];
    const isResponse = labels['direction'] === 'response';
    const transport = (labels['transport'] || 'tcp').toLowerCase();
    const key = `${source.id}>${target.id}>${transport}>${isResponse}`;
    let way = this.#ways.get(key);
    if (!way) {
      const rates = { src: 0, dst: 0, other: 0 };
      this.#ways.set(key, (way = { source, target, isResponse, transport, rates, subjects: {} }));
    }
    const capture = localOf(labels) ?? 'other';
    way.rates[capture] += rate;
    const subject = Object.fromEntries(this.#labels.map((name) => [name, labels[name] ?? '']));
    const isNamed = (labels['k8s_src_owner_name'] ?? '') !== '' && (labels['k8s_dst_owner_name'] ?? '') !== '';
    const known = way.subjects[capture];
    if (known === undefined) way.subjects[capture] = isNamed ? subject : null;
    else if (known && this.#labels.some((name) => known[name] !== subject[name])) way.subjects[capture] = null;
  }

  async pairs(pacing: Pacing): Promise<FlowPair[]> {
    const pairs = new Map<string, FlowPair>();
    for (const { source, target, isResponse, transport, rates, subjects } of this.#ways.values()) {
      if (pacing.spend(wayWork)) await pacing.turn();
      const [client, server] = isResponse ? [target, source] : [source, target];
      const key = `${client.id}>${server.id}>${transport}`;
      const known = pairs.get(key) ?? {
        client,
        server,
        transport,
        forth: 0,
        back: 0,
        subject: undefined,
        local: undefined,
      };
      const local = rates.src > 0 ? 'src' : rates.dst > 0 ? 'dst' : undefined;
      const capture = local ?? 'other';
      const rate = rates[capture];
      pairs.set(
        key,
        isResponse
          ? { ...known, back: known.back + rate }
          : { ...known, forth: known.forth + rate, subject: subjects[capture] ?? undefined, local },
      );
    }
    return [...pairs.values()];
  }
}

/** The end that is a pod of the capturing node; the sender when both are. */
function localOf(labels: Labels): Local {
  const node = labels[nodeLabel];
  if (node === labels['k8s_src_node_name']) return 'src';
  return node === labels['k8s_dst_node_name'] ? 'dst' : undefined;
}
