import type { KubeObject } from '../../api/meta.ts';
import { agentContainer, agentPorts, initConfigContainer } from './containers.ts';
import { instrumentAnnotations, instrumentContainer } from './instrument.ts';
import { everyNode } from './nodes.ts';
import { agentVolumes } from './volumes.ts';
import type { PlatformInput } from '../input.ts';
import { names, selectorLabels } from '../names.ts';
import { objectOf, ofComponent, servicePorts } from '../objects.ts';
import { podMetadata, pullSecrets, sharedVolumes } from '../pod-security.ts';

/**
 * The DaemonSet of the agents. It runs on every Linux node, whatever its taints, except virtual ones.
 * hostPID lets the instrument see the processes of the node and tell containers apart; the host's network is used only
 * where flows are captured, because NetworkPolicies do not apply to pods on it.
 */
export function renderAgentDaemonSet(input: PlatformInput): KubeObject {
  const labels = selectorLabels('agent');
  const pullPolicy = input.imagePullPolicy === undefined ? {} : { imagePullPolicy: input.imagePullPolicy };
  return objectOf('DaemonSet', ofComponent('agent', input.namespace), {
    spec: {
      selector: { matchLabels: labels },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: input.agentMaxUnavailable } },
      template: {
        metadata: podMetadata(labels, {
          'kubectl.kubernetes.io/default-container': 'agent',
          ...instrumentAnnotations(input),
        }),
        spec: {
          serviceAccountName: names.agent,
          automountServiceAccountToken: true,
          enableServiceLinks: false,
          hostPID: true,
          ...(input.hostNetwork ? { hostNetwork: true, dnsPolicy: 'ClusterFirstWithHostNet' } : {}),
          ...pullSecrets(input.imagePullSecrets),
          priorityClassName: names.agent,
          ...everyNode,
          // The instrument takes up to 10 s to detach its tracers; the agent then writes its last block.
          terminationGracePeriodSeconds: 30,
          securityContext: sharedVolumes,
          initContainers: [initConfigContainer(input, pullPolicy)],
          containers: [instrumentContainer(input, pullPolicy), agentContainer(input, pullPolicy)],
          volumes: agentVolumes(input),
        },
      },
    },
  });
}

/**
 * The agents' priority: above ordinary workloads, so that a full node is still observed; below the node's own
 * components.
 */
export function renderAgentPriorityClass(): KubeObject {
  return objectOf(
    'PriorityClass',
    { component: 'agent', name: names.agent },
    {
      value: 1_000_000,
      preemptionPolicy: 'PreemptLowerPriority',
      description: 'Node agents of svc-operator.',
    },
  );
}

/**
 * A headless Service. Its DNS name resolves to the addresses of all agents, also of those that are not ready, and it is
 * the name that all agents' certificates share.
 */
export function renderAgentService(input: PlatformInput): KubeObject {
  return objectOf('Service', ofComponent('agent', input.namespace), {
    spec: {
      clusterIP: 'None',
      publishNotReadyAddresses: true,
      selector: selectorLabels('agent'),
      ports: servicePorts(agentPorts),
    },
  });
}
