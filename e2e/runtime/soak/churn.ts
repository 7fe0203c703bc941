import type { KubeObject } from '../../../src/api/meta.ts';
import { coreResources, type KubeClient } from '../../../src/kube/index.ts';
import { childLabel, parts, type Part } from './crd.ts';

const { configMaps } = coreResources;

/**
 * Makes random creates, updates and deletes of Parts (the soak's own kind), and edits their ConfigMaps as a stranger
 * would, over a fixed set of names.
 */
export class Churn {
  operations = 0;
  refused = 0;
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #names: number;
  readonly #random: () => number;

  constructor(options: { client: KubeClient; namespace: string; names: number; random: () => number }) {
    this.#client = options.client;
    this.#namespace = options.namespace;
    this.#names = options.names;
    this.#random = options.random;
  }

  /** Does one random operation. If that fails, as during a restart of the server, it is counted and not retried. */
  async once(): Promise<void> {
    const target = { namespace: this.#namespace, name: `p${this.#below(this.#names)}` };
    const options = { deadlineMs: 5_000, fieldManager: 'soak' };
    const child = { namespace: this.#namespace, name: `${target.name}-${this.#below(3)}` };
    const dice = this.#random();
    try {
      if (dice < 0.55) {
        const spec = { value: `v${this.#below(1_000_000)}`, count: this.#below(4) };
        const part = { apiVersion: parts.apiVersion, kind: parts.kind, metadata: target, spec } as Part;
        await this.#client.apply(parts, part, { ...options, force: true });
      } else if (dice < 0.75) await this.#client.delete(parts, target, options);
      else if (dice < 0.85) await this.#client.delete(configMaps, child, options);
      else {
        const body = dice < 0.95 ? { data: { value: 'drifted' } } : { metadata: { labels: { [childLabel]: null } } };
        await this.#client.patch<KubeObject>(configMaps, child, { type: 'merge', body }, options);
      }
      this.operations++;
    } catch {
      this.refused++;
    }
  }

  #below(n: number): number {
    return Math.floor(this.#random() * n);
  }
}

/** A repeatable sequence in [0, 1). Source: mulberry32, a public-domain generator. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
