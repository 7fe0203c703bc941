import type { KubeObject } from '../../api/meta.ts';
import {
  clusterTrafficPolicies,
  trafficMonitors,
  type ClusterTrafficPolicy,
  type TrafficMonitor,
} from '../../api/v1alpha1/index.ts';
import { sleep } from '../../base/clock.ts';
import type { CaptureObjects } from '../../capture/index.ts';
import { coreResources } from '../../kube/index.ts';
import { createTlsServer } from '../../net/https-server.ts';
import { closeServer, listen } from '../../net/listen.ts';
import type { TlsSource } from '../../net/tls-material.ts';
import { webhookHandler } from '../../net/webhook/handler.ts';
import {
  admissionPaths,
  names,
  objectLabels,
  renderAdmission,
  renderedKinds,
  type AdmissionMode,
} from '../../render/index.ts';
import { ApplySet, toKey, type ControllerEnvironment } from '../../runtime/index.ts';
import { namedLabels, nodeTransform, runsAgents, type NodeObject } from '../capture/facts.ts';
import { secretTls } from '../capture/secret-tls.ts';
import { monitorValidator, policyValidator } from './validators.ts';

export interface AdmissionSettings {
  namespace: string;
  mode: AdmissionMode;
  bindAddress: string;
  port: number;
  /** Where the API server reaches this process, if not by the Service. */
  url: string;
  /** What policies are judged for. */
  environment: CaptureObjects['environment'];
}

const controllerName = 'admission';
const key = { name: 'admission' } as const;
const recheckMs = 2_000;

/**
 * Serves admission and conversion reviews on every replica, and registers them with the API server; with `off` the
 * registration is taken away.
 *
 * Flow: the controller's certificate (a Secret that the platform controller makes and renews) → listener → registration
 * with the CA bundle of that Secret, again at each rotation.
 * Guarantees: the registration comes after a certificate exists; the listener follows a renewed one without a restart.
 * Caveats: with `fail-closed` and no replica running, monitors and policies cannot be changed: `svc operator
 * --admission=off`, or deleting the ValidatingWebhookConfiguration, opens the way.
 */
export function setupAdmission(env: ControllerEnvironment, settings: AdmissionSettings): void {
  const { cache } = env;
  const { namespace, mode } = settings;
  const labels = objectLabels('controller');
  const secrets = cache.informer({
    resource: coreResources.secrets,
    namespace,
    labelSelector: 'app.kubernetes.io/name=svc-operator,app.kubernetes.io/managed-by=svc-controller',
  });
  const labelSelector = `${Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')},${marker}`;
  const children = [
    renderedKinds.Service,
    renderedKinds.NetworkPolicy,
    renderedKinds.ValidatingWebhookConfiguration,
  ].map((resource) => cache.informer({ resource, labelSelector, ...(resource.namespaced ? { namespace } : {}) }));
  const identity = secretTls(secrets, { namespace, name: names.controllerTls }, env.logger, (ok) => {
    env.metrics?.certificateReads.inc();
    if (!ok) env.metrics?.certificateErrors.inc();
  });
  const set = new ApplySet({
    client: env.client,
    fieldManager: `svc-controller/${controllerName}`,
    controller: controllerName,
    metrics: env.metrics,
    events: env.events,
    children,
  });
  env.addController({
    name: controllerName,
    initialKeys: [key],
    watches: [
      { source: secrets.source, map: toKey(key) },
      ...children.map(({ source }) => ({ source, map: toKey(key) })),
    ],
    async reconcile({ logger, signal }) {
      const source = identity.source();
      if (mode !== 'off' && !source) return { requeueAfterMs: recheckMs };
      const wanted =
        mode === 'off' ? [] : renderAdmission({ namespace, mode, caBundle: source!.current.ca, url: settings.url });
      for (const { metadata } of wanted) metadata.labels = { ...metadata.labels, [marker]: 'true' };
      await set.apply({ wanted, force: true, logger, signal });
      return undefined;
    },
  });
  if (mode === 'off') return;
  const read = capturedObjects(env, settings.environment);
  env.addRunnable({
    name: 'webhooks',
    needsLeader: false,
    run: (signal) => serve(env, settings, identity, read, signal),
  });
}

/** Tells these objects from the rest of the operator's own installation, which is not this controller's to prune. */
const marker = 'svc.dev/admission';

async function serve(
  env: ControllerEnvironment,
  settings: AdmissionSettings,
  identity: { source(): TlsSource | null },
  read: () => CaptureObjects,
  signal: AbortSignal,
): Promise<void> {
  const { clock, logger, metrics } = env;
  let source = identity.source();
  for (; !source && !signal.aborted; source = identity.source()) await sleep(clock, 500, signal).catch(() => {});
  if (!source) return;
  const validators = {
    [admissionPaths.trafficmonitors]: monitorValidator(),
    [admissionPaths.clustertrafficpolicies]: policyValidator(read),
  };
  for (const path of [...Object.keys(validators), '/convert']) metrics?.declareWebhook(path);
  const observe = metrics && ((webhook: string) => metrics.observeWebhook(webhook, clock));
  // Every kind has one version. A second one brings its converters here, and `conversion.webhook` to its CRD.
  const handler = webhookHandler({ validators, converters: {}, clock, logger, ...(observe ? { observe } : {}) });
  const server = createTlsServer(source, handler);
  const port = await listen('webhook', server, { host: settings.bindAddress, port: settings.port });
  logger.info('webhooks are served', { port, mode: settings.mode });
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  await closeServer(server, 1_000);
}

/** What validators judge by, from the caches that the capture loop has anyway. */
function capturedObjects(env: ControllerEnvironment, environment: CaptureObjects['environment']): () => CaptureObjects {
  const { cache } = env;
  const policies = cache.informer<ClusterTrafficPolicy & KubeObject>({ resource: clusterTrafficPolicies });
  const monitors = cache.informer<TrafficMonitor & KubeObject>({ resource: trafficMonitors });
  const namespaces = cache.informer({ resource: coreResources.namespaces, metadataOnly: true });
  const nodes = cache.informer<NodeObject>({ resource: coreResources.nodes, transform: nodeTransform });
  const living = <T extends KubeObject>(list: T[]): T[] => list.filter((o) => !o.metadata.deletionTimestamp);
  return () => ({
    policies: living(policies.list()),
    monitors: living(monitors.list()),
    namespaces: namespaces.list().map(namedLabels),
    nodes: nodes.list().filter(runsAgents).map(namedLabels),
    environment,
  });
}
