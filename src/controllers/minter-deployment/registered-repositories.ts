import type { MinterDeployment } from '../../api/v1alpha1/index.ts';
import { isRepositoryName } from '../../api/v1alpha1/repository-name.ts';
import { joined } from '../../base/errors.ts';

/** The ConfigMap, in the namespace of the MinterDeployment, in which a GitOps platform registers more repositories. */
export const registryConfigMap = 'gitops-state';
/** The ConfigMap's key: one repository a line, `name` or `organisation/name`; `#` starts a comment. */
export const registryKey = 'repositories';

/** The same limit as the field `vcs.extraRepositories`. */
const maxRepositories = 50;

export interface RegisteredRepositories {
  /** Names in the primary organisation, in the order of the lines. */
  names: string[];
  /** The invalid lines, as a sentence; the other lines are in force. */
  fault?: string;
  /** Registered repositories that are not in force because the minter does not trust the registry, as a sentence. */
  ignored?: string;
}

/**
 * The registered repositories that a minter (it gives out GitHub tokens) serves. Pure.
 * Guarantees: without `vcs.trustGitOpsState` nothing in the ConfigMap changes what the minter serves, and no fault in
 * it makes the minter faulty: permission to write a ConfigMap is not permission to decide about repositories.
 */
export function repositoriesInForce(
  { spec: { vcs } }: MinterDeployment,
  data: Readonly<Record<string, string>> | undefined,
): RegisteredRepositories {
  const registered = registeredRepositories(data, vcs.org);
  if (vcs.trustGitOpsState) return registered;
  const declared = [vcs.repository, ...(vcs.extraRepositories ?? [])];
  const more = registered.names.filter((name) => !declared.includes(name));
  if (more.length === 0) return { names: [] };
  const ignored = `ConfigMap ${registryConfigMap} registers ${more[0]}${more.length > 1 ? ` and ${more.length - 1} more` : ''}, which count only with vcs.trustGitOpsState: true`;
  return { names: [], ignored };
}

/**
 * Reads the registry. Pure.
 * Guarantees: a repository of another organisation is never taken, whatever else the ConfigMap holds.
 */
export function registeredRepositories(
  data: Readonly<Record<string, string>> | undefined,
  org: string,
): RegisteredRepositories {
  const names: string[] = [];
  const faults: string[] = [];
  for (const [i, line] of (data?.[registryKey] ?? '').split('\n').entries()) {
    const entry = line.replace(/#.*/, '').trim();
    if (entry === '') continue;
    const wrong =
      faultOf(entry, org) ??
      (names.length >= maxRepositories ? `is one too many: ${maxRepositories} are taken` : undefined);
    if (wrong) faults.push(`line ${i + 1}: ${JSON.stringify(entry.slice(0, 140))} ${wrong}`);
    else names.push(entry.slice(entry.indexOf('/') + 1));
  }
  const fault = `ConfigMap ${registryConfigMap}, ${registryKey}, ${joined(faults)}`;
  return { names: [...new Set(names)], ...(faults.length === 0 ? {} : { fault }) };
}

function faultOf(entry: string, org: string): string | undefined {
  const [name = '', owner = org, ...more] = entry.split('/').toReversed();
  if (more.length > 0) return 'is neither a name nor organisation/name';
  if (owner !== org) return `is not in the organisation ${org}, the only one that this minter serves`;
  return isRepositoryName(name) ? undefined : 'is not the name of a repository';
}

/** The object as if its spec declared the registered repositories as well. */
export function withRegistered<T extends MinterDeployment>(minter: T, names: readonly string[]): T {
  const { vcs } = minter.spec;
  const declared = [vcs.repository, ...(vcs.extraRepositories ?? [])];
  const more = names.filter((name) => !declared.includes(name));
  if (more.length === 0) return minter;
  const extraRepositories = [...(vcs.extraRepositories ?? []), ...more];
  return { ...minter, spec: { ...minter.spec, vcs: { ...vcs, extraRepositories } } };
}
