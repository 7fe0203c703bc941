import { X509Certificate } from 'node:crypto';
import { until } from '../../src/testing/until.ts';
import type { Api } from './api.ts';
import type { Kubectl } from './kubectl.ts';

/**
 * A rotation of the product's CA, without the hours of waiting between its steps: the next step may begin once every
 * process has taken the one before.
 */
export interface CaRotation {
  /** Requests a new CA, and waits until every process trusts both CAs. */
  distribute(): Promise<void>;
  /** Makes the new CA sign, and waits until every process serves a certificate of it. */
  sign(): Promise<void>;
  /** Ends the trust in the old CA, and waits until no process trusts it any more. */
  retire(): Promise<void>;
}

const namespace = ['-n', 'svc-system'];
const core = '/api/v1/namespaces/svc-system';
const hours = 3_600_000;
/** Log lines about new certificates: the query server reads its own from a Secret, agents are sent theirs. */
const taken = /"certificate (?:reloaded|installed|authorities reloaded)"/;

/** A kubelet takes a minute or more to update a mounted Secret. Units: ms. */
const timeoutMs = 180_000;

/** Prepares a rotation; nothing changes until a step is called. */
export async function caRotation(api: Api, kubectl: Kubectl): Promise<CaRotation> {
  const raw = <T>(path: string): Promise<T> => api.request<T>('GET', path);
  const decoded = (base64: string): string => Buffer.from(base64, 'base64').toString();
  const secret = async (name: string): Promise<Record<string, string>> => {
    const { data } = await raw<{ data: Record<string, string> }>(`${core}/secrets/${name}`);
    return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, decoded(value)]));
  };
  const registered = async (): Promise<string> => {
    const path = '/apis/apiregistration.k8s.io/v1/apiservices/v1beta2.custom.metrics.k8s.io';
    const { spec } = await raw<{ spec: { caBundle?: string } }>(path);
    return decoded(spec.caBundle ?? '');
  };
  /** How often each process has taken new certificates, by its log. */
  const reloads = async (): Promise<Map<string, number>> => {
    const selector = encodeURIComponent('app.kubernetes.io/component in (agent,query)');
    const pods = await raw<{ items: { metadata: { name: string } }[] }>(`${core}/pods?labelSelector=${selector}`);
    const counts = pods.items.map(async ({ metadata: { name } }) => {
      const container = name.startsWith('svc-agent') ? '?container=agent' : '';
      const path = `${core}/pods/${name}/log${container}`;
      const log = await api.request<string>('GET', path, undefined, { raw: true, timeoutMs: 60_000 });
      return [name, log.split(taken).length - 1] as const;
    });
    return new Map(await Promise.all(counts));
  };
  const heard = async (what: string, before: ReadonlyMap<string, number>): Promise<void> => {
    await until(`every process has taken ${what}`, async () => Object.fromEntries(await reloads()), {
      good: (now) => [...before].every(([pod, count]) => (now[pod] ?? 0) > count),
      timeoutMs,
    });
  };
  const note = async (annotation: string): Promise<Map<string, number>> => {
    const before = await reloads();
    await kubectl([...namespace, 'annotate', 'secret', 'svc-ca', '--overwrite', annotation]);
    return before;
  };
  const longAgo = new Date(Date.now() - 48 * hours).toISOString();
  const old = (await secret('svc-ca'))['ca.crt']!;
  let next = '';
  return {
    async distribute() {
      const before = await note(`svc.dev/rotate-ca=${Date.now()}`);
      const made = await until('a new authority', () => secret('svc-ca'), {
        good: (data) => data['next.crt'] !== undefined,
      });
      next = made['next.crt']!;
      await until('trust in both', registered, { good: (bundle) => bundle.includes(next) && bundle.includes(old) });
      await heard('both authorities', before);
    },
    async sign() {
      const before = await note(`svc.dev/next-since=${longAgo}`);
      await until('a certificate of the new one', () => secret('svc-query-tls'), {
        good: (data) => new X509Certificate(data['tls.crt']!).verify(new X509Certificate(next).publicKey),
      });
      await heard('certificates of the new authority', before);
    },
    async retire() {
      const before = await note(`svc.dev/previous-since=${longAgo}`);
      await until('trust in the new one alone', registered, {
        good: (bundle) => bundle.includes(next) && !bundle.includes(old),
      });
      await heard('the new authority alone', before);
    },
  };
}
