import { createRequire } from 'node:module';
import type * as DotI from '@dot-i/k8s-operator';
import { lightClientNode } from './light-client-node.ts';

const load = createRequire(import.meta.url);

/**
 * The only import of `@dot-i/k8s-operator`, which is CommonJS. A static import would hide its class behind a namespace
 * object. The package also requires client-node, an ESM package, and the test runner refuses that while it is still
 * loading client-node for another import. With `createRequire` the package is loaded later, when this function is called.
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
