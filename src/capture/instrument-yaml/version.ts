import { OperatorError } from '../../base/errors.ts';

/**
 * The instrument versions whose config keys are known, oldest first. v0.12 reads the keys of v0.10. v0.12 is the first
 * version without a kernel panic under TLS (upstream #3056); v0.12.0 was never published.
 */
export const instrumentVersions = ['v0.9', 'v0.10', 'v0.12'] as const;
export type InstrumentVersion = (typeof instrumentVersions)[number];

/**
 * Finds which of `instrumentVersions` an image tag or a version text belongs to. Examples of such texts: `v0.10.0`,
 * `0.10.3`, `v0.9`.
 * Errors: ERR_CONFIG_INVALID for another version: its keys are unknown, so nothing may be rendered for it.
 */
export function instrumentVersion(text: string): InstrumentVersion {
  const match = /^v?(\d+)\.(\d+)(?:[.+-].*)?$/.exec(text);
  const found = match && instrumentVersions.find((v) => v === `v${Number(match[1])}.${Number(match[2])}`);
  if (found) return found;
  throw new OperatorError(
    'ERR_CONFIG_INVALID',
    `instrument version ${JSON.stringify(text)} is not supported; known: ${instrumentVersions.join(', ')}`,
  );
}

/** True for versions with a health check on a socket, a redaction list and the related keys. */
export function isSinceV010(version: InstrumentVersion): boolean {
  return version !== 'v0.9';
}
