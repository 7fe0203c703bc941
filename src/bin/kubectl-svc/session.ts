import type { ResourceRef } from '../../api/meta.ts';
import type { Clock } from '../../base/clock.ts';
import type { RestClient } from '../../kube/index.ts';
import type { QueryServer } from './connect/query-server.ts';
import { ClosedOutputError, UsageError } from './errors.ts';
import type { CommonFlags } from './flags.ts';
import type { Host, Output } from './host.ts';
import { styles, type Styles } from './output/style.ts';
import { printable } from './output/table.ts';

/** The tools of a command: the user's terminal, the cluster, the query server. Each is loaded on first use. */
export class Session {
  readonly flags: CommonFlags;
  /** The process that the command runs in. */
  readonly host: Host;
  /** The words of the command line, for flags whose meaning depends on their place. */
  readonly words: readonly string[];
  #kube: Promise<RestClient> | undefined;
  #server: Promise<QueryServer> | undefined;

  constructor(flags: CommonFlags, host: Host, words: readonly string[]) {
    if (flags.allNamespaces && flags.namespace !== undefined)
      throw new UsageError('--namespace and --all-namespaces exclude each other');
    this.flags = flags;
    this.host = host;
    this.words = words;
  }

  /** For results. */
  get stdout(): Output {
    return this.host.stdout;
  }

  /** For everything but results: warnings, missing nodes, progress. */
  get stderr(): Output {
    return this.host.stderr;
  }

  /** Colours of the standard output; none unless it is a terminal and `NO_COLOR` is unset. */
  get style(): Styles {
    return styles(this.host.stdout, this.host.env);
  }

  /** Writes a warning line to stderr, with control characters escaped. */
  warn(text: string): void {
    const { yellow } = styles(this.host.stderr, this.host.env);
    this.host.stderr.write(`${yellow('warning:')} ${printable(text)}\n`);
  }

  get clock(): Clock {
    return this.host.clock;
  }

  /**
   * Aborts at Ctrl-C, and when the reader of stdout has closed it. A command that follows or watches then ends with
   * `endWatch`. Any other throws the abort error, unless it is done.
   */
  get signal(): AbortSignal {
    return this.host.signal;
  }

  /** Ends a command whose normal end is Ctrl-C. Errors: ClosedOutputError when the reader of stdout ended it. */
  endWatch(): void {
    if (this.signal.reason instanceof ClosedOutputError) throw this.signal.reason;
  }

  /** All of the standard input as text. Errors: PluginError with the remedy when it has more than `maxBytes`. */
  readStdin(maxBytes: number, remedy: string): Promise<string> {
    return this.host.readStdin(maxBytes, remedy);
  }

  /** The API server that kubeconfig and flags select. Errors: ERR_CONFIG_INVALID. */
  kube(): Promise<RestClient> {
    return (this.#kube ??= this.#openKube());
  }

  /** The selected namespace: that of `-n`, else that of the context, else `default`. Undefined with `-A`. */
  async namespace(): Promise<string | undefined> {
    const { allNamespaces, namespace } = this.flags;
    if (allNamespaces) return undefined;
    return namespace ?? (await this.kube()).namespace ?? 'default';
  }

  /** Names of objects, for completion: those of the selected namespace, at most 500. */
  async names(resource: ResourceRef): Promise<string[]> {
    const namespace = resource.namespaced ? await this.namespace() : undefined;
    const client = await this.kube();
    const { items } = await client.list(resource, { namespace, metadataOnly: true, limit: 500, signal: this.signal });
    return items.flatMap(({ metadata }) => metadata.name ?? []);
  }

  /** The query server; by default through a port-forward to a ready pod. Errors: PluginError with a remedy. */
  connect(): Promise<QueryServer> {
    return (this.#server ??= this.#connect());
  }

  /** A new connection that replaces the previous one: the pods may have changed. Errors: as `connect`. */
  async reconnect(): Promise<QueryServer> {
    await this.#server?.then((server) => server.close()).catch(() => {});
    this.#server = undefined;
    return this.connect();
  }

  /** Ends every connection. */
  async close(): Promise<void> {
    await this.#server?.then((server) => server.close()).catch(() => {});
    await this.#kube?.then((kube) => kube.close()).catch(() => {});
  }

  async #openKube(): Promise<RestClient> {
    if (this.host.kube) return this.host.kube();
    const { createKubeClient } = await import('../../kube/index.ts');
    const { kubeconfig, context, as } = this.flags;
    return createKubeClient({ kubeconfig, context, impersonate: as, userAgent: 'kubectl-svc' });
  }

  async #connect(): Promise<QueryServer> {
    if (this.host.connect) return this.host.connect();
    const { connectQueryServer } = await import('./connect/connect.ts');
    return connectQueryServer(this.flags, { kube: () => this.kube(), clock: this.clock, signal: this.signal });
  }
}
