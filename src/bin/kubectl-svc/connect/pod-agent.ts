import { Agent, type AgentOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { isOperatorError } from '../../../base/errors.ts';
import { coreResources } from '../../../api/core-resources.ts';
import type { RestClient } from '../../../kube/index.ts';
import { ports, selectorText } from '../../../render/names.ts';
import { isReadyPod, type PodWithStatus } from '../cluster/pod-fault.ts';
import { PluginError } from '../errors.ts';

/**
 * Names of the ready pods of the query server.
 * Errors: PluginError when there is none, when none is ready, or when they may not be listed.
 */
export async function readyQueryPods(kube: RestClient, namespace: string, signal: AbortSignal): Promise<string[]> {
  const labelSelector = selectorText('query');
  let pods: readonly PodWithStatus[];
  try {
    pods = (await kube.list<PodWithStatus>(coreResources.pods, { namespace, labelSelector, limit: 100, signal })).items;
  } catch (cause) {
    if (!isOperatorError(cause, 'ERR_API_FORBIDDEN')) throw cause;
    throw forbidden(cause, `list pods in namespace ${namespace}`);
  }
  const ready = pods
    .filter((pod) => pod.metadata.deletionTimestamp === undefined && isReadyPod(pod))
    .map(({ metadata }) => metadata.name ?? '');
  if (ready.length > 0) return ready;
  const look = `kubectl get pods -n ${namespace}`;
  throw new PluginError(
    'ERR_API_NOT_FOUND',
    pods.length === 0
      ? `no pods of svc-query in namespace ${namespace}: is the operator installed?`
      : `none of the ${pods.length} pods of svc-query in namespace ${namespace} is ready`,
    {
      hints:
        pods.length === 0
          ? [look, 'if it runs in another namespace: --operator-namespace']
          : [look, 'kubectl svc status'],
    },
  );
}

const forbidden = (cause: Error, what: string): PluginError =>
  new PluginError('ERR_API_FORBIDDEN', cause.message, {
    cause,
    hints: [`needed: the right to ${what}`, 'or reach the query server yourself and name it with --server and --token'],
  });

export interface PodAgentOptions extends AgentOptions {
  readonly kube: Pick<RestClient, 'portForward'>;
  readonly namespace: string;
  /** Pods to try, in this order. */
  readonly pods: readonly string[];
  readonly signal: AbortSignal;
}

/** Opens connections into a pod through the API server; TLS ends in the pod. */
export class PodAgent extends Agent {
  readonly #pods: PodAgentOptions;

  constructor(options: PodAgentOptions) {
    super({ keepAlive: true });
    this.#pods = options;
  }

  override createConnection(
    options: ConnectionOptions,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    const done = callback as (error: Error | null, stream?: Duplex) => void;
    this.#open().then(
      (raw) => {
        if (raw.errored) return done(raw.errored);
        const { ca, servername, rejectUnauthorized } = options;
        const socket = connectTls({ socket: raw, ca, servername, rejectUnauthorized });
        // The error that ends the tunnel has the reason; TLS above it would only report that the tunnel was cut.
        raw.on('error', (error) => socket.destroy(error));
        done(null, socket);
      },
      (error: unknown) => done(error as Error),
    );
    return undefined;
  }

  /** Connects to the first reachable pod: a pod may have been deleted since the list was read. */
  async #open(): Promise<Duplex> {
    const { kube, namespace, pods, signal } = this.#pods;
    let last: unknown;
    for (const name of pods) {
      try {
        return await kube.portForward({ namespace, name }, ports.query, { signal });
      } catch (error) {
        if (isOperatorError(error, 'ERR_API_FORBIDDEN'))
          throw forbidden(error, `get and create pods/portforward in namespace ${namespace}`);
        last = error;
        if (signal.aborted) break;
      }
    }
    throw last;
  }
}
