import type { TLSSocket } from 'node:tls';
import type { KubeObject } from '../../api/meta.ts';
import {
  clusterTrafficPolicies,
  minterDeployments,
  trafficMonitors,
  type ClusterTrafficPolicy,
  type TrafficMonitor,
} from '../../api/v1alpha1/index.ts';
import { aborted } from '../../base/aborted.ts';
import { sleep } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import type { CaptureObjects } from '../../capture/index.ts';
import { ApiReviews, coreResources } from '../../kube/index.ts';
import { httpServerMetrics, type HttpHandler } from '../../net/http/index.ts';
import { createTlsServer, peerName, type ClientTrust } from '../../net/https-server.ts';
import { untilQuiet } from '../../net/drain.ts';
import { closeServer, listen } from '../../net/listen.ts';
import type { TlsSource } from '../../net/tls-material.ts';
import type { Validator } from '../../net/webhook/admission.ts';
import type { Converters } from '../../net/webhook/conversion.ts';
import { webhookHandler } from '../../net/webhook/handler.ts';
import {
  admissionPaths,
  conversionPath,
  names,
  renderAdmission,
  renderConversion,
  renderedKinds,
  type AdmissionMode,
} from '../../render/index.ts';
import { oneObject, toKey, type ControllerEnvironment } from '../../runtime/index.ts';
import { applySetOf, fieldManagerOf } from '../apply-set.ts';
import { captureObjects, nodeTransform, type NodeObject } from '../capture/facts.ts';
import { secretTls } from '../secret-tls.ts';
import { installationOwner, ownedFromOutside } from '../installation-owner.ts';
import { managedSecrets, managedSelector } from '../platform/certificates.ts';
import type { ClientCa } from './client-ca.ts';
import { monitorValidator, policyValidator, type MaySeeMonitors } from './validators.ts';

export interface AdmissionSettings {
  namespace: string;
  mode: AdmissionMode;
  bindAddress: string;
  port: number;
  /** The address at which the API server reaches this process, if not the Service. */
  url: string;
  /** At the end the listener serves until no new connection has come for this long. Units: ms. */
  shutdownQuietMs: number;
  /**
   * Authorities of the client certificate that the API server presents; null when it presents none. Then every caller
   * is answered.
   */
  clientCa: ClientCa | null;
  /** Subject CNs of that certificate; empty allows any that those authorities have signed. */
  clientNames: readonly string[];
  /** Converters of the kinds that have several versions. */
  converters: Converters;
  /** The environment that policies are checked against. */
  environment: CaptureObjects['environment'];
}

/** Kinds that may get a second version. */
const kinds = [trafficMonitors, clusterTrafficPolicies, minterDeployments];
const controllerName = 'admission';
const key = { name: 'admission' } as const;
const recheckMs = 2_000;

/**
 * Serves admission and conversion reviews on every replica, and registers them with the API server. In the mode `off`,
 * the registration for admission is removed.
 *
 * Flow: the controller's certificate (a Secret that the platform controller makes and renews) → listener → registration
 * with the CA bundle of that Secret, again at each rotation.
 * Guarantees: the registration is written after a certificate exists; the listener takes over a renewed certificate
 * without a restart. The registration is owned by the operator's own ClusterRole, so that removing the installation
 * removes it; while that ClusterRole is being deleted, nothing is applied. The listener starts before the caches fill,
 * because the API server cannot list a kind of several versions without conversion. Policies can be reviewed only after
 * the caches have filled.
 * Caveats: the Service sends conversions to ready replicas only, and a replica is ready only after its caches have
 * filled; see ADR 44 before converters are added. With `fail-closed` and no replica running, monitors and policies
 * cannot be changed: `svc operator --admission=off`, or deleting the ValidatingWebhookConfiguration, lifts the block.
 */
export function setupAdmission(env: ControllerEnvironment, settings: AdmissionSettings): void {
  const { cache } = env;
  const { namespace, mode, port, url } = settings;
  const converted = kinds.filter(({ group, kind }) => Object.hasOwn(settings.converters, `${group}/${kind}`));
  const serves = mode !== 'off' || converted.length > 0;
  const secrets = managedSecrets(cache, namespace);
  const labelSelector = `${managedSelector},app.kubernetes.io/component=controller,${marker}`;
  const children = [
    renderedKinds.Service,
    renderedKinds.NetworkPolicy,
    renderedKinds.ValidatingWebhookConfiguration,
  ].map((resource) => cache.informer({ resource, labelSelector, ...(resource.namespaced ? { namespace } : {}) }));
  const identity = secretTls(secrets, { namespace, name: names.controllerTls }, env.logger, (ok) => {
    env.metrics?.certificateReads.inc();
    if (!ok) env.metrics?.certificateErrors.inc();
  });
  const definitions = converted.map(({ group, plural }) =>
    cache.informer({
      ...oneObject(coreResources.customResourceDefinitions, { name: `${plural}.${group}` }),
      metadataOnly: true,
    }),
  );
  const set = applySetOf(env, controllerName, children);
  env.addController({
    name: controllerName,
    initialKeys: [key],
    watches: [
      { source: secrets.source, map: toKey(key) },
      ...[...children, ...definitions].map(({ source }) => ({ source, map: toKey(key) })),
    ],
    async reconcile({ client, logger, signal }) {
      const source = identity.source();
      if (serves && !source) return { requeueAfterMs: recheckMs };
      const wanted = serves ? renderAdmission({ namespace, mode, port, caBundle: source!.current.ca, url }) : [];
      for (const { metadata } of wanted) metadata.labels = { ...metadata.labels, [marker]: 'true' };
      const owner = serves ? await installationOwner({ client, signal }) : undefined;
      if (owner === 'going') return { requeueAfterMs: recheckMs };
      const adjust = (child: KubeObject): KubeObject => ownedFromOutside(child, namespace, owner);
      await set.apply({ wanted, adjust, force: true, logger, signal });
      for (const kind of converted) {
        const definition = renderConversion(kind, { namespace, caBundle: source!.current.ca, url });
        const options = { fieldManager: fieldManagerOf(controllerName), force: true, signal };
        await env.client.apply(coreResources.customResourceDefinitions, definition, options);
      }
      return undefined;
    },
  });
  if (!serves) return;
  const read = capturedObjects(env, settings.environment);
  env.addRunnable({
    name: 'webhooks',
    needsLeader: false,
    beforeCaches: true,
    run: (signal) => serve(env, settings, identity, read, signal),
  });
}

/**
 * The label of the objects that this controller applies. It distinguishes them from the rest of the operator's own
 * installation, which this controller must not prune.
 */
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
  const validators: Record<string, Validator> = {
    [admissionPaths.trafficmonitors]: monitorValidator(),
    [admissionPaths.clustertrafficpolicies]: policyValidator(
      read,
      clock,
      settings.clientCa ? maySeeMonitors(env) : undefined,
    ),
  };
  for (const path of [...Object.keys(validators), conversionPath]) metrics?.declareWebhook(path);
  const observe = metrics && ((webhook: string) => metrics.observeWebhook(webhook, clock));
  const { converters } = settings;
  const handler = webhookHandler({ validators, converters, clock, logger, ...(observe ? { observe } : {}) });
  const server = createTlsServer(source, fromApiServer(settings, handler), {
    name: 'webhook',
    ...(settings.clientCa ? { clients: settings.clientCa } : {}),
    logger,
    metrics: metrics && httpServerMetrics(metrics.registry, 'svc_controller'),
  });
  settings.clientCa?.follow({ clock, logger, signal });
  const port = await listen('webhook', server, { host: settings.bindAddress, port: settings.port });
  logger.info('webhooks are served', { port, mode: settings.mode });
  await aborted(signal);
  await untilQuiet([server], { clock, quietMs: settings.shutdownQuietMs });
  await closeServer(server, 1_000);
}

/** Admits only the holder of the API server's client certificate, when one is expected. */
export function fromApiServer(
  { clientCa, clientNames }: { readonly clientCa: ClientTrust | null; readonly clientNames: readonly string[] },
  handler: HttpHandler,
): HttpHandler {
  if (!clientCa) return handler;
  return (req, res) => {
    const name = (req.socket as TLSSocket).authorized ? (peerName(req) ?? '') : undefined;
    if (name !== undefined && (clientNames.length === 0 || clientNames.includes(name))) {
      return handler(req, res);
    }
    const message = 'only the API server is answered here: its client certificate is missing, or of another name';
    // As a Status, whose message the API server passes on to the author of the object.
    const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Forbidden', code: 403, message };
    const body = JSON.stringify(status);
    // With the connection closed, the API server shows its certificate again with its next request, which is checked
    // against the authorities in force then.
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    res.writeHead(403, { ...headers, connection: 'close' }).end(body);
    return undefined;
  };
}

function maySeeMonitors(env: ControllerEnvironment): MaySeeMonitors {
  const reviews = new ApiReviews(env.client, {
    audience: names.controller,
    ownToken: () => Promise.resolve(undefined),
  });
  const { group, plural: resource } = trafficMonitors;
  return (user, namespace, signal) =>
    reviews.mayAccessResource(user, { verb: 'get', group, resource, namespace }, signal);
}

/**
 * The inputs of the validators, from the caches that the controller of capture needs anyway.
 * Errors: ERR_CACHE_SYNC while they fill; the webhook's failure policy then decides.
 */
function capturedObjects(env: ControllerEnvironment, environment: CaptureObjects['environment']): () => CaptureObjects {
  const { cache } = env;
  const policies = cache.informer<ClusterTrafficPolicy & KubeObject>({ resource: clusterTrafficPolicies });
  const monitors = cache.informer<TrafficMonitor & KubeObject>({ resource: trafficMonitors });
  const namespaces = cache.informer({ resource: coreResources.namespaces, metadataOnly: true });
  const nodes = cache.informer<NodeObject>({ resource: coreResources.nodes, transform: nodeTransform });
  const informers = [policies, monitors, namespaces, nodes];
  return () => {
    if (!informers.every(({ synced }) => synced)) throw new OperatorError('ERR_CACHE_SYNC', 'the caches are filling');
    const lists = {
      monitors: monitors.list(),
      policies: policies.list(),
      namespaces: namespaces.list(),
      nodes: nodes.list(),
    };
    return { ...captureObjects(lists), environment };
  };
}
