import { isDeepStrictEqual } from 'node:util';
import type { KubeObject } from '../../src/api/meta.ts';
import { until } from '../../src/testing/until.ts';
import { mergePatch, type Api } from '../cluster/api.ts';
import { first, second } from './converters.ts';

/** Writes objects in one version of the API and reads them in the other, until it is stopped. */
export interface Traffic {
  /** Errors and wrong answers. A request that failed was repeated until it succeeded. */
  readonly failures: readonly string[];
  /** Objects written so far. */
  readonly written: number;
  /** Waits until `count` more objects are written. */
  more(count: number): Promise<void>;
  stop(): Promise<void>;
  /** The objects that differ from what was last written, and in which version. */
  compare(): Promise<string[]>;
}

const path = (version: string, name = ''): string =>
  `/apis/svc.dev/${version}/namespaces/shop/trafficmonitors${name && `/${name}`}`;
const selector = (name: string): object => ({ matchLabels: { app: name } });

/** The final spec of an object in each version. */
interface Expected {
  readonly name: string;
  readonly inVersion: Readonly<Record<string, object>>;
}

/** Starts three writers. Each makes one object after another, and repeats a failed request until it succeeds. */
export function startTraffic(api: Api): Traffic {
  const failures: string[] = [];
  const done: Expected[] = [];
  const stop = new AbortController();
  const ask = (method: string, at: string, body?: object): Promise<KubeObject> =>
    until(`${method} ${at}`, () =>
      api
        .request<KubeObject>(method, at, body, method === 'PATCH' ? { contentType: mergePatch } : {})
        .catch(async (error: Error & { reason?: string }) => {
          // The object was created although the answer was lost.
          if (error.reason === 'AlreadyExists') return await api.request<KubeObject>('GET', `${at}/${nameOf(body)}`);
          failures.push(error.message);
          throw error;
        }),
    );
  const see = async (version: string, name: string, spec: object): Promise<void> => {
    const read = await ask('GET', path(version, name));
    if (!isDeepStrictEqual(read['spec'], spec))
      failures.push(`${version} ${name} reads as ${JSON.stringify(read['spec'])}`);
  };
  const writeOne = async (name: string, index: number): Promise<void> => {
    const common = { mode: 'Capture', selector: selector(name) };
    const [writes, reads] = index % 2 === 0 ? [first, second] : [second, first];
    const made = { [first]: { ...common, suspend: true }, [second]: { ...common, state: 'Suspended' } };
    const of = (version: string, spec: object): object => ({
      apiVersion: `svc.dev/${version}`,
      kind: 'TrafficMonitor',
      metadata: { name, namespace: 'shop' },
      spec,
    });
    await ask('POST', path(writes), of(writes, made[writes]));
    await see(reads, name, made[reads]);
    // A field that the old version does not have must survive an edit in the old version.
    await ask('PATCH', path(second, name), { spec: { contact: `team-${index}` } });
    await ask('PATCH', path(first, name), { spec: { priority: index % 100 } });
    const inVersion = {
      [first]: { ...made[first], priority: index % 100 },
      [second]: { ...made[second], priority: index % 100, contact: `team-${index}` },
    };
    await see(first, name, inVersion[first]);
    await see(second, name, inVersion[second]);
    done.push({ name, inVersion });
  };
  const writers = Array.from({ length: 3 }, async (_, writer) => {
    for (let i = 0; !stop.signal.aborted; i++) await writeOne(`object-${writer}-${i}`, i);
  });
  const ended = Promise.all(writers);
  ended.catch((error: Error) => failures.push(error.message));
  return {
    failures,
    get written() {
      return done.length;
    },
    async more(count) {
      const enough = done.length + count;
      await until(`${enough} objects`, async () => done.length >= enough);
    },
    async stop() {
      stop.abort();
      await ended;
    },
    async compare() {
      const different: string[] = [];
      for (const version of [first, second]) {
        const { items } = await api.request<{ items: KubeObject[] }>('GET', path(version));
        const specs = new Map(items.map((item) => [item.metadata.name, item['spec']]));
        for (const { name, inVersion } of done) {
          if (!isDeepStrictEqual(specs.get(name), inVersion[version])) different.push(`${name} in ${version}`);
        }
        if (items.length !== done.length) different.push(`${items.length} in ${version}, ${done.length} were written`);
      }
      return different;
    },
  };
}

const nameOf = (body: object | undefined): string => (body as KubeObject).metadata.name!;
