import { createRequire } from 'node:module';
import type * as DotI from '@dot-i/k8s-operator';
import { lightClientNode } from './light-client-node.ts';

const load = createRequire(import.meta.url);

/**
 * The only import of `@dot-i/k8s-operator`. The package is CommonJS. A static import would hide its class behind a
 * namespace object, and the test runner would refuse the import cycle with client-node, which is ESM. With
 * `createRequire` the order of the imports does not matter.
 *
 * The package is loaded with `lightClientNode` in client-node's place. In the test runner a module cannot be replaced,
 * so the package loads the real client-node there. A bundle replaces this file, and puts `lightClientNode` in place at
 * build time.
 */
export function loadDotI(): typeof DotI.default {
  const path = load.resolve('@kubernetes/client-node');
  const loaded = load.cache[path];
  if (!loaded) Reflect.set(load.cache, path, { id: path, filename: path, loaded: true, exports: lightClientNode });
  try {
    return load('@dot-i/k8s-operator') as typeof DotI.default;
  } finally {
    if (!loaded) Reflect.deleteProperty(load.cache, path);
  }
}
