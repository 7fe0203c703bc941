import { stringify } from 'yaml';
import type { MinterDeploymentSpec } from '../../api/v1alpha1/index.ts';

type Inline = NonNullable<MinterDeploymentSpec['rules']['inline']>;
type Scope = Inline['scopes'][number];

/** The format that rule files declare; the upstream service reads the same one. */
const rulesVersion = 'minty.abcxyz.dev/v2';
const googleIssuer = 'https://accounts.google.com';

/** Key of the rules in their ConfigMap: a file of this name is the catch-all for every repository. */
export const catchAllKey = '.yaml';

/**
 * The catch-all rule file that a MinterDeployment's inline rules are rendered into.
 * Shape: pure text, scopes in the order of the spec, repositories always written out.
 * Caveats: the strings are quoted without escapes, because the schema admits no quote or backslash in any of them.
 */
export function renderMinterRules(spec: MinterDeploymentSpec, inline: Inline): string {
  const issuer = spec.issuer.url === googleIssuer ? 'issuers.google' : quoted(spec.issuer.url);
  const document = {
    version: rulesVersion,
    rule: { if: `assertion.iss == ${issuer}` },
    scope: Object.fromEntries(inline.scopes.map((scope) => [scope.name, renderScope(spec, scope)])),
  };
  return stringify(document, { lineWidth: 0, singleQuote: true });
}

function renderScope(spec: MinterDeploymentSpec, scope: Scope) {
  const conditions = [`assertion.email in ${quotedList(scope.emails)}`];
  if (scope.subs) conditions.push(`assertion.sub in ${quotedList(scope.subs)}`);
  return {
    rule: { if: conditions.join(' && ') },
    repositories: scope.repositories ?? declaredRepositories(spec),
    permissions: Object.fromEntries(Object.entries(scope.permissions).sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** Every repository that the minter may serve. */
export function declaredRepositories(spec: MinterDeploymentSpec): string[] {
  return [spec.vcs.repository, ...(spec.vcs.extraRepositories ?? [])];
}

const quoted = (value: string) => `'${value}'`;
const quotedList = (values: readonly string[]) => `[${values.map(quoted).join(', ')}]`;
