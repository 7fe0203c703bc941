import { createRequire } from 'node:module';
import type * as DotI from '@dot-i/k8s-operator';
import { lightClientNode } from './light-client-node.ts';

const load = createRequire(import.meta.url);

/**
 * The one way to `@dot-i/k8s-operator`. It is CommonJS: imported statically its class would hide behind a namespace
 * object, and together with client-node (ESM) the test runner would refuse the cycle; `createRequire` works in any
 * order.
 *
 * It is loaded with `lightClientNode` in client-node's place. Where modules cannot be put in place (the test runner),
 * the real one is loaded at once. A bundle replaces this file: there the stand-in is put in place when it is built.
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
