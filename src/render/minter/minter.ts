import type { KubeObject } from '../../api/meta.ts';
import type { MinterInput } from '../input.ts';
import { renderMinterDeployment, renderMinterDisruptionBudget, renderMinterService } from './deployment.ts';
import { minterNames, minterObject } from './names.ts';
import { catchAllKey, renderMinterRules } from './rules.ts';
import { serviceAccount } from '../rights/rbac.ts';
import { ports, selectorLabels } from '../names.ts';
import { namespacePeer, tcp, type NetworkPeer } from '../network-policy.ts';

/**
 * Every object of one MinterDeployment, all in its namespace and owned by it.
 * The objects can be applied in this order: the NetworkPolicy exists before the first pod.
 */
export function renderMinter(input: MinterInput): KubeObject[] {
  return [
    ...renderMinterAccount(input),
    ...renderMinterRulesMap(input),
    renderMinterNetworkPolicy(input),
    renderMinterService(input),
    ...renderMinterDisruptionBudget(input),
    renderMinterDeployment(input),
  ];
}

function renderMinterAccount({ minter }: MinterInput): KubeObject[] {
  const { create, annotations } = minter.spec.serviceAccount;
  if (!create) return [];
  const { name = '', namespace = '' } = minter.metadata;
  const account = serviceAccount(
    'minter',
    { namespace, name: minterNames(minter).serviceAccount },
    { instance: name, ...(annotations ? { annotations } : {}) },
  );
  const { ownerReferences } = minterObject('ServiceAccount', minter, name, {}).metadata;
  return [{ ...account, metadata: { ...account.metadata, ...(ownerReferences ? { ownerReferences } : {}) } }];
}

/** The ConfigMap of inline rules; rules that the spec refers to stay where they are. */
function renderMinterRulesMap({ minter }: MinterInput): KubeObject[] {
  const { inline } = minter.spec.rules;
  if (!inline) return [];
  const data = { [catchAllKey]: renderMinterRules(minter.spec, inline) };
  return [minterObject('ConfigMap', minter, minterNames(minter).rules, { data })];
}

/**
 * The sources of a pod's cloud identity: the metadata server, by its address on port 80, and with workload identity the
 * node-local server in front of it (port 988). Without these no token can be signed.
 */
const metadataServers: NetworkPeer[] = [
  { ipBlock: { cidr: '169.254.169.252/32' } },
  { ipBlock: { cidr: '169.254.169.254/32' } },
];

/** Which pods may request tokens from a minter, and which servers it may connect to. */
function renderMinterNetworkPolicy(input: MinterInput): KubeObject {
  const { spec } = input.minter;
  const name = minterNames(input.minter);
  const operator: NetworkPeer = {
    ...namespacePeer(input.operatorNamespace),
    podSelector: { matchLabels: selectorLabels('controller') },
  };
  const scrapers = spec.metrics?.allowedScrapers;
  return minterObject('NetworkPolicy', input.minter, name.networkPolicy, {
    spec: {
      podSelector: { matchLabels: selectorLabels('minter', name.deployment) },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        { from: [spec.allowedCallers], ports: tcp(ports.minter) },
        { from: [operator, ...(scrapers ? [scrapers] : [])], ports: tcp(ports.minterAdmin) },
      ],
      egress: [
        {
          ports: [
            { port: 53, protocol: 'UDP' },
            { port: 53, protocol: 'TCP' },
          ],
        },
        { ports: tcp(...httpsPorts(input)) },
        { to: metadataServers, ports: tcp(80, 988) },
      ],
    },
  });
}

/** 443 for the key service, and the ports of the platform and of the issuer's keys if they differ. */
function httpsPorts(input: MinterInput): number[] {
  const { vcs, issuer } = input.minter.spec;
  const own = [vcs.apiBaseURL, issuer.jwksURI].map((url) => Number(URL.parse(url)?.port || 443));
  return [...new Set([443, ...own])].sort((a, b) => a - b);
}
