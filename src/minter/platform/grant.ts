import { foldName } from '../names.ts';
import { isLevel, levels, type Permissions } from '../rules/permissions.ts';

/** What is requested of the hosting platform for a token. */
export interface GrantRequest {
  org: string;
  repositories: readonly string[];
  permissions: Permissions;
}

/** A token whose grant matches the request. */
export interface Grant {
  token: string;
  expiresAt: string;
}

export type GrantResult = { ok: Grant } | { mismatch: string; token: string | undefined };

const tokenShape = /^[!-~]{1,4096}$/;
const maxLifeMs = 3_600_000 + 60_000;

/**
 * Compares the platform's grant with the request: the same repositories of the same owner, the same permissions (the
 * platform may add `metadata: read`), and an expiry within an hour (plus a minute, because clocks differ). Pure and
 * total: accepts any value.
 * `mismatch` is a fixed word; `token` is set when the answer contains a token, which should then be revoked.
 */
export function checkGrant(answer: unknown, request: GrantRequest, nowMs: number): GrantResult {
  const fields = record(answer);
  const token = fields.get('token');
  if (typeof token !== 'string' || !tokenShape.test(token)) return { mismatch: 'no_token', token: undefined };
  const mismatch =
    repositoriesMismatch(fields.get('repositories'), request) ??
    permissionsMismatch(fields.get('permissions'), request.permissions) ??
    expiryMismatch(fields.get('expires_at'), nowMs);
  if (mismatch !== null) return { mismatch, token };
  return { ok: { token, expiresAt: new Date(String(fields.get('expires_at'))).toISOString() } };
}

function repositoriesMismatch(granted: unknown, request: GrantRequest): string | null {
  if (!Array.isArray(granted)) return 'no_repositories';
  const asked = new Set(request.repositories.map(foldName));
  const found = new Set<string>();
  for (const repository of granted as unknown[]) {
    const fields = record(repository);
    const name = fields.get('name');
    const owner = record(fields.get('owner')).get('login');
    if (typeof name !== 'string' || !asked.has(foldName(name))) return 'other_repository';
    if (typeof owner !== 'string' || foldName(owner) !== foldName(request.org)) return 'other_owner';
    found.add(foldName(name));
  }
  return found.size === asked.size ? null : 'missing_repository';
}

function permissionsMismatch(granted: unknown, asked: Permissions): string | null {
  if (typeof granted !== 'object' || granted === null || Array.isArray(granted)) return 'no_permissions';
  const found = record(granted);
  for (const [name, level] of found) {
    if (!isLevel(level)) return 'unknown_level';
    const wanted = asked.get(name);
    if (wanted === undefined && !(name === 'metadata' && level === 'read')) return 'more_permissions';
    if (wanted !== undefined && levels.indexOf(level) > levels.indexOf(wanted)) return 'higher_permission';
  }
  for (const [name, level] of asked) if (found.get(name) !== level) return 'fewer_permissions';
  return null;
}

function expiryMismatch(expiresAt: unknown, nowMs: number): string | null {
  if (typeof expiresAt !== 'string' || !/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/.test(expiresAt))
    return 'no_expiry';
  const end = Date.parse(expiresAt);
  if (!(end > nowMs)) return 'expired';
  return end <= nowMs + maxLifeMs ? null : 'lives_too_long';
}

/** The members of a value that should be an object; empty for any other value. */
export function record(value: unknown): Map<string, unknown> {
  return new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
}
