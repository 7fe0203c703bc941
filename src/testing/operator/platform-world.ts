import { createLogger } from '../../base/logger.ts';
import { resourceRef, type Condition, type KubeObject, type ResourceRef } from '../../api/meta.ts';
import { clusterTrafficPolicies, type ClusterTrafficPolicySpec } from '../../api/v1alpha1/index.ts';
import type { SecretObject } from '../../controllers/platform/certificates.ts';
import { setupPlatform, type PlatformOptions } from '../../controllers/platform/reconciler.ts';
import { coreResources } from '../../kube/index.ts';
import { names, platformDefaults, renderedKinds } from '../../render/index.ts';
import { aPolicy } from '../capture/world.ts';
import { noFaults, runController, type ControllerHarness } from '../run-controller.ts';

/** The operator's controller of its own parts, on a scripted API server. */
export interface PlatformHarness extends ControllerHarness {
  /** What it has logged so far, line by line. */
  lines: readonly Record<string, unknown>[];
  /** A Secret of its namespace. Errors: throws if there is none of this name. */
  secret(name: string): SecretObject;
  /** The text of a key of such a Secret; empty without the key. */
  pem(name: string, key: string): string;
  /** A condition of a ClusterTrafficPolicy, once it is there. */
  conditionOf(policy: string, type: string): Omit<Condition, 'lastTransitionTime'> | undefined;
}

/** What differs from the default. */
export interface PlatformWorldOptions extends PlatformOptions {
  /** Kinds that the server serves, besides the built-in ones, policies and PriorityClasses. */
  served?: readonly ResourceRef[];
  /** The minor version of Kubernetes that the server reports. */
  minor?: number;
}

/** Starts the controller in a cluster that holds these objects, and waits until everything is rendered. */
export async function startPlatform(
  objects: readonly KubeObject[] = [],
  { served = [], minor, ...options }: PlatformWorldOptions = {},
): Promise<PlatformHarness> {
  const lines: Record<string, unknown>[] = [];
  const harness = await runController((env) => setupPlatform(env, platformDefaults, options), objects, noFaults, {
    server: {
      resources: [clusterTrafficPolicies, resourceRef(renderedKinds.PriorityClass), ...served],
      ...(minor === undefined ? {} : { minor }),
    },
    logger: createLogger({ write: (line) => void lines.push(JSON.parse(line) as never) }),
  });
  const { storage } = harness.server;
  const { namespace } = platformDefaults;
  await harness.passUntil(() => storage.find(coreResources.deployments, namespace, names.query), 'the last child');
  await harness.idle();
  const secret = (name: string): SecretObject => storage.get(coreResources.secrets, namespace, name) as SecretObject;
  return {
    ...harness,
    lines,
    secret,
    pem: (name, key) => Buffer.from(secret(name).data?.[key] ?? '', 'base64').toString(),
    conditionOf: (policy, type) =>
      (
        storage.find(clusterTrafficPolicies, undefined, policy)?.['status'] as { conditions?: Condition[] } | undefined
      )?.conditions?.find((c) => c.type === type),
  };
}

/** A ClusterTrafficPolicy as it is stored. */
export const policyObject = (
  name: string,
  spec: ClusterTrafficPolicySpec,
  meta?: Parameters<typeof aPolicy>[2],
): KubeObject => aPolicy(name, spec, meta) as unknown as KubeObject;
