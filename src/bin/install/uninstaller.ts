import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { kinds } from '../../api/v1alpha1/index.ts';
import { sleep } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { coreResources, getIfExists, isNotFound, listAll } from '../../kube/index.ts';
import { keyOf, keyText } from '../../runtime/index.ts';
import { names, renderDataRemoval, renderedKinds, type AgentStores } from '../../render/index.ts';
import { customMetricsApiServices, externalMetricsApiServices, selectorText } from '../../render/index.ts';
import { findAgentStores } from './agent-stores.ts';
import type { InstallerDeps } from './installer.ts';
import { foreignObjects, isOurs, unlabelled } from './namespaces.ts';
import { refuseOtherInstallation } from './other-installation.ts';
import { rolloutState } from './rollout.ts';

export interface UninstallOptions {
  namespace: string;
  /** Also removes the stores on the nodes. */
  deleteData: boolean;
  /** Keeps the CRDs, and with them every object of our kinds. */
  keepCrds: boolean;
  timeoutMs: number;
  /** Only reports, changes nothing. */
  dryRun: boolean;
  progress: (line: string) => void;
}

const labels = 'app.kubernetes.io/name=svc-operator,app.kubernetes.io/managed-by in (svc-controller,Helm)';

/**
 * Removes an installation, whichever way it was made.
 *
 * Flow: refuse a namespace without the installation → objects of our kinds, while the operator is there to clean up after
 * them → the operator → data on nodes, if requested → API registrations, which must go before a namespace can → objects
 * outside the namespace → the namespace → the CRDs.
 * Guarantees: an object that is already gone is not an error, so a call can be repeated; objects without our labels or
 * names are not touched, and their namespace stays; the call ends only when custom resources, pods, data, the namespace
 * that an installation made and CRDs are gone.
 * Errors: ERR_CONFIG_INVALID, before anything is removed, when the installation is in another namespace; ERR_TIMEOUT that
 * names the remaining objects; ERR_API_NOT_FOUND, after all else is removed, when data is to go and nothing tells where
 * it is; those of the API server.
 */
export async function uninstall(options: UninstallOptions, deps: InstallerDeps): Promise<void> {
  await refuseOtherInstallation(options.namespace, deps);
  const run = new Uninstall(options, deps);
  if (!options.keepCrds) await run.customResources();
  const stores = options.deleteData ? await run.stores() : undefined;
  await run.operator();
  if (stores) await run.data(stores);
  await run.outside();
  await run.namespaced();
  if (!options.keepCrds) await run.definitions();
  if (options.deleteData && !stores)
    throw new OperatorError(
      'ERR_API_NOT_FOUND',
      'data may be left on the nodes: without agents and operator nothing tells in which folder. If it was not ' +
        'removed before, install again with the same --agent-data-host-path, then uninstall with --delete-data',
    );
}

class Uninstall {
  readonly #options: UninstallOptions;
  readonly #deps: InstallerDeps;
  readonly #deadline: number;

  constructor(options: UninstallOptions, deps: InstallerDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#deadline = deps.clock.monotonic() + options.timeoutMs;
  }

  async customResources(): Promise<void> {
    for (const { resource: ref } of kinds) {
      await this.#removeAll(ref);
      await this.#untilGone(ref, () => this.#listed(ref));
    }
    // The Secret with the App ID from `svc install` is in the minter's namespace, which is not removed.
    await this.#removeAll(coreResources.secrets, selectorText('minter'));
  }

  async operator(): Promise<void> {
    const { namespace } = this.#options;
    await this.#remove(coreResources.deployments, { namespace, name: names.controller });
    await this.#untilStopped('controller');
  }

  /**
   * Finds the agents' stores, and keeps what it found in the cluster, as a removal that has no pods yet: whoever knew is
   * gone when a call that was interrupted is repeated.
   */
  async stores(): Promise<AgentStores | undefined> {
    const stores = await findAgentStores(this.#options.namespace, this.#deps);
    const removal = stores && renderDataRemoval(stores, 'waiting');
    if (removal && !this.#options.dryRun) await this.#applyRemoval(removal);
    return stores;
  }

  /** Empties the stores by a temporary DaemonSet, after the agents have released them. It goes with all that is left. */
  async data(stores: AgentStores): Promise<void> {
    const { namespace, progress, dryRun } = this.#options;
    const { client, clock, signal } = this.#deps;
    const removal = renderDataRemoval(stores, 'running');
    await this.#remove(coreResources.daemonSets, { namespace, name: names.agent });
    await this.#untilStopped('agent');
    if (!removal) return progress('agents kept no data on the nodes');
    const what = dryRun ? 'would be removed' : 'is being removed';
    progress(`data in ${stores.agentDataHostPath} ${what} on every node where agents may run`);
    if (dryRun) return;
    await this.#applyRemoval(removal);
    for (let shown = ''; ; await sleep(clock, 500, signal)) {
      const now = await client.get<KubeObject>(coreResources.daemonSets, keyOf(removal), { signal });
      const { done, text } = rolloutState(now);
      if (text !== shown) progress(`data removed: ${text}`);
      shown = text;
      if (done) break;
      this.#inTime(`data on the nodes (${text})`);
    }
  }

  async #applyRemoval(removal: KubeObject): Promise<void> {
    const { client, signal } = this.#deps;
    await client.apply(coreResources.daemonSets, removal, { fieldManager: 'svc-uninstall', force: true, signal });
  }

  /** All our objects outside the namespace. Registrations first: they block the deletion of namespaces. */
  async outside(): Promise<void> {
    const { namespace } = this.#options;
    for (const name of [...customMetricsApiServices, ...externalMetricsApiServices]) {
      const found = await getIfExists<KubeObject>(this.#deps.client, coreResources.apiServices, { name }, this.#deps);
      if (found && leadsTo(found, namespace)) await this.#remove(coreResources.apiServices, { name });
    }
    const apart = ['Namespace', 'APIService'];
    const clusterWide = Object.values(renderedKinds).filter(
      ({ namespaced, kind }) => !namespaced && !apart.includes(kind),
    );
    for (const ref of clusterWide) await this.#removeAll(ref, labels);
    const rights = await this.#listed(coreResources.roleBindings);
    for (const object of rights.filter(({ metadata }) => metadata.name === names.minterManager))
      await this.#remove(coreResources.roleBindings, keyOf(object));
    for (const ref of [coreResources.roleBindings, coreResources.roles])
      await this.#removeAll(ref, labels, 'kube-system');
  }

  async namespaced(): Promise<void> {
    const { namespace, keepCrds } = this.#options;
    const ref = coreResources.namespaces;
    const found = await getIfExists<KubeObject>(this.#deps.client, ref, { name: namespace }, this.#deps);
    if (!found) return;
    const going = keepCrds ? [] : kinds.map(({ resource }) => resource);
    const others = isOurs(found) ? await foreignObjects(found, going, this.#deps) : [];
    if (isOurs(found) && others.length === 0) return this.#removeEntirely(ref, namespace);
    for (const kind of namespacedKinds) await this.#removeAll(kind, labels, namespace);
    for (const [resource, name] of unlabelled) await this.#remove(resource, { namespace, name });
    for (const component of ['agent', 'query'] as const) await this.#untilStopped(component);
    const why = isOurs(found)
      ? `it holds objects of others, such as ${others.slice(0, 3).join(', ')}`
      : 'others made it';
    this.#options.progress(`namespace/${namespace} stays: ${why}`);
  }

  async definitions(): Promise<void> {
    for (const { resource } of kinds)
      await this.#removeEntirely(coreResources.customResourceDefinitions, `${resource.plural}.${resource.group}`);
  }

  async #removeAll(resource: ResourceRef, labelSelector?: string, namespace?: string): Promise<void> {
    for (const object of await this.#listed(resource, labelSelector, namespace))
      await this.#remove(resource, keyOf(object));
  }

  /** Removes a cluster-wide object and waits until it is gone. */
  async #removeEntirely(resource: ResourceRef, name: string): Promise<void> {
    await this.#remove(resource, { name });
    await this.#untilGone(resource, async () => {
      const left = await getIfExists<KubeObject>(this.#deps.client, resource, { name }, this.#deps);
      return left ? [left] : [];
    });
  }

  async #remove(resource: ResourceRef, name: { namespace?: string | undefined; name: string }): Promise<void> {
    const { dryRun, progress } = this.#options;
    const { client, signal } = this.#deps;
    const title = `${resource.kind.toLowerCase()}/${keyText(name)}`;
    if (dryRun) {
      // The server's dry run is not used: a report must not depend on how every kind handles it.
      if (await getIfExists(client, resource, name, { signal, metadataOnly: true }))
        progress(`${title} would be deleted`);
      return;
    }
    try {
      await client.delete(resource, name, { propagation: 'Background', signal });
      progress(`${title} deleted`);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Objects of a kind; none when the server does not know the kind. */
  async #listed(resource: ResourceRef, labelSelector?: string, namespace?: string): Promise<KubeObject[]> {
    try {
      const { items } = await listAll(this.#deps.client, resource, {
        labelSelector,
        namespace,
        signal: this.#deps.signal,
      });
      return items;
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  }

  /** Waits until no pod of a component is left. */
  async #untilStopped(component: 'agent' | 'controller' | 'query'): Promise<void> {
    const { namespace } = this.#options;
    const pods = coreResources.pods;
    await this.#untilGone(pods, () => this.#listed(pods, selectorText(component), namespace));
  }

  async #untilGone(resource: ResourceRef, left: () => Promise<readonly KubeObject[]>): Promise<void> {
    if (this.#options.dryRun) return;
    for (;;) {
      const objects = await left();
      if (objects.length === 0) return;
      this.#inTime(`${resource.kind.toLowerCase()}/${objects.map((o) => keyText(keyOf(o))).join(', ')}`);
      await sleep(this.#deps.clock, 300, this.#deps.signal);
    }
  }

  #inTime(what: string): void {
    if (this.#deps.clock.monotonic() > this.#deadline)
      throw new OperatorError('ERR_TIMEOUT', `still there after ${this.#options.timeoutMs / 1000} s: ${what}`);
  }
}

function leadsTo(apiService: KubeObject, namespace: string): boolean {
  const { service } = (apiService['spec'] ?? {}) as { service?: { name?: string; namespace?: string } };
  return service?.name === names.query && service.namespace === namespace;
}

/** Kinds that an installation or the operator creates in a namespace. */
const namespacedKinds = Object.values(renderedKinds).filter(({ namespaced }) => namespaced);
