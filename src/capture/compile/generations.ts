import type { ClusterTrafficPolicy, TrafficMonitor } from '../../api/v1alpha1/index.ts';
import type { CaptureConfig } from '../capture-config.ts';
import { objectPath } from './select/precedence.ts';

/**
 * The key of an object in the `generations` of a config, such as `TrafficMonitor/shop/m@4f9c2a1b`: the object's name
 * and the first eight characters of its uid. An object that was deleted and created again has generation 1 again; the
 * uid tells the two apart.
 */
export function generationKey(object: TrafficMonitor | ClusterTrafficPolicy): string {
  return `${object.kind}/${objectPath(object.metadata)}@${(object.metadata.uid ?? '').slice(0, 8)}`;
}

/** The name of the object with this key, such as `TrafficMonitor/shop/m`. A key of version 0.1.0 is the name alone. */
export function objectOfKey(key: string): string {
  return key.split('@', 1)[0]!;
}

/**
 * The generation of the object with this key; undefined if the object is not in the config. In a config of version
 * 0.1.0 the uid is unknown: any object of the same name counts.
 */
export function generationOf(generations: CaptureConfig['generations'], key: string): number | undefined {
  return generations[key] ?? generations[objectOfKey(key)];
}
