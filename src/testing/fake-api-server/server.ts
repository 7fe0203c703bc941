import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import {
  coreResources,
  createKubeClient,
  type KubeClient,
  type KubeClientOptions,
  type RestClient,
} from '../../kube/index.ts';
import { readApplied } from './apply-body.ts';
import { FaultScript, matchesRequest, type Fault, type RequestMatch, type SeenRequest, type Verb } from './faults.ts';
import { applyJsonPatch, applyMergePatch } from './json-patch.ts';
import { isBuiltIn, needsVersion } from './kinds.ts';
import { matchesFields, matchesLabels } from './selectors.ts';
import { expired, notFound, StatusError, tooLargeVersion, versionMissing } from './status-error.ts';
import { Storage } from './storage.ts';
import { mergeApplied } from './field-sets.ts';
import { metadataOf, WatchConnection } from './watch-connection.ts';

/** Which kinds the server knows, and how it is set up. */
export interface FakeApiServerOptions {
  /** Kinds in addition to the built-in ones. */
  resources?: readonly ResourceRef[];
  /**
   * Serve `sendInitialEvents`. When false, the server refuses it, as a server without the feature does. Default true.
   */
  streamingList?: boolean;
  /** How a watch from a compacted version fails. Default: by an ERROR frame, which real servers mostly send. */
  expiry?: 'frame' | 'http';
  /** The only bearer token that is accepted. Default: no token is required. */
  token?: string;
  /** Minor version of Kubernetes that `/version` names. Default 34. */
  minor?: number;
  /** Wall time for creation timestamps. Default the system's. */
  now?: () => number;
}

/**
 * An API server on loopback that holds objects in memory and misbehaves as scripted.
 *
 * Like a real server (a test compares each point): paths, versions, generations, uids, label and field selectors,
 * paging, watch with resume, bookmarks and streaming list, metadata alone, 404/409/410/422, status subresource,
 * server-side apply with managedFields and conflicts, whose body is read as YAML (see apply-body.ts), JSON, merge and
 * strategic patch, finalizers, preconditions.
 * Not implemented: validation, defaulting, admission, RBAC, garbage collection. Strategic patches merge lists by the
 * same few keys as apply. Every kind is served as one with a status subresource.
 */
export class FakeApiServer {
  readonly storage: Storage;
  readonly faults = new FaultScript();
  /** Every request, in order. */
  readonly requests: SeenRequest[] = [];
  readonly watches: WatchConnection[] = [];
  token: string | undefined;
  expiry: 'frame' | 'http';
  streamingList: boolean;
  /** When false, a streamed list has no end, as from a watch cache that does not catch up. */
  endsInitialEvents = true;
  #server: Server | undefined;
  readonly #minor: number;
  readonly #resources: Map<string, ResourceRef>;
  readonly #sockets = new Set<Socket>();
  #port = 0;
  #continueBefore = 0;

  constructor(options: FakeApiServerOptions = {}) {
    this.storage = new Storage(options.now ?? Date.now);
    this.token = options.token;
    this.expiry = options.expiry ?? 'frame';
    this.#minor = options.minor ?? 34;
    this.streamingList = options.streamingList ?? true;
    const all = [...Object.values(coreResources), ...(options.resources ?? [])];
    this.#resources = new Map(all.map((r) => [`${r.apiVersion}/${r.plural}`, r]));
    this.storage.onEvent((event) => {
      for (const watch of this.watches) if (watch.open) watch.deliver(event);
    });
  }

  static async start(options: FakeApiServerOptions = {}): Promise<FakeApiServer> {
    const server = new FakeApiServer(options);
    await server.listen();
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Binds; a second call after `stop` binds the same port again, as a restarted server does. */
  async listen(): Promise<void> {
    this.#server = createServer((req, res) => void this.#serve(req, res));
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve) => this.#server!.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Stops as a killed process does: every connection is cut. The stored objects stay. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (!server) return;
    this.#server = undefined;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of this.#sockets) socket.resetAndDestroy();
    await closed;
  }

  /** A client of this server. */
  client(clock?: Clock, options: Omit<KubeClientOptions, 'server' | 'clock'> = {}): KubeClient {
    return this.restClient(clock, options);
  }

  /** @internal The same client, with the methods that only our own programs use. */
  restClient(clock?: Clock, options: Omit<KubeClientOptions, 'server' | 'clock'> = {}): RestClient {
    return createKubeClient({ ...options, server: this.url, ...(clock ? { clock } : {}) });
  }

  /** Adds a kind, as creating a CRD does. */
  addResource(resource: ResourceRef): void {
    this.#resources.set(`${resource.apiVersion}/${resource.plural}`, resource);
  }

  /** The resource of an object's kind. Errors: throws for a kind that the server does not know. */
  resourceOf(object: KubeObject): ResourceRef {
    const found = [...this.#resources.values()].find(
      (r) => r.apiVersion === object.apiVersion && r.kind === object.kind,
    );
    if (!found) throw new Error(`the scripted server knows no ${object.apiVersion} ${object.kind}: name its resource`);
    return found;
  }

  /** The next `times` matching requests get `fault`. */
  script(match: RequestMatch, fault: Fault, times = 1): void {
    this.faults.add(match, fault, times);
  }

  /** The matching requests so far. */
  seen(match: RequestMatch = {}): SeenRequest[] {
    return this.requests.filter((r) => matchesRequest(r, match));
  }

  /** Watches of a resource that are open now. */
  openWatches(plural?: string): WatchConnection[] {
    return this.watches.filter((w) => w.open && (plural === undefined || w.resource.plural === plural));
  }

  /** Sends a bookmark with the newest version to every open watch. */
  bookmarkAll(): void {
    for (const watch of this.openWatches()) watch.bookmark(String(this.storage.version));
  }

  /** Expires all continue tokens issued so far, and all versions from which a watch could resume. */
  expireContinueTokens(): void {
    this.#continueBefore = this.storage.version + 1;
    this.storage.compact();
  }

  /** A write of another client: `manager` becomes the owner of the fields that `object` sets. */
  put(resource: ResourceRef, object: KubeObject, manager = 'somebody'): KubeObject {
    const { namespace, name = '' } = object.metadata;
    const old = this.storage.find(resource, namespace, name);
    if (!old) return this.storage.create(resource, object, { manager });
    const { resourceVersion: _rv, ...metadata } = { ...old.metadata, ...object.metadata };
    return this.storage.update(resource, { ...old, ...object, metadata }, { manager });
  }

  /** Sets the status, as a controller of another kind does. */
  putStatus(resource: ResourceRef, namespace: string | undefined, name: string, status: unknown): KubeObject {
    const old = this.storage.get(resource, namespace, name);
    return this.storage.update(resource, { ...old, status }, { manager: 'somebody', subresource: 'status' });
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      const body = await readBody(req);
      const { seen, resource } = this.#parse(req);
      this.requests.push(seen);
      const fault = this.faults.take(seen);
      if (fault?.do === 'hold' && !fault.afterWork) await fault.until;
      if (fault?.do === 'reset' && !fault.afterWork) return void req.socket.resetAndDestroy();
      if (fault?.do === 'fail') return sendError(res, fault.error, fault.retryAfter);
      if (fault?.do === 'raw') {
        return void res.writeHead(fault.status, { 'content-type': fault.contentType ?? 'text/plain' }).end(fault.body);
      }
      if (this.token !== undefined && seen.authorization !== `Bearer ${this.token}`) {
        throw new StatusError(401, 'Unauthorized', 'Unauthorized');
      }
      if (!resource && seen.plural === '') return send(res, 200, this.#discovery(seen.path));
      if (!resource) throw notFound(`the server could not find the requested resource ${seen.path}`);
      if (seen.verb === 'watch') return this.#watch(seen, resource, res);
      const answer = this.#act(seen, resource, body);
      if (fault?.do === 'hold') await fault.until;
      if (fault?.do === 'reset') return void req.socket.resetAndDestroy();
      send(res, seen.verb === 'create' ? 201 : 200, answer);
    } catch (error) {
      if (error instanceof StatusError) sendError(res, error);
      else sendError(res, new StatusError(500, 'InternalError', String((error as Error).stack)));
    }
  }

  #parse(req: IncomingMessage): { seen: SeenRequest; resource: ResourceRef | undefined } {
    const url = new URL(req.url ?? '/', 'http://fake');
    const parts = url.pathname.split('/').filter(Boolean).map(decodeURIComponent);
    const [root] = parts.splice(0, 1);
    const apiVersion = root === 'api' ? (parts.shift() ?? '') : parts.splice(0, 2).join('/');
    let namespace: string | undefined;
    if (parts[0] === 'namespaces' && parts.length > 2 && parts[2] !== 'status' && parts[2] !== 'finalize') {
      [, namespace] = parts.splice(0, 2);
    }
    const [plural = '', name, subresource] = parts;
    const method = req.method ?? 'GET';
    const seen: SeenRequest = {
      verb: verbOf(method, name, url.searchParams, req.headers['content-type']),
      method,
      path: url.pathname,
      plural,
      namespace,
      name,
      subresource,
      query: url.searchParams,
      authorization: req.headers.authorization,
      userAgent: req.headers['user-agent'],
      metadataOnly: /;\s*as=PartialObjectMetadata/.test(req.headers.accept ?? ''),
    };
    return { seen, resource: this.#resources.get(`${apiVersion}/${plural}`) };
  }

  /** The version of the server, the list of groups, or the resource list of one group and version. */
  #discovery(path: string): unknown {
    const all = [...this.#resources.values()];
    // As some providers do, with a plus sign for their own changes.
    if (path === '/version') return { major: '1', minor: `${this.#minor}+`, gitVersion: `v1.${this.#minor}.0-fake` };
    if (path === '/apis') {
      const groups = Map.groupBy(
        all.filter(({ group }) => group !== ''),
        ({ group }) => group,
      );
      const shown = [...groups].map(([name, resources]) => ({
        name,
        versions: [...new Set(resources.map(({ version }) => version))].map((version) => ({ version })),
      }));
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: shown };
    }
    const apiVersion = path.replace(/^\/apis?\//, '');
    const resources = all.filter((r) => r.apiVersion === apiVersion);
    if (resources.length === 0) throw notFound(path);
    const verbs = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];
    const shown = resources.map((r) => ({ name: r.plural, kind: r.kind, namespaced: r.namespaced, verbs }));
    return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersion, resources: shown };
  }

  #act(seen: SeenRequest, resource: ResourceRef, body: string): unknown {
    const { namespace, name = '', subresource, query } = seen;
    const manager = query.get('fieldManager') ?? seen.userAgent ?? 'unknown';
    const meta = { manager, subresource };
    const storage = query.get('dryRun') === 'All' ? this.storage.copy() : this.storage;
    const sent = (read = JSON.parse): KubeObject => withNamespace(read(body) as KubeObject, namespace);
    switch (seen.verb) {
      case 'get': {
        const found = this.storage.get(resource, namespace, name);
        return seen.metadataOnly ? metadataOf(found) : found;
      }
      case 'list':
        return this.#list(seen, resource);
      case 'create':
        if (resource.namespaced && namespace === undefined) throw notFound(seen.path);
        return storage.create(resource, withoutStatus(sent()), meta);
      case 'update': {
        const object = sent();
        const isBlind = !object.metadata.resourceVersion && storage.find(resource, namespace, name) !== undefined;
        if (isBlind && needsVersion(resource)) throw versionMissing(resource, name);
        return storage.update(resource, object, meta);
      }
      case 'apply': {
        const force = query.get('force') === 'true';
        const applied = sent(readApplied);
        const object = subresource === 'status' ? applied : withoutStatus(applied);
        return storage.apply(resource, object, { ...meta, force });
      }
      case 'patch':
        return storage.update(resource, this.#patched(seen, resource, JSON.parse(body)), meta);
      case 'delete': {
        // As in the real server, the options of a delete with a body come from the body, not from the query.
        const options: { preconditions?: { uid?: string }; dryRun?: string[] } =
          body === '' ? { dryRun: query.getAll('dryRun') } : (JSON.parse(body) as object);
        const target = options.dryRun?.includes('All') ? this.storage.copy() : this.storage;
        return target.remove(resource, namespace, name, options.preconditions);
      }
      case 'watch':
        throw new Error('served elsewhere');
    }
  }

  #patched(seen: SeenRequest, resource: ResourceRef, patch: unknown): KubeObject {
    const old = this.storage.get(resource, seen.namespace, seen.name ?? '');
    // A patch is based on the stored object; only a patch that names a version is conditional.
    const base = { ...old, metadata: { ...old.metadata } };
    if (Array.isArray(patch)) return applyJsonPatch(base, patch as never) as KubeObject;
    const merge = seen.query.get('patchType') === 'strategic' ? mergeApplied : applyMergePatch;
    return merge(base, patch) as KubeObject;
  }

  #list(seen: SeenRequest, resource: ResourceRef): unknown {
    const { query, namespace } = seen;
    let all = this.storage.list(resource);
    if (namespace !== undefined) all = all.filter((o) => o.metadata.namespace === namespace);
    const labels = query.get('labelSelector');
    const fields = query.get('fieldSelector');
    if (labels) all = all.filter((o) => matchesLabels(o, labels));
    if (fields) all = all.filter((o) => matchesFields(o, fields));
    let version = this.storage.version;
    if (Number(query.get('resourceVersion') ?? 0) > version)
      throw tooLargeVersion(query.get('resourceVersion')!, version);
    let from = 0;
    const token = query.get('continue');
    if (token) {
      [version = 0, from = 0] = token.split(':').map(Number);
      if (version < this.#continueBefore)
        throw expired('The provided continue parameter is too old to display a consistent list result.');
    }
    // An answer from the cache of the server is whole, whatever the limit.
    const limit = query.get('resourceVersion') === '0' ? 0 : Number(query.get('limit') ?? 0);
    const items = limit > 0 ? all.slice(from, from + limit) : all;
    const more = limit > 0 && from + limit < all.length;
    const metadata = { resourceVersion: String(version), ...(more ? { continue: `${version}:${from + limit}` } : {}) };
    if (seen.metadataOnly) {
      const bare = items.map(metadataOf);
      return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadataList', metadata, items: bare };
    }
    // Items of built-in kinds lack apiVersion and kind, as in the answers of the real server.
    const shown = isBuiltIn(resource) ? items.map(({ apiVersion: _a, kind: _k, ...rest }) => rest) : items;
    return { apiVersion: resource.apiVersion, kind: `${resource.kind}List`, metadata, items: shown };
  }

  #watch(seen: SeenRequest, resource: ResourceRef, res: ServerResponse): void {
    const { query } = seen;
    const initial = query.get('sendInitialEvents') === 'true';
    if (initial && !this.streamingList) {
      throw new StatusError(
        422,
        'Invalid',
        'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled',
      );
    }
    const from = Number(query.get('resourceVersion') ?? '0');
    const tooOld = !initial && from !== 0 && from < this.storage.compactedTo;
    if (tooOld && this.expiry === 'http') throw expired();
    res.writeHead(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' });
    res.flushHeaders();
    const watch = new WatchConnection(seen, resource, res);
    if (tooOld) {
      watch.error(expired(`too old resource version: ${from} (${this.storage.version})`));
      return watch.end();
    }
    this.watches.push(watch);
    if (initial || from === 0) {
      for (const object of this.storage.list(resource)) if (watch.selects(object)) watch.frame('ADDED', object);
      if (initial && this.endsInitialEvents)
        watch.bookmark(String(this.storage.version), { 'k8s.io/initial-events-end': 'true' });
    } else {
      for (const event of this.storage.history) if (event.version > from) watch.deliver(event);
    }
  }
}

function verbOf(method: string, name: string | undefined, query: URLSearchParams, type = ''): Verb {
  if (method === 'GET') return name !== undefined ? 'get' : query.get('watch') === 'true' ? 'watch' : 'list';
  if (method === 'POST') return 'create';
  if (method === 'PUT') return 'update';
  if (method === 'DELETE') return 'delete';
  if (type.startsWith('application/strategic-merge-patch')) query.set('patchType', 'strategic');
  return type.startsWith('application/apply-patch') ? 'apply' : 'patch';
}

function withNamespace(object: KubeObject, namespace: string | undefined): KubeObject {
  return namespace === undefined ? object : { ...object, metadata: { ...object.metadata, namespace } };
}

/** A create or an apply of an object sets no status: only the subresource does. */
function withoutStatus({ status: _, ...object }: KubeObject): KubeObject {
  return object;
}

async function readBody(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

function send(res: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
}

function sendError(res: ServerResponse, error: StatusError, retryAfter?: string): void {
  const text = JSON.stringify(error.toStatus());
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(retryAfter !== undefined ? { 'retry-after': retryAfter } : {}),
  };
  res.writeHead(error.code, headers).end(text);
}
