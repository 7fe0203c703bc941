import type { KubeObject } from '../../api/meta.ts';
import { appIdForm, parseAppId } from '../../api/v1alpha1/app-id.ts';
import { ownValue } from '../../base/collections/own-value.ts';
import { sha256Hex } from '../../base/canonical-json.ts';
import { appIdHashAnnotation } from '../../render/index.ts';
import type { ConditionInput } from '../../runtime/index.ts';

export interface AppCredentials {
  condition: ConditionInput;
  /** A hash of the App ID. The pods read the App ID only at their start, so a change of the hash replaces them. */
  hash?: string;
}

/** The outcome when the API server denies the read; `grant` is the command that gives the permission. */
export function unreadableAppCredentials(ref: { name: string }, grant: string): AppCredentials {
  const message = `the operator may not read Secret ${ref.name}; grant it: ${grant}`;
  return { condition: { type: 'AppCredentialsFound', status: 'Unknown', reason: 'Forbidden', message } };
}

/** Judges the Secret with the App ID. The value itself is not passed on. */
export function judgeAppCredentials(
  secret: KubeObject | undefined,
  ref: { name: string; key: string },
): AppCredentials {
  const type = 'AppCredentialsFound';
  const no = (reason: string, message: string): AppCredentials => ({
    condition: { type, status: 'False', reason, message },
  });
  if (!secret) return no('SecretNotFound', `Secret ${ref.name} does not exist in this namespace`);
  const encoded = ownValue((secret['data'] ?? {}) as Record<string, string>, ref.key);
  if (encoded === undefined) return no('KeyMissing', `Secret ${ref.name} has no key ${ref.key}`);
  const id = parseAppId(Buffer.from(encoded, 'base64').toString('utf8'));
  if (id === undefined)
    return no('NotNumeric', `key ${ref.key} of Secret ${ref.name} is not an App ID: it must be ${appIdForm}`);
  const message = `Secret ${ref.name} has an App ID`;
  return { condition: { type, status: 'True', reason: 'Found', message }, hash: sha256Hex(String(id)).slice(0, 16) };
}

/**
 * The hash that the pods of a Deployment have, which stays while no valid App ID can be read: a Secret that is gone for a
 * moment, as during a rotation, must not replace pods. Undefined when they have none.
 */
export function appIdHashOf(deployment: KubeObject | undefined): string | undefined {
  const { template } = (deployment?.['spec'] ?? {}) as { template?: { metadata?: KubeObject['metadata'] } };
  return template?.metadata?.annotations?.[appIdHashAnnotation];
}
