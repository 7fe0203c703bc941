import { nodeLabel } from '../../api/labels.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/logger.ts';
import { defaultPoolBytes, MemoryPool } from '../../base/memory-pool.ts';
import { expiryTime } from '../../net/ca.ts';
import { codeForm, type HttpHandler } from '../../net/http/index.ts';
import { createTlsServer, peerName, type TlsServerOptions } from '../../net/https-server.ts';
import type { TlsSource } from '../../net/tls-material.ts';
import { createRemoteReadHandler } from '../../tsdb/index.ts';
import type { CaptureState } from '../capture/capture-state.ts';
import { type NodeCertificate, openIdentity } from '../certificate/node-certificate.ts';
import { createIndexHandler } from '../partial/index-handler.ts';
import { createPartialHandler } from '../partial/partial-handler.ts';
import type { SelfMetrics } from '../self-metrics.ts';
import { captureRoutes } from '../servers/capture-server.ts';
import { captureSessions } from '../servers/capture-session.ts';
import { certificateRoute } from '../servers/certificate-server.ts';
import { detailsRoutes } from '../servers/details-server.ts';
import { indexRoute, partialRoute } from '../servers/framed-server.ts';
import { noSuchRead, remoteReadRoute } from '../servers/remote-read-server.ts';
import { routed } from '../servers/routes.ts';
import { storeAdminRoute } from '../servers/store-admin-server.ts';
import { createStreamGrpc } from '../servers/stream-grpc.ts';
import { streamRoutes } from '../servers/stream-server.ts';
import type { StreamOptions } from '../servers/stream-service.ts';
import type { AgentSettings } from '../settings.ts';
import type { AgentData } from './data.ts';
import { closeGraceMs, type Listeners } from './listeners.ts';

export interface TlsPorts {
  readonly remoteRead: number;
  readonly spanStream: number;
  readonly captureConfig: number;
}

export interface TlsDeps {
  readonly data: AgentData;
  readonly capture: CaptureState;
  readonly listeners: Listeners;
  readonly metrics: SelfMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/** Common names of the certificates that may call the agent. */
const readers = ['svc-query', 'svc-controller'];
const controllers = ['svc-controller'];
/** The memory limit assumed for a container without one. It equals the limit in the DaemonSet. Units: bytes. */
const unlimitedContainerBytes = 1024 ** 3;
/** A reader of the stream may pause this long, since a client of the query server may pause too. Units: ms. */
const readerStalledMs = 600_000;

/**
 * Opens the three listeners with mutual TLS: one for remote read and for this node's parts of queries, one for spans
 * and flows, and one for the capture config. Resolves with their ports, and with the node's own certificate if the
 * operator has to issue it.
 * Errors: ERR_TLS_MATERIAL, ERR_LISTEN.
 */
export async function openTlsListeners(
  settings: AgentSettings,
  deps: TlsDeps,
): Promise<{ ports: TlsPorts; certificate: NodeCertificate | undefined }> {
  const { data, capture, listeners, metrics, clock, logger, signal } = deps;
  const { tlsDir: dir, dataDir, nodeName: node, bindAddress: host } = settings;
  const { exports } = data;
  const { source: tls, own } = await openIdentity({ dir, dataDir, node, clock, logger, signal });
  followExpiry(tls, metrics, () => own?.isIssued !== false);
  const common = (name: string, clientNames: readonly string[]): TlsServerOptions => ({
    clientNames,
    ...listeners.door(name),
    form: codeForm,
  });

  const read = createTlsServer(tls, readHandler(settings, deps), common('remote-read', readers));
  const remoteRead = await listeners.bind('remote-read', read, host, settings.remoteReadPort);

  const stream: StreamOptions = {
    node,
    podLabels: (namespace, name) => data.identity.pods.named(namespace, name)?.labels,
    ring: data.ring,
    clock,
    logger,
    signal,
    onClients: (change) => metrics.streamClients.inc(change),
    onLost: (count) => metrics.streamLost.inc(count),
  };
  const grpc = createStreamGrpc(stream);
  const streams = createTlsServer(tls, routed(streamRoutes(stream)), {
    ...common('span-stream', readers),
    http2: grpc.accept,
    limits: { stalledMs: readerStalledMs },
  });
  const spanStream = await listeners.bind('span-stream', streams, host, settings.spanStreamPort);
  listeners.closing.add(() => grpc.close(closeGraceMs));

  const onSecrets = exports.setSecrets.bind(exports);
  const routes = [certificateRoute(own, logger), ...captureRoutes(capture, { logger, onSecrets })];
  const configs = createTlsServer(tls, routed(routes), {
    ...common('capture-config', controllers),
    messages: captureSessions(capture, { logger, signal }),
  });
  const captureConfig = await listeners.bind('capture-config', configs, host, settings.captureConfigPort);
  return { ports: { remoteRead, spanStream, captureConfig }, certificate: own };
}

/** The handler of port 9091: for queries of the query server, and for calls of the controller to the store. */
function readHandler(settings: AgentSettings, { data, metrics, clock, logger }: TlsDeps): HttpHandler {
  const { store, mapper } = data;
  const node = settings.nodeName;
  const partition = { label: nodeLabel, value: node };
  const limitBytes = settings.queryMemory || defaultPoolBytes(process.constrainedMemory(), unlimitedContainerBytes);
  const memory = new MemoryPool({ limitBytes });
  return routed(
    [
      remoteReadRoute({ handler: createRemoteReadHandler(store, { partition, reusesParts: true }), metrics, logger }),
      partialRoute({ handler: createPartialHandler({ store, node, clock, memory }), metrics, logger }),
      indexRoute({ handler: createIndexHandler({ store, node, clock, memory }), metrics, logger }),
      ...detailsRoutes({
        exemplars: mapper.exemplars,
        families: () => mapper.table.families.values(),
        partition,
        clock,
        logger,
      }),
      storeAdminRoute({ store, allowed: (req) => controllers.includes(peerName(req) ?? ''), logger }),
    ],
    noSuchRead,
  );
}

function followExpiry(tls: TlsSource, metrics: SelfMetrics, isIssued: () => boolean): void {
  const note = (): void => metrics.certExpiry.set(isIssued() ? expiryTime({ cert: tls.current.cert }) / 1_000 : 0);
  note();
  tls.onChange(note);
}
