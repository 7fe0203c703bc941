import { createRequire } from 'node:module';
import type { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import type * as DotI from '@dot-i/k8s-operator';
import { parse as parseYaml } from 'yaml';
import type { TypedObject } from './client.ts';
import { clientNode } from './kubeconfig.ts';

/**
 * The one way to `@dot-i/k8s-operator`. It is CommonJS: imported statically its class would hide behind a namespace
 * object, and together with client-node (ESM) the test runner would refuse the cycle; `createRequire` works in any
 * order.
 *
 * It is loaded without client-node, which costs an operator most of a second and 80 MB: the base class uses it in its
 * constructor, whose results are replaced, and in methods that are all overridden. Whatever else is asked for is loaded
 * then. Where modules cannot be put in place (the test runner), the real one is loaded at once.
 */
function loadLightly(): typeof DotI.default {
  const require = createRequire(import.meta.url);
  const path = require.resolve('@kubernetes/client-node');
  const standIn = new Proxy(
    {},
    {
      get: (_, name) => {
        if (name === '__esModule') return true;
        if (name === 'KubeConfig') return UnreadConfig;
        return name === 'CoreV1Api' ? undefined : Reflect.get(clientNode(), name);
      },
    },
  );
  const loaded = require.cache[path];
  if (!loaded) Reflect.set(require.cache, path, { id: path, filename: path, loaded: true, exports: standIn });
  try {
    return require('@dot-i/k8s-operator') as typeof DotI.default;
  } finally {
    if (!loaded) Reflect.deleteProperty(require.cache, path);
  }
}

/** What the base's constructor makes and `RuntimeOperator` replaces before anybody sees it. */
class UnreadConfig {
  loadFromDefault(): void {}
  makeApiClient(): undefined {
    return undefined;
  }
}

const dotI = loadLightly();

/** The base class. Its transport must not be used: `src/runtime/dot-i-operator.ts` replaces every method. */
export const Operator = dotI.default;
export const ResourceEventType = dotI.ResourceEventType;
export type { OperatorLogger, ResourceEvent, ResourceMeta } from '@dot-i/k8s-operator';

/** The meta that the base class makes of an object. Errors: throws where the object has no name, kind or version. */
export function metaOf(plural: string, object: TypedObject): DotI.ResourceMeta {
  return dotI.ResourceMetaImpl.createWithPlural(plural, foreignObject(object));
}

/** client-node types times as Date where the wire, and we, have text. */
export function foreignObject(object: TypedObject): DotI.ResourceEvent['object'] {
  return object as unknown as DotI.ResourceEvent['object'];
}

/** The typed core client that the base class hands to its subclasses. */
export function coreApi(config: KubeConfig): CoreV1Api {
  return config.makeApiClient(clientNode().CoreV1Api);
}

/** What a request through a foreign HTTP client needs; password whole, TLS options complete, one agent per user. */
export async function foreignAuth(config: KubeConfig): Promise<{
  authorization: string | undefined;
  basic: { username: string; password: string } | undefined;
  agent: unknown;
}> {
  const options: { headers?: Record<string, string>; auth?: string; agent?: unknown } = {};
  await config.applyToHTTPSOptions(options as never);
  const colon = options.auth?.indexOf(':') ?? -1;
  const basic =
    options.auth === undefined || colon < 0
      ? undefined
      : { username: options.auth.slice(0, colon), password: options.auth.slice(colon + 1) };
  return { authorization: options.headers?.['Authorization'], basic, agent: options.agent };
}

/** A YAML file's object, for CRD files. */
export function parseManifest(text: string): unknown {
  return parseYaml(text);
}
