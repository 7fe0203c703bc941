import { invalid, members, parsed } from './read-values.ts';

/** A metric that another adapter offers for a kind of object. Captured series need not have a label for the kind. */
export interface OfferedMetric {
  /** As in paths: `services`, `ingresses.networking.k8s.io`. */
  readonly resource: string;
  readonly metric: string;
  readonly namespaced: boolean;
}

/** The largest number of another adapter's metrics that are added to our discovery. */
export const maxNames = 20_000;
/** `<resource>/<metric>`. A metric's name contains no white space and none of `/`, `%`, `?`, `#`. */
const entryName = /^([a-z0-9][-.a-z0-9]{0,252})\/([^\s/%?#]{1,512})$/;
const externalName = /^[^\s/%?#]{1,512}$/;

/**
 * The metrics in an `APIResourceList` of the custom metrics API, at most `maxNames`; entries whose names cannot be in a
 * path are left out. Errors: AdapterFailure `invalid`.
 */
export function readCustomNames(text: Buffer, groupVersion: string): OfferedMetric[] {
  const names: OfferedMetric[] = [];
  for (const { name, namespaced } of resources(text, groupVersion)) {
    const [, resource, metric] = entryName.exec(name) ?? [];
    if (resource !== undefined && metric !== undefined) names.push({ resource, metric, namespaced });
    if (names.length === maxNames) break;
  }
  return names;
}

/** Like `readCustomNames`, for the external metrics API. */
export function readExternalNames(text: Buffer, groupVersion: string): string[] {
  const names = resources(text, groupVersion).map(({ name }) => name);
  return names.filter((name) => externalName.test(name)).slice(0, maxNames);
}

function resources(text: Buffer, groupVersion: string): { name: string; namespaced: boolean }[] {
  const list = members(parsed(text), 'the answer');
  if (list['kind'] !== 'APIResourceList') throw invalid('kind', 'not APIResourceList');
  if (list['groupVersion'] !== groupVersion) throw invalid('groupVersion', `not ${groupVersion}`);
  const entries: unknown = list['resources'] ?? [];
  if (!Array.isArray(entries)) throw invalid('resources', 'not a list');
  return entries.map((entry: unknown, i) => {
    const { name, namespaced } = members(entry, `resources[${i}]`);
    return { name: String(name), namespaced: namespaced === true };
  });
}
