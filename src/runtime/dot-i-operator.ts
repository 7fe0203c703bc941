import { readFile } from 'node:fs/promises';
import { resourceRef, type KubeObject, type ResourceRef } from '../api/meta.ts';
import { sleep, systemClock, type Clock } from '../base/clock.ts';
import { errorText, isOperatorError, OperatorError } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import {
  coreApi,
  foreignAuth,
  Operator,
  parseManifest,
  ResourceEventType,
  foreignObject,
  metaOf,
  type OperatorLogger,
  type ResourceEvent,
  type ResourceMeta,
} from '../kube/dot-i.ts';
import {
  coreResources,
  createKubeClient,
  discover,
  isConflict,
  resourcePath,
  type RestClient,
  type TypedObject,
} from '../kube/index.ts';
import { EventReplay } from './control/event-replay.ts';
import { handleFinalizer, patchFinalizers } from './apply/finalizer.ts';
import { Manager, type ManagerOptions } from './control/manager.ts';

export interface RuntimeOperatorOptions extends Partial<Omit<ManagerOptions, 'client' | 'logger'>> {
  /** Default: a client for the cluster of KUBECONFIG or of the pod. */
  client?: RestClient;
  logger?: Logger;
}

const fieldManager = 'dot-i-operator';
const maxConflicts = 5;
const establishedMs = 30_000;

/**
 * `@dot-i/k8s-operator`'s `Operator` on our runtime: same public and protected members, none of its transport. An
 * operator written for the original runs on it unchanged.
 *
 * Guarantees: no call ends the process; handlers run one at a time per kind and namespace; a handler that throws is
 * logged and retried with back-off; a handler gets copies; after a reconnect unchanged objects are not replayed and
 * missed deletes are delivered; status and finalizer calls that fail throw coded errors.
 * Caveats: states that an object passes through between two runs of its handler are not shown; `ADDED` comes once per
 * object and process.
 */
export abstract class RuntimeOperator extends Operator {
  readonly #client: RestClient;
  readonly #clock: Clock;
  readonly #manager: Manager;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #failure: unknown;

  constructor(logger?: OperatorLogger, options: RuntimeOperatorOptions = {}) {
    super(logger);
    this.#clock = options.clock ?? systemClock;
    this.#client = options.client ?? createKubeClient({ clock: this.#clock });
    this.#offerClientNode();
    this.#manager = new Manager({
      component: 'operator',
      instance: process.env['POD_NAME'] ?? `pid-${process.pid}`,
      ...options,
      client: this.#client,
      clock: this.#clock,
      logger: options.logger ?? bridgeLogger(this.logger),
    });
  }

  /** `kubeConfig` and `k8sApi` as the base declares them, created on first use because they load all of client-node. */
  #offerClientNode(): void {
    const lazy = <T>(make: () => T): PropertyDescriptor => {
      let made: { value: T } | undefined;
      return {
        get: () => (made ??= { value: make() }).value,
        set: (value: T) => (made = { value }),
        configurable: true,
        enumerable: true,
      };
    };
    Object.defineProperties(this, {
      kubeConfig: lazy(() => this.#client.kubeConfig),
      k8sApi: lazy(() => coreApi(this.kubeConfig)),
    });
  }

  /** The runtime underneath, for operators that want more than the original offers. */
  protected get manager(): Manager {
    return this.#manager;
  }

  /** Calls `init()`, which registers what to watch, then starts. Resolves once work has begun. Errors: of `init()`. */
  override async start(): Promise<void> {
    await this.init();
    this.#running = this.#manager.run(this.#stop.signal).catch((error: unknown) => {
      this.#failure = error;
      this.logger.error(`operator stopped: ${errorText(error)}`);
    });
  }

  /** Drains and stops; no further watch is opened. Resolves when everything has ended; never ends the process. */
  // The base declares void; a caller that awaits it resumes when everything has ended.
  // eslint-disable-next-line @typescript-eslint/no-misused-promises
  override async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#client.close();
  }

  /** Resolves when the operator has stopped; rejects if an error stopped it (lost lease, caches that never filled). */
  async finished(): Promise<void> {
    await this.#running;
    if (this.#failure !== undefined) throw this.#failure;
  }

  protected override async registerCustomResourceDefinition(
    crdFile: string,
  ): ReturnType<InstanceType<typeof Operator>['registerCustomResourceDefinition']> {
    const crd = parseManifest(await readFile(crdFile, 'utf8')) as CustomResourceDefinition;
    if (!crd?.apiVersion?.startsWith('apiextensions.k8s.io/')) {
      throw new OperatorError(
        'ERR_INPUT_INVALID',
        `${crdFile}: not a CustomResourceDefinition of apiextensions.k8s.io`,
      );
    }
    await this.#client.apply(coreResources.customResourceDefinitions, crd, { fieldManager, force: true });
    await this.#established(crd.metadata.name ?? '');
    this.logger.info(`registered custom resource definition '${crd.metadata.name}'`);
    const { group, versions, names } = crd.spec;
    return { group, versions: versions as never, plural: names.plural };
  }

  protected override getCustomResourceApiUri(
    group: string,
    version: string,
    plural: string,
    namespace?: string,
  ): string {
    const resource = resourceRef({ group, version, kind: '', plural, namespaced: namespace !== undefined });
    return this.#client.server + resourcePath(resource, { namespace });
  }

  protected override async watchResource(
    group: string,
    version: string,
    plural: string,
    onEvent: (event: ResourceEvent) => Promise<void>,
    namespace?: string,
  ): Promise<void> {
    const resource = await this.#discovered(group, version, plural);
    const source = { resource, ...(namespace ? { namespace } : {}) };
    const replay = new EventReplay(this.#manager.cache.informer(source));
    this.#manager.addController({
      name: this.#manager.uniqueName(`${plural}${group ? `.${group}` : ''}${namespace ? `.${namespace}` : ''}`),
      for: { source },
      reconcile: ({ key }) =>
        replay.run(key, ({ type, object }) =>
          onEvent({ type: types[type], object: foreignObject(object), meta: metaOf(plural, object) }),
        ),
    });
    this.logger.info(`watching resource ${plural}.${resource.apiVersion}`);
  }

  protected override async setResourceStatus(meta: ResourceMeta, status: unknown): Promise<ResourceMeta | null> {
    const resource = resourceOf(meta);
    let { resourceVersion } = meta;
    for (let attempt = 1; ; attempt++) {
      const { apiVersion, kind, name, namespace } = meta;
      const body = {
        apiVersion,
        kind,
        metadata: { name, resourceVersion, ...(namespace ? { namespace } : {}) },
        status,
      };
      try {
        const written = await this.#client.update(resource, body as KubeObject, {
          subresource: 'status',
          fieldManager,
        });
        return metaOf(resourceOf(meta).plural, written);
      } catch (error) {
        if (!isConflict(error) || attempt >= maxConflicts) throw error;
        // The event's object may be outdated: the status goes to the current object.
        resourceVersion = (await this.#client.get(resource, meta)).metadata.resourceVersion ?? '';
      }
    }
  }

  protected override async patchResourceStatus(meta: ResourceMeta, status: unknown): Promise<ResourceMeta | null> {
    const patch = { type: 'merge' as const, body: { status } };
    const options = { subresource: 'status' as const, fieldManager };
    const written = await this.#client.patch(resourceOf(meta), meta, patch, options);
    return metaOf(resourceOf(meta).plural, written);
  }

  protected override async handleResourceFinalizer(
    event: ResourceEvent,
    finalizer: string,
    deleteAction: (event: ResourceEvent) => Promise<void>,
  ): Promise<boolean> {
    if (event.type === ResourceEventType.Deleted) return false;
    const resource = resourceOf(event.meta);
    const options = { client: this.#client, resource, finalizer, fieldManager };
    let object: TypedObject = event.object as unknown as KubeObject;
    for (let attempt = 1; ; attempt++) {
      try {
        return (await handleFinalizer(object, options, () => deleteAction(event))) !== 'present';
      } catch (error) {
        if (!isOperatorError(error, 'ERR_API_CONFLICT') || attempt >= maxConflicts) throw error;
        object = await this.#client.get(resource, event.meta);
      }
    }
  }

  protected override async setResourceFinalizers(meta: ResourceMeta, finalizers: string[]): Promise<void> {
    const resource = resourceOf(meta);
    for (let attempt = 1; ; attempt++) {
      const live = await this.#client.get(resource, meta);
      try {
        return await patchFinalizers(live, finalizers, { client: this.#client, resource, fieldManager });
      } catch (error) {
        if (!isOperatorError(error, 'ERR_API_CONFLICT') || attempt >= maxConflicts) throw error;
      }
    }
  }

  protected override async applyAxiosKubeConfigAuth(request: {
    headers?: Record<string, string | number | boolean>;
    httpsAgent?: unknown;
    auth?: { username: string; password: string };
  }): Promise<void> {
    const { authorization, basic, agent } = await foreignAuth(this.kubeConfig);
    if (authorization) request.headers = { ...request.headers, Authorization: authorization };
    if (basic) request.auth = basic;
    request.httpsAgent = agent;
  }

  protected override async applyGaxiosKubeConfigAuth(options: {
    headers?: Record<string, unknown>;
    agent?: unknown;
  }): Promise<void> {
    const { authorization, basic, agent } = await foreignAuth(this.kubeConfig);
    const encoded = basic && `Basic ${Buffer.from(`${basic.username}:${basic.password}`).toString('base64')}`;
    const value = authorization ?? encoded;
    if (value) options.headers = { ...options.headers, Authorization: value };
    options.agent = agent;
  }

  /** Looks the resource up, and waits for a kind that was registered a moment ago. */
  async #discovered(group: string, version: string, plural: string): Promise<ResourceRef> {
    const end = this.#clock.monotonic() + establishedMs;
    for (;;) {
      try {
        return await discover(this.#client, group, version, plural, { signal: this.#stop.signal });
      } catch (error) {
        if (!isOperatorError(error, 'ERR_API_NOT_FOUND') || this.#clock.monotonic() >= end) throw error;
        await sleep(this.#clock, 500, this.#stop.signal);
      }
    }
  }

  async #established(name: string): Promise<void> {
    const end = this.#clock.monotonic() + establishedMs;
    for (;;) {
      const crd = await this.#client.get<KubeObject>(coreResources.customResourceDefinitions, { name });
      // The server writes `conditions: null` until the first condition is set.
      const { conditions } = (crd['status'] ?? {}) as { conditions?: { type: string; status: string }[] | null };
      if (conditions?.some((c) => c.type === 'Established' && c.status === 'True')) return;
      if (this.#clock.monotonic() >= end) throw new OperatorError('ERR_TIMEOUT', `${name} was not established in 30 s`);
      await sleep(this.#clock, 200, this.#stop.signal);
    }
  }
}

const types = {
  ADDED: ResourceEventType.Added,
  MODIFIED: ResourceEventType.Modified,
  DELETED: ResourceEventType.Deleted,
} as const;

interface CustomResourceDefinition extends KubeObject {
  spec: { group: string; versions: unknown[]; names: { plural: string } };
}

/** `<plural>.<apiVersion>` is the id that the base class gives to a resource. */
function resourceOf(meta: ResourceMeta): ResourceRef {
  const plural = meta.id.slice(0, meta.id.length - meta.apiVersion.length - 1);
  const slash = meta.apiVersion.indexOf('/');
  const [group, version] =
    slash < 0 ? ['', meta.apiVersion] : [meta.apiVersion.slice(0, slash), meta.apiVersion.slice(slash + 1)];
  return resourceRef({ group, version, kind: meta.kind, plural, namespaced: meta.namespace !== undefined });
}

/** A logger that writes the lines of the runtime to the logger that was passed to the operator. */
function bridgeLogger(target: OperatorLogger, bound: Readonly<Record<string, unknown>> = {}): Logger {
  const line = (msg: string, fields?: Readonly<Record<string, unknown>>): string => {
    const all = Object.entries({ ...bound, ...fields });
    const text = all.map(([name, value]) => `${name}=${value instanceof Error ? errorText(value) : String(value)}`);
    return all.length === 0 ? msg : `${msg} (${text.join(' ')})`;
  };
  return {
    debug: (msg, fields) => target.debug(line(msg, fields)),
    info: (msg, fields) => target.info(line(msg, fields)),
    warn: (msg, fields) => target.warn(line(msg, fields)),
    error: (msg, fields) => target.error(line(msg, fields)),
    with: (fields) => bridgeLogger(target, { ...bound, ...fields }),
  };
}
