import type { KubeObject } from '../../api/meta.ts';
import { AddressIndex, type AddressOwner, type IndexedPod } from './address-index.ts';
import { ownerOfHost } from './owner-of-host.ts';
import { indexedPod, indexedService, slimPod } from './watch-addresses.ts';

const minute = 60_000;
const start = 1_700_000_000_000;

const aPod = (name: string, over: Partial<IndexedPod> = {}): IndexedPod => ({
  ...{ namespace: 'shop', name, uid: `uid-${name}`, labels: {}, nodeName: 'node-1', containers: ['main'] },
  ...{ ips: ['10.0.0.1'], hostNetwork: false, fromMs: start, ended: false },
  ...over,
});
const ofDeployment = (name: string): Partial<IndexedPod> => ({
  labels: { 'pod-template-hash': 'abc', app: name },
  owner: { kind: 'ReplicaSet', name: `${name}-abc` },
});

const text = (owner: AddressOwner): string => {
  switch (owner.kind) {
    case 'pod':
      return `pod ${owner.pod.namespace}/${owner.pod.name} of ${owner.workload.kind} ${owner.workload.name}`;
    case 'workload':
      return `${owner.workload.kind} ${owner.workload.namespace}/${owner.workload.name}`;
    case 'service':
      return `service ${owner.service.namespace}/${owner.service.name}`;
    case 'unknown':
      return 'unknown';
    default:
      return `${owner.kind} ${owner.name}`;
  }
};

test('an address that moved from one pod to another belongs to each pod in its own time', () => {
  const index = new AddressIndex();
  index.setPod(aPod('old', ofDeployment('web')), start);
  index.deletePod(aPod('old'), start + 10 * minute);
  index.setPod(aPod('new', { fromMs: start + 20 * minute }), start + 20 * minute);
  const at = (minutes: number): string => text(index.at('10.0.0.1', start + minutes * minute));
  expect([-1, 0, 5, 15, 20, 30].map(at)).toEqual([
    'unknown',
    'pod shop/old of Deployment web',
    'pod shop/old of Deployment web',
    'unknown',
    'pod shop/new of Pod new',
    'pod shop/new of Pod new',
  ]);
});

test('a new pod with the name and address of another is a new owner', () => {
  const index = new AddressIndex();
  index.setPod(aPod('db-0', { uid: 'a' }), start);
  index.setPod(aPod('db-0', { uid: 'b', fromMs: start + 5 * minute, nodeName: 'node-2' }), start + 6 * minute);
  const nodeAt = (ms: number): string => {
    const owner = index.at('10.0.0.1', ms);
    return owner.kind === 'pod' ? owner.pod.nodeName : owner.kind;
  };
  expect([nodeAt(start + minute), nodeAt(start + 7 * minute)]).toEqual(['node-1', 'node-2']);
});

test('an ended pod gives up its address, and a pod on the host network has none', () => {
  const index = new AddressIndex();
  index.setNode({ name: 'node-1', ips: ['192.168.0.1'], podCidrs: ['10.0.0.0/16'] }, start);
  index.setPod(aPod('proxy', { hostNetwork: true, ips: ['192.168.0.1'] }), start);
  expect(text(index.at('192.168.0.1', start))).toBe('node node-1');
  index.setPod(aPod('job'), start);
  index.setPod(aPod('job', { ended: true }), start + minute);
  expect(text(index.at('10.0.0.1', start))).toBe('pod shop/job of Pod job');
  expect(text(index.at('10.0.0.1', start + minute))).toBe('unknown');
  index.setPod(aPod('next', { fromMs: start + 2 * minute }), start + 2 * minute);
  expect(text(index.at('10.0.0.1', start + 2 * minute))).toBe('pod shop/next of Pod next');
});

test.each([
  ['203.0.113.77', 'external 203.0.113.0/24'],
  ['2001:db8:12:3456::7', 'external 2001:db8:12:3400::/56'],
  ['2001:db8::7', 'external 2001:db8::/56'],
  ['::ffff:203.0.113.77', 'external 203.0.113.0/24'],
  ['198.51.100.9', 'external partner'],
  ['198.51.100.200', 'external partner-vpn'],
  ['10.244.3.4', 'unknown'],
  ['10.96.0.10', 'service kube-system/dns'],
  ['no address', 'unknown'],
  ['127.0.0.1', 'unknown'],
  ['127.8.0.1', 'unknown'],
  ['::1', 'unknown'],
  ['::ffff:127.0.0.1', 'unknown'],
  ['::ffff:7f00:1', 'unknown'],
  ['0.0.0.0', 'unknown'],
  ['::', 'unknown'],
  ['128.0.0.1', 'external 128.0.0.0/24'],
])('the owner of %s is %s', (address, owner) => {
  const index = new AddressIndex();
  index.setNode({ name: 'n', ips: ['192.168.0.1'], podCidrs: ['10.244.0.0/16', 'fd00:10::/48'] }, start);
  const dns = { namespace: 'kube-system', name: 'dns', ips: ['10.96.0.10'], selector: null, fromMs: start };
  index.setService(dns, start);
  index.setNamedBlocks([
    { cidr: '198.51.100.0/24', name: 'partner' },
    { cidr: '198.51.100.128/25', name: 'partner-vpn' },
    { cidr: 'nonsense', name: 'never' },
  ]);
  expect(text(index.at(address, start))).toBe(owner);
});

test.each([
  ['checkout', 'service shop/checkout'],
  ['checkout.shop', 'service shop/checkout'],
  ['CHECKOUT.shop.svc.cluster.local.', 'service shop/checkout'],
  ['web-1.checkout.shop.svc.cluster.local', 'pod shop/web-1 of Deployment web'],
  ['web', 'Deployment shop/web'],
  ['web.shop', 'Deployment shop/web'],
  ['vault.bank', 'Deployment bank/vault'],
  ['vault.bank.svc', 'unknown'],
  ['vault.shop', 'external vault.shop'],
  ['gone.shop.svc.cluster.local', 'unknown'],
  ['api.example.com', 'external api.example.com'],
  ['outgoing', 'unknown'],
  ['localhost', 'unknown'],
  ['127.0.0.1', 'unknown'],
  ['::1', 'unknown'],
  ['10.0.0.1', 'pod shop/web-1 of Deployment web'],
  ['10-0-0-1.shop.pod.cluster.local', 'pod shop/web-1 of Deployment web'],
  ['10-0-0-1.checkout.shop.svc.cluster.local', 'pod shop/web-1 of Deployment web'],
  ['fd00--1.shop.pod', 'pod shop/web-6 of Pod web-6'],
  ['10-244-9-9.shop.pod.cluster.local', 'unknown'],
  ['a-b.shop.svc.cluster.local', 'unknown'],
  ['vault', 'unknown'],
  ['10-0-0-7.bank.pod', 'pod bank/vault-1 of Deployment vault'],
  ['10-0-0-7.shop.pod', 'unknown'],
  ['10-0-0-7.checkout.shop.svc', 'unknown'],
  ['192-168-0-1.shop.pod', 'unknown'],
  ['203-0-113-9.shop.pod', 'unknown'],
])('a request from a pod of shop to %s goes to %s', (host, owner) => {
  const index = new AddressIndex();
  index.setPod(aPod('web-1', ofDeployment('web')), start);
  index.setPod(aPod('web-6', { ips: ['fd00::1'] }), start);
  index.setPod(aPod('vault-1', { ...ofDeployment('vault'), namespace: 'bank', ips: ['10.0.0.7'] }), start);
  index.setNode({ name: 'n', ips: ['192.168.0.1'], podCidrs: ['10.244.0.0/16'] }, start);
  const checkout = { namespace: 'shop', name: 'checkout', ips: [], selector: { app: 'web' }, fromMs: start };
  index.setService(checkout, start);
  expect(text(ownerOfHost(index, host, { namespace: 'shop', timeMs: start }))).toBe(owner);
});

const node = { name: 'node-1', ips: ['192.168.0.1'], podCidrs: [] };
const balanced = (name: string, fromMs = start) => {
  return { namespace: 'shop', name, ips: ['192.168.0.1'], selector: null, fromMs };
};

test('an address that a node and Services share is the node’s, whichever of them changed last', () => {
  const index = new AddressIndex();
  const seen: string[] = [];
  const look = (): void => void seen.push(text(index.at('192.168.0.1', start + minute)));
  for (let round = 0; round < 2; round++) {
    index.setNode(node, start);
    look();
    // More than the ended holdings that are kept of one address.
    for (let i = 0; i < 9; i++) index.setService(balanced(`web-${i}`), start);
    look();
  }
  index.deleteService(balanced('web-0'), start);
  look();
  expect(new Set(seen)).toEqual(new Set(['node node-1']));
  index.deleteNode('node-1', start + 2 * minute);
  expect(text(index.at('192.168.0.1', start + minute))).toBe('node node-1');
  expect(text(index.at('192.168.0.1', start + 3 * minute))).toMatch(/^service shop\/web-/);
});

test('of two Services with one address it is the newer’s, whichever of them changed last', () => {
  const index = new AddressIndex();
  const [older, newer] = [balanced('older'), balanced('newer', start + minute)];
  for (const one of [older, newer, older, newer, older]) index.setService(one, start + 2 * minute);
  const at = (minutes: number): string => text(index.at('192.168.0.1', start + minutes * minute));
  expect([0.5, 3].map(at)).toEqual(['service shop/older', 'service shop/newer']);
  index.deleteService(newer, start + 4 * minute);
  expect([3, 5].map(at)).toEqual(['service shop/newer', 'service shop/older']);
});

describe('an address that a Service only claims, as by externalIPs', () => {
  const claims = (...claimedIps: string[]) => {
    return { namespace: 'evil', name: 'all', ips: [], claimedIps, selector: null, fromMs: start + 2 * minute };
  };
  const named = { cidr: '198.51.100.0/24', name: 'partner' };

  test('stays that of the Service to which the cluster gave it, whichever is newer', () => {
    const index = new AddressIndex();
    index.setService(balanced('dns'), start);
    index.setService(claims('192.168.0.1'), start + 2 * minute);
    expect(text(index.at('192.168.0.1', start + 3 * minute))).toBe('service shop/dns');
    index.deleteService(balanced('dns'), start + 4 * minute);
    expect([3, 5].map((minutes) => text(index.at('192.168.0.1', start + minutes * minute)))).toEqual([
      'service shop/dns',
      'service evil/all',
    ]);
  });

  test('keeps the name that a policy gives its block, and else is the block’s before and after the Service', () => {
    const index = new AddressIndex();
    index.setNamedBlocks([named]);
    index.setService(claims('198.51.100.9', '203.0.113.9'), start + 2 * minute);
    index.deleteService(claims(), start + 4 * minute);
    const at = (address: string): string[] =>
      [1, 3, 5].map((minutes) => text(index.at(address, start + minutes * minute)));
    expect(at('198.51.100.9')).toEqual(['external partner', 'external partner', 'external partner']);
    expect(at('203.0.113.9')).toEqual(['external 203.0.113.0/24', 'service evil/all', 'external 203.0.113.0/24']);
  });

  test('is an own one when it is among the cluster addresses too, and is given up with the claim', () => {
    const object = (over: object): KubeObject =>
      ({ metadata: { name: 'web', namespace: 'shop' }, ...over }) as unknown as KubeObject;
    const service = indexedService(
      object({
        spec: { clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7', 'fd00::7'], externalIPs: ['10.96.0.7', '192.0.2.1'] },
        status: { loadBalancer: { ingress: [{ ip: '192.0.2.2' }, { hostname: 'lb' }, { ip: '192.0.2.1' }] } },
      }),
    );
    expect(service).toMatchObject({ ips: ['10.96.0.7', 'fd00::7'], claimedIps: ['192.0.2.1', '192.0.2.2'] });
    expect(indexedService(object({ spec: { clusterIP: 'None' } }))).toMatchObject({ ips: [], claimedIps: [] });
    const index = new AddressIndex();
    index.setService(service, start);
    index.setService({ ...service, claimedIps: ['192.0.2.2'] }, start + minute);
    expect(['10.96.0.7', '192.0.2.1', '192.0.2.2'].map((ip) => text(index.at(ip, start + 2 * minute)))).toEqual([
      'service shop/web',
      'external 192.0.2.0/24',
      'service shop/web',
    ]);
  });
});

test('a pod has its address before a node that has it later, and a node before one that follows it', () => {
  const index = new AddressIndex();
  index.setPod(aPod('old', { ips: ['192.168.0.1'] }), start);
  index.deletePod(aPod('old'), start + 2 * minute);
  index.setNode(node, start + 3 * minute);
  index.deleteNode('node-1', start + 5 * minute);
  index.setNode({ ...node, name: 'node-0' }, start + 6 * minute);
  const at = (minutes: number): string => text(index.at('192.168.0.1', start + minutes * minute));
  expect([1, 4, 7].map(at)).toEqual(['pod shop/old of Pod old', 'node node-1', 'node node-0']);
});

test('an update of a pod that is about to end does not take its address back from the next pod', () => {
  const index = new AddressIndex();
  index.setPod(aPod('old'), start);
  index.setPod(aPod('new', { fromMs: start + minute }), start + minute);
  index.setPod(aPod('old', { labels: { late: 'true' } }), start + 2 * minute);
  const at = (minutes: number): string => text(index.at('10.0.0.1', start + minutes * minute));
  expect([0.5, 3].map(at)).toEqual(['pod shop/old of Pod old', 'pod shop/new of Pod new']);
});

test('many Services that end do not take an address from the node that had it before', () => {
  const index = new AddressIndex();
  for (let i = 0; i < 20; i++) index.setService(balanced(`web-${i}`), start);
  index.setNode(node, start);
  index.deleteNode('node-1', start + 2 * minute);
  for (let i = 0; i < 20; i++) index.deleteService(balanced(`web-${i}`), start + 3 * minute);
  const at = (minutes: number): string => text(index.at('192.168.0.1', start + minutes * minute));
  expect([at(1), at(2.5), at(4)]).toEqual(['node node-1', expect.stringMatching(/^service shop/), 'unknown']);
});

/** Seconds of CPU time of this process that `work` takes. */
function cpuSeconds(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

test('an address of very many Services is filled, asked for and given up without a walk over all of them', () => {
  const index = new AddressIndex();
  const services = Array.from({ length: 10_000 }, (_, i) => balanced(`web-${i}`, start + (i % 7) * 1_000));
  const owners = new Set<string>();
  const ask = (): unknown => owners.add(text(index.at('192.168.0.1', start + minute)));
  const used = cpuSeconds(() => {
    for (const service of services) {
      index.setService(service, start + minute);
      ask();
    }
    for (let i = 0; i < 10_000; i++) ask();
    for (const service of services) {
      ask();
      index.deleteService(service, start + 2 * minute);
    }
  });
  expect([...owners].every((owner) => /^service shop\/web-/.test(owner))).toBe(true);
  expect(used).toBeLessThan(2);
  expect(text(index.at('192.168.0.1', start + 3 * minute))).toBe('unknown');
});

test('who had an address of very many Services in the past is found without a walk over those that came later', () => {
  const index = new AddressIndex();
  for (let i = 0; i < 20_000; i++) index.setService(balanced(`web-${i}`, start + i * minute), start);
  index.setPod(aPod('late', { ips: ['192.168.0.1'], fromMs: start + 30_000 * minute }), start);
  const at = (minutes: number): string => text(index.at('192.168.0.1', start + minutes * minute));
  const asked = [1.5, 2, 10_000, 19_999, 25_000, 29_999.95, 30_000];
  expect([-1, ...asked].map(at)).toEqual([
    'unknown',
    ...[1, 2, 10_000, 19_999, 19_999].map((i) => `service shop/web-${i}`),
    ...['pod shop/late of Pod late', 'pod shop/late of Pod late'],
  ]);
  const used = cpuSeconds(() => {
    for (let i = 0; i < 30_000; i++) at(2);
  });
  expect(used).toBeLessThan(1);
});

test('a Service resolves to the only workload of its pods, or to none if they have several', () => {
  const index = new AddressIndex();
  const service = { namespace: 'shop', name: 'web', ips: [], selector: { app: 'web' }, fromMs: start };
  index.setService(service, start);
  expect(index.behind(service)).toBeUndefined();
  index.setPod(aPod('web-1', ofDeployment('web')), start);
  index.setPod(aPod('web-2', { ...ofDeployment('web'), ips: ['10.0.0.2'] }), start);
  expect(index.behind(service)).toEqual({ namespace: 'shop', kind: 'Deployment', name: 'web' });
  index.setPod(aPod('canary', { labels: { app: 'web' }, ips: ['10.0.0.3'] }), start);
  expect(index.behind(service)).toBeUndefined();
  expect(index.behind({ ...service, name: 'by-hand', selector: null })).toBeUndefined();
});

test('an address that was given up is forgotten after an hour', () => {
  const index = new AddressIndex();
  for (let i = 0; i < 500; i++) {
    const pod = aPod(`job-${i}`, { ips: [`10.0.${i >> 8}.${i & 255}`] });
    index.setPod(pod, start + i);
    index.deletePod(pod, start + i);
  }
  expect(index.size).toEqual({ pods: 0, services: 0, addresses: 500 });
  index.setPod(aPod('last'), start + 62 * minute);
  expect(index.size).toEqual({ pods: 1, services: 0, addresses: 1 });
});

test('what was given up while the clock was ahead is forgotten an hour after the clock was set back', () => {
  const index = new AddressIndex();
  const ahead = start + 24 * 60 * minute;
  index.setPod(aPod('old', ofDeployment('web')), ahead);
  index.deletePod(aPod('old'), ahead);
  const next = aPod('next', { ips: ['10.0.0.2'] });
  index.setPod(next, start);
  expect(text(index.at('10.0.0.1', start + minute))).toBe('unknown');
  expect(index.workloadNamed('web', 'shop')).toBeUndefined();
  index.setPod(next, start + 30 * minute);
  expect(index.size.addresses).toBe(2);
  index.setPod(next, start + 62 * minute);
  expect(index.size.addresses).toBe(1);
});

test('only the identifying fields of a pod are kept', () => {
  const pod = {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: {
      ...{ name: 'web-1', namespace: 'shop', uid: 'u', labels: { app: 'web' }, annotations: { big: 'x'.repeat(999) } },
      ...{ managedFields: [{ manager: 'kubelet' }], creationTimestamp: '2024-01-01T00:00:00Z' },
    },
    spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'i', env: [{ name: 'TOKEN', value: 'secret' }] }] },
    status: { phase: 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }], conditions: [] },
  } as unknown as KubeObject;
  const slim = JSON.stringify(slimPod(pod));
  expect(slim).not.toMatch(/xxx|secret|kubelet|conditions/);
  expect(indexedPod(slimPod(pod))).toEqual({
    ...aPod('web-1', { uid: 'u', labels: { app: 'web' }, ips: ['10.0.0.1', 'fd00::1'] }),
    fromMs: Date.parse('2024-01-01T00:00:00Z'),
  });
});

test('a pod has the containers and ports of its sidecars, and those of no init container that ends', () => {
  const container = (name: string, containerPort: number) => ({ name, image: 'i', ports: [{ containerPort }] });
  const pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web-1', namespace: 'shop', uid: 'u' } },
    spec: {
      initContainers: [container('migrate', 1), { ...container('proxy', 15_001), restartPolicy: 'Always' }],
      containers: [container('main', 8080)],
    },
  } as unknown as KubeObject;
  expect(indexedPod(slimPod(pod))).toMatchObject({
    containers: ['main', 'proxy'],
    ports: [
      { container: 'main', port: 8080 },
      { container: 'proxy', port: 15_001 },
    ],
  });
});
