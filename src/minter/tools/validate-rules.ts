import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { errorText, OperatorError } from '../../base/errors.ts';
import type { ToolIo } from './tool-io.ts';
import { isOrganizationName, isRepositoryName, isScopeName } from '../names.ts';
import { Refusal } from '../refusal.ts';
import type { Claims } from '../rules/evaluate.ts';
import { claimNames, type ClaimName } from '../rules/expression-parser.ts';
import { compileRules, readRuleDirectory } from '../rules/rule-directory.ts';
import { allFiles, decide, fileFor, noRules, type RuleSet } from '../rules/rule-set.ts';
import { members, parseStrictJson } from '../strict-json.ts';

export interface ValidateRulesOptions {
  /** Accept `repositories: ['*']`. */
  allowWildcard: boolean;
  /** JSON file with the claims of a caller. If set, the decision for a request is explained. */
  token?: string;
  /** The request whose decision is explained: its organization, repositories and scope. */
  org: string;
  repo: readonly string[];
  scope: string;
  /** Value of `issuers.google`. */
  issuer: string;
}

/**
 * `minter tools validate-rules`: prints one line per file, scope and fault; with `token`, also the decision and why.
 * Resolves with the exit code: 0 when rules are in force, none has a fault, and the request, if given, is admitted;
 * else 1.
 * Errors: ERR_INPUT_INVALID for a directory or a claims file that cannot be read, claims that are not a JSON object,
 * and an invalid name.
 */
export async function validateRules(dir: string, options: ValidateRulesOptions, io: ToolIo): Promise<number> {
  let rules: RuleSet;
  try {
    rules = compileRules(await readRuleDirectory(resolve(dir)), noRules, { allowWildcard: options.allowWildcard });
  } catch (cause) {
    throw new OperatorError('ERR_INPUT_INVALID', `the directory cannot be read: ${errorText(cause)}`, { cause });
  }
  for (const line of describeRules(rules)) io.stdout(`${line}\n`);
  let admitted = true;
  if (options.token !== undefined) {
    const claims = readClaims(await readClaimsFile(options.token));
    const decision = explain(rules, { ...options, repositories: options.repo }, claims);
    admitted = decision.admitted;
    for (const line of decision.lines) io.stdout(`${line}\n`);
  }
  return rules.faults.length === 0 && allFiles(rules).length > 0 && admitted ? 0 : 1;
}

/** What is in force and what is off, one line each. Pure. */
export function describeRules(rules: RuleSet): string[] {
  const lines = allFiles(rules).flatMap((file) => [
    `${file.name}: in force, ${file.scopes.size} scope(s)`,
    ...[...file.scopes.values()].map((scope) => {
      const permissions = [...scope.permissions].map(([name, level]) => `${name}:${level}`).join(' ');
      const repositories = scope.everyRepository ? 'every repository' : [...scope.repositories].join(' ');
      return `${file.name}: scope ${scope.name}: ${repositories}: ${permissions}`;
    }),
  ]);
  const faults = rules.faults.map((fault) => {
    const where = fault.line === undefined ? fault.file : `${fault.file}:${fault.line}`;
    return `${where}: FAULT${fault.scope === undefined ? '' : ` in scope ${JSON.stringify(fault.scope)}`}: ${fault.message}`;
  });
  if (lines.length === 0) faults.push('no rule is in force: every request would be denied');
  return [...lines, ...faults, `rules hash ${rules.hash}`];
}

/** The decision for one request, with its reason. Pure. Errors: ERR_INPUT_INVALID for an invalid name. */
export function explain(
  rules: RuleSet,
  request: { org: string; repositories: readonly string[]; scope: string; issuer: string },
  claims: Claims,
): { admitted: boolean; lines: string[] } {
  const { org, repositories, scope } = request;
  if (!isOrganizationName(org)) throw new OperatorError('ERR_INPUT_INVALID', '--org: must be an organisation name');
  if (!isScopeName(scope)) throw new OperatorError('ERR_INPUT_INVALID', '--scope: must be a scope name');
  if (repositories.length === 0 || !repositories.every(isRepositoryName)) {
    throw new OperatorError('ERR_INPUT_INVALID', '--repo: must be given, as plain repository names');
  }
  const lines = repositories.map((name) => `${name}: decided by ${fileFor(rules, name)?.name ?? 'no file, so denied'}`);
  const issuers = new Map([
    ['google', request.issuer],
    ['github', 'https://token.actions.githubusercontent.com'],
  ]);
  try {
    const decision = decide(rules, { org, repositories, scope, permissions: undefined }, claims, { issuers });
    const permissions = [...decision.permissions].map(([name, level]) => `${name}:${level}`).join(' ');
    return { admitted: true, lines: [...lines, `ADMITTED: ${permissions}`] };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { admitted: false, lines: [...lines, `DENIED: ${error.answer} (${error.reason}): ${error.message}`] };
  }
}

async function readClaimsFile(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw new OperatorError('ERR_INPUT_INVALID', `--token: the file cannot be read: ${errorText(cause)}`, { cause });
  }
}

/** Claims as the server would see them: an email counts only when it is verified. */
function readClaims(bytes: Uint8Array): Claims {
  const fields = members(parseStrictJson(bytes));
  const claims = new Map<ClaimName, string>();
  for (const name of claimNames) {
    const value = fields.get(name);
    if (typeof value === 'string') claims.set(name, value);
  }
  if (fields.get('email_verified') !== true) claims.delete('email');
  return claims;
}
