import type { KubeObject } from '../../api/meta.ts';
import { kinds } from '../../api/v1alpha1/index.ts';
import { setupAgentCertificates } from '../../controllers/agent-certificates/setup.ts';
import { setupCapture } from '../../controllers/capture/setup.ts';
import { setupClusterTrafficPolicies } from '../../controllers/traffic-status/policies.ts';
import { setupDepartedNodes } from '../../controllers/departed-nodes/setup.ts';
import { setupMinterDeployment } from '../../controllers/minter-deployment/index.ts';
import {
  announceTrouble,
  PlatformTrouble,
  setupPlatform,
  setupPlatformWatch,
} from '../../controllers/platform/index.ts';
import { setupTrafficMonitors } from '../../controllers/traffic-status/monitors.ts';
import { coreResources } from '../../kube/index.ts';
import { names, platformDefaults, renderedKinds } from '../../render/index.ts';
import { aMinterDeployment } from '../builders/minter-deployment.ts';
import { noFaults, runController, type ControllerHarness } from '../run-controller.ts';

export interface WholeOperator extends ControllerHarness {
  /** Collects the failures of the platform's objects that controllers report. A test may report failures, too. */
  trouble: PlatformTrouble;
}

/** The namespace of the minter in `ordinaryObjects`. */
export const minterNamespace = 'platform-agent';

const crds: KubeObject[] = kinds.map(({ resource }) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${resource.plural}.${resource.group}`, labels: { 'app.kubernetes.io/name': 'svc-operator' } },
}));

/** One object of each of our kinds, and the Secret that the minter refers to. */
export const ordinaryObjects: readonly KubeObject[] = [
  {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'vcs-app-credentials', namespace: minterNamespace },
    data: { 'app-id': Buffer.from('12345').toString('base64') },
  },
  aMinterDeployment() as unknown as KubeObject,
  { apiVersion: 'svc.dev/v1alpha1', kind: 'ClusterTrafficPolicy', metadata: { name: 'default' }, spec: {} },
  {
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'TrafficMonitor',
    metadata: { name: 'all', namespace: 'shop' },
    spec: { mode: 'Capture', selector: {} },
  },
];

/** Runs every controller of the operator on `ordinaryObjects`. Resolves once the minter and the query server exist. */
export async function runWholeOperator(): Promise<WholeOperator> {
  const trouble = new PlatformTrouble();
  const { namespace } = platformDefaults;
  const harness = await runController(
    (env) => {
      setupPlatform(env, platformDefaults, { trouble });
      setupPlatformWatch(env, { namespace, trouble });
      announceTrouble(env, namespace, trouble);
      setupMinterDeployment(env, { namespace });
      const hub = setupCapture(env, { namespace, instrumentVersion: 'v0.10.0', instrumentPorts: '80' });
      setupAgentCertificates(env, { namespace, onIssued: (node) => hub.certified(node) });
      setupDepartedNodes(env, {
        namespace,
        keepMs: (node) => hub.metricsKeptMs(node),
        onKeepChange: (listener) => hub.onChange(({ compiled }) => compiled && listener()),
      });
      setupTrafficMonitors(env, hub, namespace);
      setupClusterTrafficPolicies(env, hub, { trouble });
    },
    [...crds, ...ordinaryObjects],
    noFaults,
    { server: { resources: [...kinds.map((k) => k.resource), renderedKinds.PriorityClass] } },
  );
  const { storage } = harness.server;
  const { deployments } = coreResources;
  await harness.passUntil(() => storage.find(deployments, minterNamespace, 'minter'), 'the minter');
  await harness.passUntil(() => storage.find(deployments, namespace, names.query), 'the query server');
  return { ...harness, trouble };
}
