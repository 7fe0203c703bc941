/** The product's NetworkPolicies, enforced: each connection listed here is tried with packets between real pods. */
import { until } from '../../src/testing/until.ts';
import { collectorNamespace } from './check-access.ts';
import type { Check, Stage } from './check.ts';
import { podsOf } from './product.ts';
import { runPods } from './shop.ts';
import { nodeAddress } from './surroundings.ts';

interface End {
  readonly namespace: string;
  readonly selector: string;
  readonly container?: string;
}

const ours = (component: string, namespace = 'svc-system'): End => ({
  namespace,
  selector: `app.kubernetes.io/component=${component}`,
  container: component,
});
const pod = (namespace: string, app: string): End => ({ namespace, selector: `app=${app}` });

const ends = {
  agent: ours('agent'),
  query: ours('query'),
  operator: ours('controller'),
  minter: ours('minter', 'platform-agent'),
  collector: pod(collectorNamespace, 'collector'),
  stranger: pod('shop', 'client'),
  neighbour: pod('svc-system', 'debug'),
  caller: pod('platform-agent', 'platform-agent'),
  other: pod('platform-agent', 'other'),
  namesake: pod('shop', 'platform-agent'),
  impostor: pod('shop', 'svc-controller'),
  scraper: pod('platform-agent', 'prometheus'),
  /** An address outside of all pods: the kubelet and the servers outside of the cluster listen there. */
  outside: null,
} as const;
type Name = keyof typeof ends;

/** From, to, port. Each port has a listener, so a connection that fails was refused by a policy. */
const allowed: readonly [Name, Name, number][] = [
  ['collector', 'agent', 9_090],
  ['collector', 'query', 9_096],
  ['collector', 'operator', 8_080],
  ['query', 'agent', 9_091],
  ['query', 'agent', 9_092],
  ['operator', 'agent', 9_091],
  ['operator', 'agent', 9_093],
  ['stranger', 'query', 9_095],
  ['stranger', 'query', 6_443],
  ['operator', 'agent', 9_092],
  ['caller', 'minter', 8_080],
  ['operator', 'minter', 9_090],
  ['scraper', 'minter', 9_090],
  ['minter', 'outside', 443],
  // A pod of others in our namespace is theirs to protect.
  ['stranger', 'neighbour', 8_080],
];
const denied: readonly [Name, Name, number][] = [
  ['stranger', 'agent', 9_090],
  ['neighbour', 'agent', 9_090],
  ['stranger', 'agent', 9_091],
  ['collector', 'agent', 9_091],
  ['stranger', 'agent', 9_092],
  ['collector', 'agent', 9_092],
  ['stranger', 'agent', 9_093],
  ['impostor', 'agent', 9_093],
  // The stand-in of the instrument takes OTLP on this port. The agent's own receivers listen on loopback only.
  ['stranger', 'agent', 14_318],
  ['collector', 'agent', 9_093],
  ['query', 'agent', 9_093],
  ['query', 'operator', 8_080],
  ['stranger', 'operator', 8_080],
  ['stranger', 'query', 9_096],
  ['other', 'minter', 8_080],
  ['namesake', 'minter', 8_080],
  ['caller', 'minter', 9_090],
  ['operator', 'minter', 8_080],
  ['minter', 'caller', 8_080],
  ['minter', 'outside', 10_250],
];

async function connect(stage: Stage, from: Name, to: Name, port: number): Promise<boolean> {
  const one = async (end: End | null): Promise<{ name: string; ip: string }> => {
    if (end === null) return { name: '', ip: nodeAddress };
    const { namespace, selector } = end;
    const found = await podsOf(stage.api, namespace, selector);
    const running = found.find(({ metadata, status }) => status.podIP && !metadata.deletionTimestamp);
    if (!running) throw new Error(`no pod ${namespace} ${selector}`);
    return { name: running.metadata.name, ip: running.status.podIP! };
  };
  const [source, target] = await Promise.all([one(ends[from]), one(ends[to])]);
  const script = `const s = require('net').connect({ host: '${target.ip}', port: ${port}, timeout: 2000 });
    const end = (word) => { console.log(word); s.destroy(); };
    s.on('connect', () => end('open')).on('timeout', () => end('closed')).on('error', () => end('closed'));`;
  const { container, namespace } = ends[from] as End;
  const inside = container === undefined ? [] : ['-c', container];
  const seen = await stage.kubectl(['-n', namespace, 'exec', source.name, ...inside, '--', 'node', '-e', script]);
  return seen.trim() === 'open';
}

export const policies: readonly Check[] = [
  {
    what: 'with policies enforced, every connection that should be possible is possible, and no other',
    async run(stage) {
      const { kubectl, node } = stage;
      await runPods(kubectl, collectorNamespace, 'collector');
      await runPods(kubectl, 'svc-system', 'debug');
      await runPods(kubectl, 'platform-agent', 'platform-agent', 'other', 'prometheus');
      await runPods(kubectl, 'shop', 'client', 'platform-agent', 'svc-controller');
      await until(
        'the engine enforces them',
        async () => {
          if (!node.policyEngine.running) throw new Error(`it ended: ${node.policyEngine.logTail()}`);
          return !(await connect(stage, 'stranger', 'agent', 9_093));
        },
        { timeoutMs: 60_000 },
      );
      const wrong: string[] = [];
      for (const [table, wanted] of [
        [allowed, true],
        [denied, false],
      ] as const) {
        for (const [from, to, port] of table) {
          // A new pod can connect only after the engine has seen it.
          const right = await until('', async () => (await connect(stage, from, to, port)) === wanted, {
            timeoutMs: 8_000,
          }).catch(() => false);
          if (!right) wrong.push(`${from} ${wanted ? 'cannot reach' : 'reaches'} ${to}:${port}`);
        }
      }
      if (wrong.length > 0) throw new Error(wrong.join('; '));
      return `${allowed.length} allowed, ${denied.length} denied`;
    },
  },
];
