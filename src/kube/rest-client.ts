import type { Duplex } from 'node:stream';
import type { KubeConfig } from '@kubernetes/client-node';
import type { ResourceRef } from '../api/meta.ts';
import { systemClock, type Clock } from '../base/clock.ts';
import { OperatorError } from '../base/errors.ts';
import type {
  ApplyOptions,
  DeleteOptions,
  KubeClient,
  KubeList,
  ListOptions,
  ObjectName,
  Patch,
  PodLogQuery,
  ReadOptions,
  RequestOptions,
  TypedObject,
  WatchOptions,
  WriteOptions,
} from './client.ts';
import { coreResources } from '../api/core-resources.ts';
import { Credentials } from './credentials.ts';
import { decodeFrames, type WatchFrame } from './frames.ts';
import { kubeSettingsLoader, openKubeSettings } from './kubeconfig.ts';
import { describe, nameOf, resourcePath } from './paths.ts';
import type { PodStreamOptions } from './port-forward.ts';
import { Transport, type RequestObservation } from './transport.ts';

/** The cluster, the user, and the observers of each request. */
export interface KubeClientOptions {
  /** A kubeconfig file; default those of `KUBECONFIG`, else `~/.kube/config`, then the pod's service account. */
  kubeconfig?: string | undefined;
  context?: string | undefined;
  /** Act as this user, as `kubectl --as` does. */
  impersonate?: string | undefined;
  /** Instead of a kubeconfig: a base URL without authentication, such as the scripted server of the tests. */
  server?: string | undefined;
  clock?: Clock | undefined;
  userAgent?: string | undefined;
  onRequest?: ((observation: RequestObservation) => void) | undefined;
  onRetry?: ((method: string, host: string) => void) | undefined;
}

/**
 * @internal
 * A client for the cluster that the options name, by default the one that the environment names.
 * Errors: ERR_CONFIG_INVALID where the kubeconfig is missing or cannot be used.
 */
export function createKubeClient(options: KubeClientOptions = {}): RestClient {
  const clock = options.clock ?? systemClock;
  const { server } = options;
  const { kubeconfig: path, context, impersonate } = options;
  const load =
    server === undefined ? kubeSettingsLoader({ path, context, impersonate }) : () => openKubeSettings(server);
  return new RestClient(new Credentials(load, clock), {
    clock,
    userAgent: options.userAgent ?? 'svc-operator',
    onRequest: options.onRequest,
    onRetry: options.onRetry,
  });
}

type Query = Record<string, string | number | boolean | undefined>;

const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

/** @internal Implements `KubeClient` over HTTP. */
export class RestClient implements KubeClient {
  readonly #credentials: Credentials;
  readonly #http: Transport;
  readonly #clock: Clock;

  constructor(credentials: Credentials, options: Omit<ConstructorParameters<typeof Transport>[0], 'credentials'>) {
    this.#credentials = credentials;
    this.#clock = options.clock;
    this.#http = new Transport({ ...options, credentials });
  }

  get server(): string {
    return this.#credentials.server;
  }

  /** Namespace of the kubeconfig's context; undefined when it names none. */
  get namespace(): string | undefined {
    return this.#credentials.namespace;
  }

  /** The bearer token of the kubeconfig's user; undefined when the user has another credential. */
  async bearerToken(options: Pick<RequestOptions, 'signal' | 'deadlineMs'> = {}): Promise<string | undefined> {
    const { authorization = '' } = await this.#http.authentication({ ...options, what: 'bearer token' });
    return authorization.startsWith('Bearer ') ? authorization.slice(7) : undefined;
  }

  /** To be called when a server other than the API server has refused `bearerToken`: it is then read again. */
  tokenRefused(): void {
    this.#credentials.invalidate();
  }

  /**
   * A connection to a port inside a pod, through API server and kubelet, as `kubectl port-forward` opens it.
   * Errors: as for every call; the API server's own message when it refuses.
   */
  async portForward(pod: Required<ObjectName>, port: number, options: PodStreamOptions = {}): Promise<Duplex> {
    const { signal, deadlineMs = 10_000 } = options;
    const what = `port-forward ${pod.namespace}/${pod.name}:${port}`;
    // The opening of a WebSocket would wait for an exec plugin beyond deadline and signal.
    await this.#http.authentication({ signal, deadlineMs, what });
    // Few programs need it, and it loads a WebSocket library.
    const { openPodStream } = await import('./port-forward.ts');
    return openPodStream(this.#credentials, this, pod, port, { signal, deadlineMs, clock: this.#clock });
  }

  /**
   * The newest lines of a container's log.
   * Caveats: `limitBytes` cuts the end, so the last lines are complete only when `tailLines` of them fit.
   * Errors: as for every call; ERR_API_INVALID when there is no such container, or no previous one.
   */
  async podLog(pod: Required<ObjectName>, query: PodLogQuery, options: RequestOptions = {}): Promise<string> {
    return this.#http.text({
      ...request(options),
      method: 'GET',
      what: `log of ${describe(coreResources.pods, pod)} ${query.container}`,
      path: withQuery(resourcePath(coreResources.pods, { ...pod, subresource: 'log' }), { ...query }),
      accept: '*/*',
    });
  }

  /** The kubeconfig as an object of client-node, for operators of the framework dot-i. Lazily loads client-node. */
  get kubeConfig(): KubeConfig {
    return this.#credentials.config;
  }

  async get<T extends TypedObject>(resource: ResourceRef, name: ObjectName, options: ReadOptions = {}): Promise<T> {
    const answer = await this.#http.json({
      ...request(options),
      method: 'GET',
      what: `get ${describe(resource, name)}`,
      path: withQuery(resourcePath(resource, name), { resourceVersion: options.resourceVersion }),
      accept: accept(options.metadataOnly, 'PartialObjectMetadata'),
    });
    return identified<T>(resource, answer);
  }

  async list<T extends TypedObject>(resource: ResourceRef, options: ListOptions = {}): Promise<KubeList<T>> {
    const answer = (await this.#http.json({
      ...request(options),
      method: 'GET',
      what: `list ${resource.plural}`,
      path: withQuery(resourcePath(resource, { namespace: options.namespace }), {
        ...selectors(options),
        limit: options.limit,
        continue: options.continue,
        resourceVersion: options.resourceVersion,
        resourceVersionMatch: options.resourceVersionMatch,
      }),
      accept: accept(options.metadataOnly, 'PartialObjectMetadataList'),
    })) as { items?: unknown; metadata?: { resourceVersion?: string; continue?: string } };
    if (!Array.isArray(answer?.items)) {
      if (answer?.items !== null)
        throw new OperatorError('ERR_API_REQUEST', `list ${resource.plural}: no items in the answer`);
    }
    const items = ((answer.items ?? []) as unknown[]).map((item) => identified<T>(resource, item));
    const next = answer.metadata?.continue;
    return {
      items,
      resourceVersion: answer.metadata?.resourceVersion ?? '',
      ...(next ? { continue: next } : {}),
    };
  }

  async *watch(resource: ResourceRef, options: WatchOptions): AsyncGenerator<WatchFrame> {
    const chunks = await this.#http.stream({
      method: 'GET',
      what: `watch ${resource.plural}`,
      path: withQuery(resourcePath(resource, { namespace: options.namespace }), {
        ...selectors(options),
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion: options.resourceVersion,
        resourceVersionMatch: options.resourceVersionMatch,
        sendInitialEvents: options.sendInitialEvents,
        timeoutSeconds: options.timeoutSeconds,
      }),
      accept: accept(options.metadataOnly, 'PartialObjectMetadata'),
      signal: options.signal,
      deadlineMs: options.headersMs,
    });
    for await (const frame of decodeFrames(chunks)) {
      if (options.metadataOnly && frame.type !== 'ERROR') {
        yield {
          type: frame.type,
          object: { ...(frame.object as object), apiVersion: resource.apiVersion, kind: resource.kind },
        };
      } else yield frame;
    }
  }

  async create<T extends TypedObject>(resource: ResourceRef, object: T, options: WriteOptions = {}): Promise<T> {
    const { namespace, name } = object.metadata;
    return this.#write<T>('POST', resource, object, options, {
      path: resourcePath(resource, { namespace }),
      what: `create ${describe(resource, { namespace, name: name ?? object.metadata.generateName ?? '' })}`,
    });
  }

  async update<T extends TypedObject>(resource: ResourceRef, object: T, options: WriteOptions = {}): Promise<T> {
    const name = nameOf(object);
    return this.#write<T>('PUT', resource, object, options, {
      path: resourcePath(resource, { ...name, subresource: options.subresource }),
      what: `update ${describe(resource, name)}`,
    });
  }

  async apply<T extends TypedObject>(resource: ResourceRef, object: T, options: ApplyOptions): Promise<T> {
    return this.#apply(resource, object, options, undefined);
  }

  async applyStatus<T extends TypedObject>(resource: ResourceRef, object: T, options: ApplyOptions): Promise<T> {
    return this.#apply(resource, object, options, 'status');
  }

  async patch<T extends TypedObject>(
    resource: ResourceRef,
    name: ObjectName,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#write<T>('PATCH', resource, patch.type === 'json' ? patch.operations : patch.body, options, {
      path: resourcePath(resource, { ...name, subresource: options.subresource }),
      what: `patch ${describe(resource, name)}`,
      contentType: patchTypes[patch.type],
    });
  }

  async delete(resource: ResourceRef, name: ObjectName, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion } = options;
    await this.#http.json({
      ...request(options),
      method: 'DELETE',
      what: `delete ${describe(resource, name)}`,
      path: resourcePath(resource, name),
      body: JSON.stringify({
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        // In the body: the server ignores the query of a delete with a body.
        ...(options.dryRun ? { dryRun: ['All'] } : {}),
        propagationPolicy: options.propagation ?? 'Background',
        gracePeriodSeconds: options.gracePeriodSeconds,
        ...(uid !== undefined || resourceVersion !== undefined ? { preconditions: { uid, resourceVersion } } : {}),
      }),
    });
  }

  async getPath(path: string, options: RequestOptions = {}): Promise<unknown> {
    return this.#http.json({ ...request(options), method: 'GET', path, what: `get ${path}` });
  }

  async close(): Promise<void> {
    await this.#credentials.close();
  }

  async #apply<T extends TypedObject>(
    resource: ResourceRef,
    object: T,
    options: ApplyOptions,
    subresource: string | undefined,
  ): Promise<T> {
    const name = nameOf(object);
    const answer = await this.#http.json({
      ...request(options),
      method: 'PATCH',
      what: `apply ${describe(resource, name)}${subresource ? ` (${subresource})` : ''}`,
      path: withQuery(resourcePath(resource, { ...name, subresource }), {
        fieldManager: options.fieldManager,
        fieldValidation: 'Strict',
        force: options.force ? true : undefined,
        dryRun: options.dryRun ? 'All' : undefined,
      }),
      contentType: 'application/apply-patch+yaml',
      body: yamlOf(object),
    });
    return identified<T>(resource, answer);
  }

  async #write<T extends TypedObject>(
    method: 'POST' | 'PUT' | 'PATCH',
    resource: ResourceRef,
    body: unknown,
    options: WriteOptions,
    call: { path: string; what: string; contentType?: string },
  ): Promise<T> {
    const answer = await this.#http.json({
      ...request(options),
      method,
      what: call.what,
      contentType: call.contentType,
      body: JSON.stringify(body),
      path: withQuery(call.path, {
        fieldManager: options.fieldManager,
        fieldValidation: 'Strict',
        dryRun: options.dryRun ? 'All' : undefined,
      }),
    });
    return identified<T>(resource, answer);
  }
}

/**
 * The escapes of a JSON text, and the characters in it that YAML refuses, or reads as line breaks, where they are not
 * escaped. JSON.stringify escapes a surrogate only if its other half is missing.
 */
const notYaml = /\\(?:ud[89a-f][\da-f]{2}|.)|[\u007f-\u009f\u2028\u2029\ufffe\uffff]/g;

/** JSON that reads the same as YAML. YAML has no halves of surrogate pairs, so these become U+FFFD. */
function yamlOf(value: unknown): string {
  return JSON.stringify(value).replaceAll(notYaml, (found) => {
    if (found.startsWith('\\')) return found.length > 2 ? '\ufffd' : found;
    return `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

function request(options: RequestOptions): Pick<RequestOptions, 'signal' | 'deadlineMs' | 'retry'> {
  return { signal: options.signal, deadlineMs: options.deadlineMs, retry: options.retry };
}

function selectors(options: { labelSelector?: string | undefined; fieldSelector?: string | undefined }): Query {
  return { labelSelector: options.labelSelector, fieldSelector: options.fieldSelector };
}

function accept(metadataOnly: boolean | undefined, kind: string): string {
  return metadataOnly ? `application/json;as=${kind};g=meta.k8s.io;v=v1` : 'application/json';
}

/**
 * Sets apiVersion and kind: the items of a list of built-in kinds lack them, and requested metadata arrives as
 * PartialObjectMetadata.
 */
function identified<T extends TypedObject>(resource: ResourceRef, value: unknown): T {
  if (typeof value !== 'object' || value === null) {
    throw new OperatorError('ERR_API_REQUEST', `${resource.kind}: the answer is not an object`);
  }
  const object = value as T;
  if (object.kind === undefined || object.kind === 'PartialObjectMetadata') {
    object.apiVersion = resource.apiVersion;
    object.kind = resource.kind;
  }
  return object;
}

function withQuery(path: string, query: Query): string {
  const parts = Object.entries(query)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
}
