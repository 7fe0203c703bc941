import { createRequire } from 'node:module';
import type * as DotI from '@dot-i/k8s-operator';
import { lightClientNode } from './light-client-node.ts';

const load = createRequire(import.meta.url);

/**
 * The only import of `@dot-i/k8s-operator`. It is CommonJS: a static import would hide its class behind a namespace
 * object, and together with client-node (ESM) the test runner would refuse the cycle; `createRequire` works in any
 * order.
 *
 * It is loaded with `lightClientNode` in client-node's place. If modules cannot be replaced (in the test runner), the
 * real one is loaded at once. A bundle replaces this file: there the replacement is put in place at build time.
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
