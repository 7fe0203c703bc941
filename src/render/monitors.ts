import type { KubeObject } from '../api/meta.ts';
import type { PlatformInput } from './input.ts';
import { names, selectorLabels } from './names.ts';
import type { Component } from './names.ts';
import { objectOf, ofComponent } from './objects.ts';
import { clusterRoleBinding, serviceAccount } from './rights/rbac.ts';

const interval = '30s';
const authorization = { type: 'Bearer', credentials: { name: names.scraperToken, key: 'token' } };

/**
 * The objects by which the Prometheus Operator scrapes us, for clusters that serve its kinds. Every port with metrics
 * requires a token, so there is an account that may get /metrics, and its token in a Secret that the monitors name.
 * NetworkPolicies admit scrapers from the namespace of the collector, which `--collector` names.
 */
export function renderMonitors(input: PlatformInput): KubeObject[] {
  const { monitors } = input;
  if (!monitors) return [];
  return [
    ...(monitors.pod || monitors.service ? renderScraper(input) : []),
    ...(monitors.pod ? [agentMonitor(input)] : []),
    ...(monitors.service
      ? [serviceMonitor(input, 'controller', 'metrics'), serviceMonitor(input, 'query', 'health')]
      : []),
  ];
}

function renderScraper({ namespace }: PlatformInput): KubeObject[] {
  const account = { namespace, name: names.scraper };
  const token = objectOf(
    'Secret',
    { component: 'agent', name: names.scraperToken, namespace },
    { type: 'kubernetes.io/service-account-token' },
  );
  token.metadata.annotations = { 'kubernetes.io/service-account.name': names.scraper };
  return [
    serviceAccount('agent', account),
    token,
    // Separate from svc-metrics-reader's own binding, so that this one is created and removed with the monitors.
    clusterRoleBinding('agent', names.scraper, [account], names.metricsReader),
  ];
}

function agentMonitor({ namespace }: PlatformInput): KubeObject {
  return objectOf('PodMonitor', ofComponent('agent', namespace), {
    spec: {
      selector: { matchLabels: selectorLabels('agent') },
      podMetricsEndpoints: [{ port: 'scrape', interval, authorization }],
    },
  });
}

function serviceMonitor({ namespace }: PlatformInput, component: Component, port: string): KubeObject {
  return objectOf(
    'ServiceMonitor',
    { component, name: component === 'query' ? names.query : names.controller, namespace },
    { spec: { selector: { matchLabels: selectorLabels(component) }, endpoints: [{ port, interval, authorization }] } },
  );
}
