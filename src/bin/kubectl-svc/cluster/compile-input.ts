import type { KubeObject } from '../../../api/meta.ts';
import type { CompileEnvironment, CompileInput } from '../../../capture/index.ts';
import { namedLabels, podFacts, runsAgents } from '../../../controllers/capture/facts.ts';
import { itemsOf, type ClusterView } from './view.ts';

/** The inputs of the operator's compile, from the objects read. Objects that are being deleted are left out. */
export function compileInput(view: ClusterView, environment: CompileEnvironment): CompileInput {
  return {
    environment,
    monitors: living(itemsOf(view.monitors)),
    policies: living(itemsOf(view.policies)),
    namespaces: itemsOf(view.namespaces).map(namedLabels),
    nodes: itemsOf(view.nodes).filter(runsAgents).map(namedLabels),
    pods: itemsOf(view.pods).flatMap((pod) => podFacts(pod) ?? []),
  };
}

function living<T extends KubeObject>(objects: readonly T[]): T[] {
  return objects.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}
