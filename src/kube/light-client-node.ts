import { clientNode } from './kubeconfig.ts';

/**
 * A replacement for client-node in `@dot-i/k8s-operator`; to load the real one would cost an operator most of a second
 * and 80 MB. The base class of that package uses client-node in its constructor and in methods. Our subclass
 * `RuntimeOperator` replaces what the constructor makes, and overrides the methods. Any other access loads the real
 * client-node.
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

/** The objects that the base's constructor creates and `RuntimeOperator` replaces before they are used. */
class UnreadConfig {
  loadFromDefault(): void {}
  makeApiClient(): undefined {
    return undefined;
  }
}
