import type { KubeObject } from '../../api/meta.ts';
import { itemsOf, type ClusterView } from '../../bin/kubectl-svc/cluster/view.ts';
import type { PodWithStatus } from '../../bin/kubectl-svc/cluster/pod-fault.ts';
import type { NodeObject } from '../../controllers/capture/facts.ts';

/** The `now` of every `ClusterView` that is built here. */
export const viewTime = Date.parse('2026-06-01T12:00:00Z');

/** An object of any kind. `path` is `name` or `namespace/name`; `more` holds further members, `metadata` is merged. */
export function anObject(apiVersion: string, kind: string, path: string, more: object = {}): KubeObject {
  const [name = '', namespace] = path.split('/').toReversed();
  const { metadata, ...rest } = more as { metadata?: object };
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      uid: `uid-${name}`,
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...metadata,
    },
    ...rest,
  };
}

const ready = [{ type: 'Ready', status: 'True' }];

/** A pod that runs and is ready. */
export function aReadyPod(path: string, nodeName: string, more: object = {}): PodWithStatus {
  return anObject('v1', 'Pod', path, {
    spec: { nodeName, containers: [{ name: 'main' }] },
    status: { phase: 'Running', podIP: '10.0.0.1', conditions: ready },
    ...more,
  }) as PodWithStatus;
}

/** The pod of a component of the product. */
export function aComponentPod(component: string, name: string, nodeName: string, more: object = {}): PodWithStatus {
  const labels = { 'app.kubernetes.io/name': 'svc-operator', 'app.kubernetes.io/component': component };
  return aReadyPod(`svc-system/${name}`, nodeName, { metadata: { labels }, ...more });
}

export function aNode(name: string, labels: Record<string, string> = {}, status = 'True'): NodeObject {
  return anObject('v1', 'Node', name, {
    metadata: { labels: { 'kubernetes.io/os': 'linux', ...labels } },
    status: { conditions: [{ type: 'Ready', status }] },
  });
}

function aDeployment(name: string, args: readonly string[], replicas = 2): KubeObject {
  return anObject('apps/v1', 'Deployment', `svc-system/${name}`, {
    spec: { replicas, template: { spec: { containers: [{ name: 'controller', image: 'svc-operator:0.1.0', args }] } } },
    status: { observedGeneration: 1, replicas, readyReplicas: replicas, updatedReplicas: replicas },
  });
}

/** A condition of a status. */
export function aCondition(type: string, status: string, reason: string, message = ''): object {
  return { type, status, reason, message, observedGeneration: 1, lastTransitionTime: '2026-01-01T00:00:00Z' };
}

function aCrd(plural: string): KubeObject {
  return anObject('apiextensions.k8s.io/v1', 'CustomResourceDefinition', `${plural}.svc.dev`, {
    spec: { versions: [{ name: 'v1alpha1', served: true }] },
    status: { conditions: [{ type: 'Established', status: 'True' }] },
  });
}

function anApiService(name: string): KubeObject {
  return anObject('apiregistration.k8s.io/v1', 'APIService', name, {
    spec: { service: { name: 'svc-query', namespace: 'svc-system' } },
    status: { conditions: [{ type: 'Available', status: 'True' }] },
  });
}

/** A healthy cluster of two nodes. `more` states only what differs. */
export function aView(more: Partial<ClusterView> = {}): ClusterView {
  const view = bareView(more);
  const own = itemsOf(view.pods).filter(({ metadata }) => metadata.namespace === view.namespace);
  return { ...view, ownPods: more.ownPods ?? { items: own } };
}

function bareView(more: Partial<ClusterView>): Omit<ClusterView, 'ownPods'> {
  return {
    namespace: 'svc-system',
    now: viewTime,
    crds: { items: ['trafficmonitors', 'clustertrafficpolicies', 'minterdeployments'].map(aCrd) },
    monitors: { items: [] },
    policies: { items: [] },
    minters: { items: [] },
    namespaces: {
      items: ['shop', 'svc-system'].map((name) =>
        anObject('v1', 'Namespace', name, { metadata: { labels: { 'kubernetes.io/metadata.name': name } } }),
      ),
    },
    nodes: { items: [aNode('node-1'), aNode('node-2')] },
    pods: {
      items: [
        aComponentPod('agent', 'svc-agent-a', 'node-1'),
        aComponentPod('agent', 'svc-agent-b', 'node-2'),
        aComponentPod('controller', 'svc-controller-a', 'node-1'),
        aComponentPod('query', 'svc-query-a', 'node-2'),
      ],
    },
    deployments: {
      items: [
        aDeployment('svc-controller', [
          'operator',
          '--namespace=$(POD_NAMESPACE)',
          '--instrument-image=otel/ebpf-instrument:v0.10.0',
          '--obi-instrument-ports=80,443,8080,8443',
        ]),
        aDeployment('svc-query', ['query']),
      ],
    },
    daemonSets: {
      items: [
        anObject('apps/v1', 'DaemonSet', 'svc-system/svc-agent', {
          status: { observedGeneration: 1, desiredNumberScheduled: 2, numberReady: 2, updatedNumberScheduled: 2 },
        }),
      ],
    },
    leases: {
      items: [
        anObject('coordination.k8s.io/v1', 'Lease', 'svc-system/svc-controller', {
          spec: { holderIdentity: 'svc-controller-a_1', renewTime: '2026-06-01T11:59:58Z', leaseDurationSeconds: 15 },
        }),
      ],
    },
    secrets: { fault: 'you may not list secrets in namespace svc-system', code: 'ERR_API_FORBIDDEN' },
    apiServices: {
      items: [anApiService('v1beta1.custom.metrics.k8s.io'), anApiService('v1beta2.custom.metrics.k8s.io')],
    },
    events: { items: [] },
    operatorEvents: { items: [] },
    ...more,
  };
}
