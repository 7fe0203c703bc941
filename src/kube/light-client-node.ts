import { clientNode } from './kubeconfig.ts';

/**
 * What `@dot-i/k8s-operator` gets for client-node, which would cost an operator most of a second and 80 MB: the base
 * class uses it in its constructor, whose results are replaced, and in methods that are all overridden. Whatever else
 * is asked for loads the real one then.
 */
export const lightClientNode: object = new Proxy(
  {},
  {
    get: (_, name) => {
      if (name === '__esModule') return true;
      if (name === 'KubeConfig') return UnreadConfig;
      return name === 'CoreV1Api' ? undefined : Reflect.get(clientNode(), name);
    },
  },
);

/** What the base's constructor makes and `RuntimeOperator` replaces before it is used. */
class UnreadConfig {
  loadFromDefault(): void {}
  makeApiClient(): undefined {
    return undefined;
  }
}
