import type { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import type * as DotI from '@dot-i/k8s-operator';
import { parse as parseYaml } from 'yaml';
import type { TypedObject } from './client.ts';
import { clientNode } from './kubeconfig.ts';
import { loadDotI } from './load-dot-i.ts';

const dotI = loadDotI();

/**
 * The base class of @dot-i/k8s-operator. It must not send requests by itself: `src/runtime/dot-i-operator.ts` replaces
 * every method.
 */
export const Operator = dotI.default;
export const ResourceEventType = dotI.ResourceEventType;
export type { OperatorLogger, ResourceEvent, ResourceMeta } from '@dot-i/k8s-operator';

/** The metadata that the base class derives from an object. Errors: throws without a name, kind or version. */
export function metaOf(plural: string, object: TypedObject): DotI.ResourceMeta {
  return dotI.ResourceMetaImpl.createWithPlural(plural, foreignObject(object));
}

/** The object in client-node's types, which declare times as Date; on the wire and in our types, times are strings. */
export function foreignObject(object: TypedObject): DotI.ResourceEvent['object'] {
  return object as unknown as DotI.ResourceEvent['object'];
}

/** The typed core client that the base class gives to its subclasses. */
export function coreApi(config: KubeConfig): CoreV1Api {
  return config.makeApiClient(clientNode().CoreV1Api);
}

/**
 * The options that a request through a foreign HTTP client needs: the Authorization header, or user and password (which
 * may contain colons), and an agent with the user's TLS options.
 */
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

/** Parses a YAML manifest, such as a CRD file. */
export function parseManifest(text: string): unknown {
  return parseYaml(text);
}
