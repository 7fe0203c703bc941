import { aMinterDeployment } from '../testing/builders/minter-deployment.ts';
import { mayConnect } from '../testing/network-policy.ts';
import type { Connection, End } from '../testing/network-policy.ts';
import {
  controllerDefaults,
  names,
  platformDefaults,
  renderController,
  renderInstallation,
  renderMinter,
  renderPlatform,
  selectorLabels,
} from './index.ts';
import type { Component } from './index.ts';

/** No network plugin runs in the tests, so an evaluator decides what the rendered policies allow. */

const policies = [
  ...renderController(controllerDefaults),
  ...renderPlatform({ ...platformDefaults, customMetrics: { register: true } }),
  ...renderMinter({
    minter: aMinterDeployment({
      vcs: { ...aMinterDeployment().spec.vcs, apiBaseURL: 'https://git.example:8443/api/v3' },
      metrics: { allowedScrapers: { podSelector: { matchLabels: { app: 'prometheus' } } } },
    }),
    operatorNamespace: 'svc-system',
  }),
];

const ours = (component: Component, instance?: string): End => ({
  namespace: component === 'minter' ? 'platform-agent' : 'svc-system',
  labels: selectorLabels(component, instance),
});
const pod = (namespace: string, app: string): End => ({ namespace, labels: { app } });
const agent = ours('agent');
const query = ours('query');
const controller = ours('controller');
const minter = ours('minter', 'minter');
const collector = pod('gmp-system', 'collector');
const stranger = pod('shop', 'checkout');
const neighbour: End = { namespace: 'svc-system', labels: { app: 'debug' } };
const remover: End = {
  namespace: 'svc-system',
  labels: { ...selectorLabels('agent'), 'app.kubernetes.io/component': names.dataRemoval },
};
const caller = pod('platform-agent', 'platform-agent');
const address = (ip: string): End => ({ ip });

const to = (from: End, target: End, port: number, protocol: 'TCP' | 'UDP' = 'TCP'): Connection => ({
  from,
  to: target,
  port,
  protocol,
});

test.each<[string, Connection]>([
  ['the managed collector scrapes an agent', to(collector, agent, 9090)],
  ['the managed collector reads the metrics of the query server', to(collector, query, 9096)],
  ['the managed collector reads the metrics of the operator', to(collector, controller, 8080)],
  ['the query server reads from an agent', to(query, agent, 9091)],
  ['the query server follows the spans of an agent', to(query, agent, 9092)],
  ['the operator pushes to an agent', to(controller, agent, 9093)],
  ['the operator reads from an agent', to(controller, agent, 9091)],
  ['a pod of any namespace asks the query server', to(stranger, query, 9095)],
  ['an API server on a host asks for custom metrics', to(address('192.168.1.10'), query, 6443)],
  ['an API server that runs as a pod asks for custom metrics', to(pod('kube-system', 'kube-apiserver'), query, 6443)],
  ['the operator follows the spans of an agent', to(controller, agent, 9092)],
  ['agents resolve names', to(agent, address('10.0.0.10'), 53, 'UDP')],
  ['the operator reads the API server', to(controller, address('10.0.0.1'), 443)],
  ['the platform agent asks the minter', to(caller, minter, 8080)],
  ['the operator reads the health of the minter', to(controller, minter, 9090)],
  ['an allowed scraper reads the metrics of the minter', to(pod('platform-agent', 'prometheus'), minter, 9090)],
  ['the minter resolves names', to(minter, address('10.0.0.10'), 53, 'UDP')],
  ['the minter resolves names at DNS pods of OpenShift', to(minter, pod('openshift-dns', 'dns-default'), 5353, 'UDP')],
  ['the minter gets long answers from them', to(minter, pod('openshift-dns', 'dns-default'), 5353)],
  ['the minter reaches the key service', to(minter, address('142.250.1.1'), 443)],
  ['the minter reaches the platform on its own port', to(minter, address('203.0.113.9'), 8443)],
  ['the minter asks the metadata server', to(minter, address('169.254.169.254'), 80)],
  ['the minter asks the metadata server of workload identity', to(minter, address('169.254.169.252'), 988)],
  ['agents reach the API server', to(agent, address('10.0.0.1'), 443)],
  ['a stranger reaches a pod of others in the namespace', to(stranger, neighbour, 80)],
])('allowed: %s', (_, connection) => {
  expect(mayConnect(policies, connection)).toBe(true);
});

test.each<[string, Connection]>([
  ['a stranger scrapes an agent', to(stranger, agent, 9090)],
  ['another pod of the namespace scrapes an agent', to(neighbour, agent, 9090)],
  ['the collector reads remotely from an agent', to(collector, agent, 9091)],
  ['a stranger reads from an agent', to(stranger, agent, 9091)],
  ['the query server configures an agent', to(query, agent, 9093)],
  ['a stranger configures an agent', to(stranger, agent, 9093)],
  ['a pod labelled svc-controller elsewhere configures an agent', to(pod('shop', 'svc-controller'), agent, 9093)],
  ['an agent reads from another', to(agent, agent, 9091)],
  ['a stranger sends OTLP to an agent', to(stranger, agent, 4318)],
  ['the collector follows spans', to(collector, agent, 9092)],
  ['the collector configures an agent', to(collector, agent, 9093)],
  ['a stranger follows spans', to(stranger, agent, 9092)],
  ['the query server asks the operator', to(query, controller, 8080)],
  ['an API server scrapes an agent', to(address('192.168.1.10'), agent, 9090)],
  ['a stranger sends OTLP over gRPC to an agent', to(stranger, agent, 4317)],
  ['an API server asks an agent for custom metrics', to(address('192.168.1.10'), agent, 6443)],
  ['an address outside asks the minter', to(address('203.0.113.9'), minter, 8080)],
  ['the minter connects to another pod of its namespace', to(minter, caller, 8080)],
  ['a stranger reads the health port of the query server', to(stranger, query, 9096)],
  ['a stranger reads the metrics of the operator', to(stranger, controller, 8080)],
  ['an address outside asks the query server', to(address('203.0.113.9'), query, 9095)],
  ['another pod of the namespace asks the minter', to(pod('platform-agent', 'other'), minter, 8080)],
  ['a platform agent of another namespace asks the minter', to(pod('shop', 'platform-agent'), minter, 8080)],
  ['the platform agent reads the metrics of the minter', to(caller, minter, 9090)],
  ['the operator asks the minter for tokens', to(controller, minter, 8080)],
  ['the minter talks plain HTTP to the world', to(minter, address('203.0.113.9'), 80)],
  ['the minter talks to another link-local address', to(minter, address('169.254.1.1'), 988)],
  ['a stranger reaches a pod of ours that no other policy selects', to(stranger, remover, 80)],
])('denied: %s', (_, connection) => {
  expect(mayConnect(policies, connection)).toBe(false);
});

test('every policy selects pods of ours alone, because others may have made the namespace', () => {
  const rendered = [...renderInstallation({ controller: controllerDefaults }), ...policies].filter(
    ({ kind }) => kind === 'NetworkPolicy',
  );
  expect(rendered.map(({ metadata }) => metadata.name)).toEqual(
    expect.arrayContaining(['svc-default-deny-ingress', names.agent, names.query]),
  );
  for (const { spec } of rendered)
    expect(spec).toMatchObject({ podSelector: { matchLabels: { 'app.kubernetes.io/name': 'svc-operator' } } });
});

describe('with a configured collector and range of API servers', () => {
  const collector = { namespace: 'monitoring', name: 'prometheus' };
  const settled = [
    ...renderController({ ...controllerDefaults, collector }),
    ...renderPlatform({
      ...platformDefaults,
      collector,
      customMetrics: { register: true },
      apiServerCidrs: ['10.0.0.0/28'],
    }),
  ];

  test.each<[string, boolean, Connection]>([
    ['the configured collector scrapes an agent', true, to(pod('monitoring', 'prometheus'), agent, 9090)],
    ['the default collector scrapes an agent', false, to(pod('gmp-system', 'collector'), agent, 9090)],
    ['the configured collector scrapes the operator', true, to(pod('monitoring', 'prometheus'), controller, 8080)],
    ['an API server of the configured range asks for custom metrics', true, to(address('10.0.0.3'), query, 6443)],
    ['another address asks for custom metrics', false, to(address('10.0.1.3'), query, 6443)],
    ['a pod asks for custom metrics', false, to(stranger, query, 6443)],
  ])('%s: allowed is %s', (_, allowed, connection) => {
    expect(mayConnect(settled, connection)).toBe(allowed);
  });

  test('without custom metrics no one can reach their port', () => {
    const off = [...renderController(controllerDefaults), ...renderPlatform(platformDefaults)];
    const callers = [
      address('192.168.1.10'),
      pod('kube-system', 'kube-apiserver'),
      stranger,
      neighbour,
      agent,
      controller,
    ];
    expect(callers.filter((from) => mayConnect(off, to(from, query, 6443)))).toEqual([]);
    // The other port of the query server stays open.
    expect(mayConnect(off, to(stranger, query, 9095))).toBe(true);
  });
});
