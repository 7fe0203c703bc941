import type { CompileEnvironment, CompileInput } from '../../../capture/index.ts';
import { captureObjects, podFacts } from '../../../controllers/capture/facts.ts';
import { itemsOf, type ClusterView } from './view.ts';

/** The inputs of the operator's compile, from the objects that the plugin has read. */
export function compileInput(view: ClusterView, environment: CompileEnvironment): CompileInput {
  const lists = {
    monitors: itemsOf(view.monitors),
    policies: itemsOf(view.policies),
    namespaces: itemsOf(view.namespaces),
    nodes: itemsOf(view.nodes),
  };
  return { ...captureObjects(lists), environment, pods: itemsOf(view.pods).flatMap((pod) => podFacts(pod) ?? []) };
}
