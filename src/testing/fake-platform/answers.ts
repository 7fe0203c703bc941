import type { components, operations } from '@octokit/openapi-types';
import type { FakeInstallation, IssuedToken } from './platform-state.ts';

/**
 * The answers of the hosting platform, limited to the fields that the minter reads. Every field is checked against the
 * types that the platform publishes for its API: a field name or type that is not among them does not compile.
 */
type Published<Name extends keyof components['schemas']> = Some<components['schemas'][Name]>;
type Some<T> = T extends readonly (infer Item)[]
  ? Some<Item>[]
  : T extends object
    ? { [K in keyof T]?: Some<T[K]> }
    : T;

/** Body of a request for an installation token, as the platform publishes it. */
export type TokenRequest = NonNullable<
  operations['apps/create-installation-access-token']['requestBody']
>['content']['application/json'];

export function appAnswer(id: number): Published<'integration'> {
  return { id, slug: 'fake-app', name: 'fake-app' };
}

export function installationAnswer(
  found: FakeInstallation,
  account: { login: string; type: string },
): Published<'installation'> {
  return {
    id: found.id,
    app_id: found.appId,
    account: { login: account.login, type: account.type },
    target_type: account.type,
    repository_selection: found.selected ? 'selected' : 'all',
    // A trap: a client that follows this URL sends the App's credential to another server.
    access_tokens_url: 'http://127.0.0.1:9/stolen',
    permissions: found.permissions as Published<'app-permissions'>,
    suspended_at: found.suspended ? '2026-01-01T00:00:00Z' : null,
  };
}

export function tokenAnswer(issued: IssuedToken): Published<'installation-token'> {
  return {
    token: issued.token,
    expires_at: new Date(issued.expiresAtMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    permissions: issued.permissions as Published<'app-permissions'>,
    repository_selection: 'selected',
    repositories: repositoryAnswers(issued),
  };
}

export function repositoryAnswers(issued: IssuedToken): Published<'repository'>[] {
  const { account } = issued.installation;
  return issued.repositories.map((name, index) => ({
    id: 7000 + index,
    name,
    full_name: `${account}/${name}`,
    owner: { login: account },
    private: true,
  }));
}
