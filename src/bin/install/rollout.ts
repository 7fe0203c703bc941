import type { KubeObject, ResourceRef } from '../../api/meta.ts';
import { rolloutOf } from '../../api/statuses.ts';
import { sleep } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { coreResources, getIfExists } from '../../kube/index.ts';
import { names } from '../../render/index.ts';
import type { InstallerDeps } from './installer.ts';

/** The progress of a workload's rollout, such as `3/3 nodes`, and whether it is complete. Pure. */
export function rolloutState(workload: KubeObject | undefined): { done: boolean; text: string } {
  if (!workload) return { done: false, text: 'not there yet' };
  const { seen, wanted, updated, available, done } = rolloutOf(workload);
  if (!seen) return { done, text: 'not observed by its controller yet' };
  const unit = workload.kind === 'DaemonSet' ? 'nodes' : 'replicas';
  return { done, text: `${Math.min(updated, available)}/${wanted} ${unit}` };
}

/** What a step of the wait looks at, whether it is complete, and its progress. */
interface Step {
  title: string;
  look: () => Promise<{ done: boolean; text: string }>;
}

/**
 * Waits until operator, agents and query servers are rolled out, one after another, and reports each step once.
 *
 * Flow: the operator's pods → a pod of the new version leads → it has given agents and query servers their new images →
 * their pods. Before the new version leads, those of the old one look complete.
 * Caveats: a new setting that changes no image may not have reached agents and query servers when the wait ends. The
 * same holds for a new image where admission replaces its tag by a digest, unless the operator's own pods have that
 * image: the old image cannot be told from the new one.
 * Errors: ERR_TIMEOUT that names the first step that is not complete, and its progress.
 */
export async function untilRolledOut(
  namespace: string,
  timeoutMs: number,
  deps: InstallerDeps,
  progress: (line: string) => void,
): Promise<void> {
  const { client, clock, signal } = deps;
  const deadline = clock.monotonic() + timeoutMs;
  const read = (resource: ResourceRef, name: string): Promise<KubeObject | undefined> =>
    getIfExists<KubeObject>(client, resource, { namespace, name }, { signal });
  const { deployments, daemonSets, leases, pods } = coreResources;
  let operator: KubeObject | undefined;
  const part = (resource: ResourceRef, name: string): Step => ({
    title: `${resource.kind.toLowerCase()}/${name}`,
    look: async () => {
      const workload = await read(resource, name);
      const old = workload ? oldImages(workload, operator) : [];
      return old.length > 0 ? { done: false, text: `still of ${old.join(' and ')}` } : rolloutState(workload);
    },
  });
  const steps: Step[] = [
    {
      title: `deployment/${names.controller}`,
      look: async () => rolloutState((operator = await read(deployments, names.controller))),
    },
    {
      title: `lease/${names.controller}`,
      look: async () => {
        const holder = holderOf(await read(leases, names.controller));
        const pod = holder === '' ? undefined : await read(pods, holder);
        // The Deployment is rolled out, so a pod of an older version is gone or ends.
        const done = pod !== undefined && pod.metadata.deletionTimestamp === undefined;
        return { done, text: done ? `held by ${holder}` : 'not yet held by a pod of this version' };
      },
    },
    part(daemonSets, names.agent),
    part(deployments, names.query),
  ];
  for (const { title, look } of steps) {
    for (let shown = ''; ;) {
      const { done, text } = await look();
      if (text !== shown) progress(`${title}: ${text}`);
      shown = text;
      if (done) break;
      if (clock.monotonic() >= deadline)
        throw new OperatorError('ERR_TIMEOUT', `${title} is not ready after ${timeoutMs / 1000} s: ${text}`);
      await sleep(clock, 500, signal);
    }
  }
}

/** The pod that holds a Lease of the operator; empty for none. */
function holderOf(lease: KubeObject | undefined): string {
  const { holderIdentity } = (lease?.['spec'] ?? {}) as { holderIdentity?: string | null };
  // The identity is the pod's name and a random part.
  return (holderIdentity ?? '').split('_')[0]!;
}

/** The flag of the operator that names the image of a container of agents or query servers. */
const imageFlags: Readonly<Record<string, string>> = {
  agent: '--svc-image=',
  instrument: '--instrument-image=',
  query: '--svc-image=',
};

/** The images in a workload's template that are not those of the operator's flags. Pure. */
function oldImages(workload: KubeObject, operator: KubeObject | undefined): string[] {
  const controller = containersOf(operator).find(({ name }) => name === 'controller');
  const args = controller?.args ?? [];
  return containersOf(workload).flatMap(({ name, image }) => {
    const flag = imageFlags[name];
    const given = flag === undefined ? undefined : args.find((arg) => arg.startsWith(flag));
    return given === undefined || mayComeOf(given.slice(flag!.length), image, controller!.image) ? [] : [image];
  });
}

/**
 * Whether admission may have made the image of the given one. It may have pointed it to a mirror, so only what follows
 * the last slash counts, and it may have pinned the tag to a digest, with or without the tag. Then the image of the
 * operator itself has the same digest if it has the same name. Pure.
 */
function mayComeOf(given: string, image: string, operatorImage: string): boolean {
  const [from, to, own] = [partsOf(given), partsOf(image), partsOf(operatorImage)];
  if (from.name !== to.name) return false;
  if (from.digest !== undefined) return from.digest === to.digest;
  const pinned = own.name === from.name && own.digest !== undefined && to.digest !== undefined;
  if (pinned && own.digest !== to.digest) return false;
  return from.tag === to.tag || (to.tag === undefined && to.digest !== undefined);
}

/** An image without its registry and path. A registry can have a port, so a tag is looked for behind the last slash. */
function partsOf(image: string): { name: string; tag?: string | undefined; digest?: string | undefined } {
  const [tagged = '', digest] = image.slice(image.lastIndexOf('/') + 1).split('@');
  const [name = '', tag] = tagged.split(':');
  return { name, tag, digest };
}

function containersOf(workload: KubeObject | undefined): { name: string; image: string; args?: string[] }[] {
  const spec = workload?.['spec'] as { template?: { spec?: { containers?: [] } } } | undefined;
  return spec?.template?.spec?.containers ?? [];
}
