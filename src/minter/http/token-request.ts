import { isOperatorError } from '../../base/errors.ts';
import { foldName, isOrganizationName, isRepositoryName, isScopeName } from '../names.ts';
import { Refusal } from '../refusal.ts';
import type { RuleRequest } from '../rules/rule-set.ts';
import { members, parseStrictJson } from '../strict-json.ts';

const known = new Set(['org_name', 'repositories', 'scope', 'permissions']);
const maxPermissions = 100;

/**
 * Reads and checks the body of `POST /token`. Pure. Of the organisation, only the form is checked here.
 * Errors: Refusal `invalid_request`, which names the member but never its value.
 */
export function parseTokenRequest(body: Uint8Array, limits: { maxRepositories: number }): RuleRequest {
  const fields = readObject(body);
  for (const name of fields.keys()) if (!known.has(name)) throw bad('unknown_member', 'the body has an unknown member');
  const org = fields.get('org_name');
  if (typeof org !== 'string' || !isOrganizationName(org))
    throw bad('org_name', 'org_name must be an organisation name');
  const scope = fields.get('scope');
  if (typeof scope !== 'string' || !isScopeName(scope)) throw bad('scope', 'scope must be the name of a scope');
  return {
    org,
    scope,
    repositories: readRepositories(fields.get('repositories'), limits.maxRepositories),
    permissions: fields.has('permissions') ? readPermissions(fields.get('permissions')) : undefined,
  };
}

function readObject(body: Uint8Array): Map<string, unknown> {
  try {
    return members(parseStrictJson(body));
  } catch (error) {
    if (isOperatorError(error, 'ERR_INPUT_INVALID'))
      throw bad('body', `the body must be one JSON object: ${error.message}`);
    throw error;
  }
}

function readRepositories(value: unknown, max: number): string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > max) {
    throw bad('repositories', `repositories must be a list of 1 to ${max} names`);
  }
  const names = new Map<string, string>();
  for (const name of value as unknown[]) {
    if (typeof name !== 'string' || !isRepositoryName(name)) {
      throw bad('repositories', 'repositories must be plain repository names, without owner or pattern');
    }
    const other = names.get(foldName(name));
    if (other !== undefined && other !== name) {
      throw bad('repositories', 'repositories must not name one repository in two spellings');
    }
    names.set(foldName(name), name);
  }
  return [...names.values()];
}

/** Names and levels stay strings here. An unknown name or level is denied later, because no scope covers it. */
function readPermissions(value: unknown): Map<string, string> {
  const entries = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
  const wellFormed = entries.every(([, level]) => typeof level === 'string');
  if (entries.length === 0 || entries.length > maxPermissions || !wellFormed) {
    throw bad('permissions', 'permissions must be a non-empty object of names and levels');
  }
  return new Map(entries as [string, string][]);
}

function bad(reason: string, message: string): Refusal {
  return new Refusal('invalid_request', reason, message);
}
