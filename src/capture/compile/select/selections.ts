import { compareText } from '../../../base/text/texts.ts';
import type { Exclusion, TrafficMonitorSpec } from '../../../api/v1alpha1/index.ts';
import { canonicalJson } from '../../../base/canonical-json.ts';
import type { LabelTest, Selection } from '../../instrument-yaml/settings.ts';
import { portRanges } from '../../ports.ts';
import { labelTests, matchesGlob } from './selector.ts';

/**
 * What a monitor selects, one selection per workload, always confined to its own namespace.
 * Empty when its label requirements exclude each other.
 */
export function monitorSelections(namespace: string, spec: TrafficMonitorSpec): Selection[] {
  const tests = labelTests(spec.selector);
  if (tests === null) return [];
  const common: Selection = {
    namespaces: [namespace],
    ...(Object.keys(tests).length > 0 ? { podLabels: tests } : {}),
    ...(spec.containers?.include ? { containers: spec.containers.include } : {}),
    ...(spec.ports ? { ports: portRanges(spec.ports) } : {}),
  };
  if (!spec.workloads) return [common];
  return distinct(spec.workloads.map(({ kind, name }) => ({ ...common, workload: { kind, name } })));
}

/**
 * The selections of one exclusion of a policy, one per workload. `within` are the names of the policy's namespaces, or
 * undefined when it covers all. If the policy covers only some, the exclusion is narrowed to those of them that its own
 * `namespaces` match; if none is left, there is no selection.
 */
export function exclusionSelections(exclusion: Exclusion, within: readonly string[] | undefined): Selection[] {
  const globs = exclusion.namespaces;
  const namespaces = within ? within.filter((ns) => !globs || globs.some((g) => matchesGlob(g, ns))) : globs;
  if (within && namespaces!.length === 0) return [];
  const common: Selection = {
    ...(namespaces ? { namespaces } : {}),
    ...(exclusion.podLabels ? { podLabels: globTests(exclusion.podLabels) } : {}),
    ...(exclusion.executables ? { executables: exclusion.executables } : {}),
    ...(exclusion.ports ? { ports: portRanges(exclusion.ports) } : {}),
  };
  if (!exclusion.workloads) return [common];
  return exclusion.workloads.map(({ kind, name }) => ({ ...common, workload: { kind, name } }));
}

/** Sorted and without duplicates, whatever the input order. */
export function distinct(selections: readonly Selection[]): Selection[] {
  const byJson = new Map(selections.map((s) => [canonicalJson(s), s]));
  return [...byJson.keys()].toSorted(compareText).map((key) => byJson.get(key)!);
}

/**
 * Whether two monitors of one namespace may select the same pod; false only when their labels exclude that. It compares
 * the selectors, not the pods, so that pods that come and go never change the instrument's file.
 */
export function mayOverlap(a: TrafficMonitorSpec, b: TrafficMonitorSpec): boolean {
  const [left, right] = [labelTests(a.selector), labelTests(b.selector)];
  if (left === null || right === null) return false;
  for (const [key, test] of Object.entries(left)) {
    const other = right[key];
    if (other && 'in' in test && 'in' in other && !test.in.some((v) => other.in.includes(v))) return false;
  }
  return true;
}
function globTests(labels: Readonly<Record<string, string>>): Record<string, LabelTest> {
  return Object.fromEntries(Object.entries(labels).map(([key, glob]) => [key, { glob }]));
}
