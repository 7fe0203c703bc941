import { sha256Hex } from '../../base/canonical-json.ts';
import { foldName, isPermissionName } from '../names.ts';
import { Refusal } from '../refusal.ts';
import { evaluateRule, type Claims, type Issuers } from './evaluate.ts';
import type { ClaimName } from './expression-parser.ts';
import { isLevel, uncovered, type Level, type Permissions } from './permissions.ts';
import type { RuleFault, RuleFile, Scope } from './rule-file.ts';

/** All rules in force at one moment. Immutable: a reload creates a new one. */
export interface RuleSet {
  /** Folded repository name → its file. A faulty file without a last good version is null here: it denies. */
  files: ReadonlyMap<string, RuleFile | null>;
  /** The file `.yaml`, for repositories without one of their own. */
  catchAll: RuleFile | null;
  faults: readonly RuleFault[];
  hash: string;
}

export const noRules: RuleSet = { files: new Map(), catchAll: null, faults: [], hash: sha256Hex('') };

/** The part of a request that rules read; every name has been validated. */
export interface RuleRequest {
  org: string;
  repositories: readonly string[];
  scope: string;
  /** As the caller wrote them. Absent: everything that the scope grants. */
  permissions: ReadonlyMap<string, string> | undefined;
}

/** The limits of every decision, whatever the rule files say. */
export interface Bounds {
  issuers: Issuers;
  /** Folded names of the only repositories that tokens may reach; undefined: the rule files decide. */
  repositories?: ReadonlySet<string> | undefined;
}

/** The grant of a caller, and the files that decided it. */
export interface Decision {
  permissions: Permissions;
  ruleFiles: readonly string[];
}

/**
 * Decides a request, all or nothing: first the rules for every repository, then the lists of repositories, then the
 * permissions.
 * Pure. Errors: Refusal with scope_denied, repository_denied or permission_denied. An unknown scope and a rule that
 * refuses give the same answer, so that callers cannot find out which scopes exist.
 */
export function decide(rules: RuleSet, request: RuleRequest, caller: Claims, bounds: Bounds): Decision {
  const chosen: { repository: string; scope: Scope }[] = [];
  const ruleFiles = new Set<string>();
  for (const repository of request.repositories) {
    const file = fileFor(rules, repository);
    const claims = new Map<ClaimName, string>(caller)
      .set('parsed_org_name', request.org)
      .set('parsed_repo_name', repository);
    const { scope, reason } = admitted(file, request.scope, claims, bounds.issuers);
    if (!scope || !file) {
      throw new Refusal(
        'scope_denied',
        reason,
        `scope "${request.scope}" does not admit this caller for repository "${repository}"`,
      );
    }
    chosen.push({ repository, scope });
    ruleFiles.add(file.name);
  }
  for (const { repository, scope } of chosen) {
    if (!scope.everyRepository && !scope.repositories.has(repository)) {
      throw new Refusal(
        'repository_denied',
        'repository_not_listed',
        `repository "${repository}" is not covered by scope "${request.scope}"`,
      );
    }
    if (bounds.repositories && !bounds.repositories.has(foldName(repository))) {
      throw new Refusal(
        'repository_denied',
        'repository_not_declared',
        `repository "${repository}" is none of those that this service is declared to serve`,
      );
    }
  }
  const permissions = request.permissions ? existing(request.permissions) : chosen[0]!.scope.permissions;
  for (const { repository, scope } of chosen) {
    const missing = uncovered(permissions, scope.permissions);
    if (missing !== null) {
      throw new Refusal(
        'permission_denied',
        'permission_not_covered',
        `permission "${missing}" is not covered by scope "${request.scope}" for repository "${repository}"`,
      );
    }
  }
  return { permissions, ruleFiles: [...ruleFiles] };
}

/** The requested permissions if all of them exist; no scope covers an unknown one. */
function existing(requested: ReadonlyMap<string, string>): Permissions {
  const permissions = new Map<string, Level>();
  for (const [name, level] of requested) {
    if (!isPermissionName(name) || !isLevel(level)) {
      throw new Refusal(
        'permission_denied',
        'permission_unknown',
        'a permission or level that does not exist is not covered',
      );
    }
    permissions.set(name, level);
  }
  return permissions;
}

/**
 * The file that decides for a repository. The platform ignores case in names, so the look-up does too: otherwise
 * another spelling would bypass a repository's own file and reach the catch-all.
 */
export function fileFor(rules: RuleSet, repository: string): RuleFile | null {
  const own = rules.files.get(foldName(repository));
  return own === undefined ? rules.catchAll : own;
}

/** Names of the scopes in force anywhere, sorted. */
export function activeScopes(rules: RuleSet): string[] {
  const names = new Set<string>();
  for (const file of allFiles(rules)) for (const name of file.scopes.keys()) names.add(name);
  return [...names].sort();
}

export function allFiles(rules: RuleSet): RuleFile[] {
  return [...rules.files.values(), rules.catchAll].filter((file) => file !== null);
}

/** Hash over the files in force; equal bytes give equal hashes. */
export function hashOf(files: readonly RuleFile[]): string {
  const lines = files.map((file) => `${file.sha256} ${JSON.stringify(file.name)}\n`);
  return sha256Hex(lines.sort().join(''));
}

function admitted(
  file: RuleFile | null,
  scopeName: string,
  claims: Claims,
  issuers: Issuers,
): { scope: Scope | null; reason: string } {
  if (!file) return { scope: null, reason: 'no_rules' };
  const top = evaluateRule(file.top, claims, issuers);
  if (!top.admits) return { scope: null, reason: top.because === 'denied' ? 'rule_denied' : 'claim_absent' };
  const scope = file.scopes.get(scopeName);
  if (!scope) return { scope: null, reason: 'scope_unknown' };
  const own = evaluateRule(scope.rule, claims, issuers);
  if (!own.admits) return { scope: null, reason: own.because === 'denied' ? 'rule_denied' : 'claim_absent' };
  return { scope, reason: 'admitted' };
}
