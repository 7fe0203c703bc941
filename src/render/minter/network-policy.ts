import type { KubeObject } from '../../api/meta.ts';
import type { MinterInput } from '../input.ts';
import { minterNames, minterObject } from './names.ts';
import { ports, selectorLabels } from '../names.ts';
import { namespacePeer, tcp } from '../network-policy.ts';
import type { NetworkPeer } from '../network-policy.ts';

/**
 * The sources of a pod's cloud identity: the metadata server, by its address on port 80, and with workload identity the
 * node-local server in front of it (port 988). Without these no token can be signed.
 */
const metadataServers: NetworkPeer[] = [
  { ipBlock: { cidr: '169.254.169.252/32' } },
  { ipBlock: { cidr: '169.254.169.254/32' } },
];

/** Which pods may request tokens from a minter, and which servers it may connect to. */
export function renderMinterNetworkPolicy(input: MinterInput): KubeObject {
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
