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
    owner: { login: account, ...(filled(ownerUrls, `https://api.github.com/users/${account}`) as object) },
    private: true,
    ...(filled(repositoryUrls, `https://api.github.com/repos/${account}/${name}`) as object),
  }));
}

/** Members that nobody reads. With them an answer has the size of a real one, 5 KB a repository. */
const filled = (names: readonly string[], base: string): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, `${base}/${name}{/sha}{?recursive,page,per_page}`]));

const ownerUrls = [
  'avatar_url',
  'url',
  'html_url',
  'followers_url',
  'following_url',
  'gists_url',
  'starred_url',
  'subscriptions_url',
  'organizations_url',
  'repos_url',
  'events_url',
  'received_events_url',
] as const satisfies (keyof components['schemas']['simple-user'])[];

const repositoryUrls = [
  'archive_url',
  'assignees_url',
  'blobs_url',
  'branches_url',
  'clone_url',
  'collaborators_url',
  'comments_url',
  'commits_url',
  'compare_url',
  'contents_url',
  'contributors_url',
  'deployments_url',
  'downloads_url',
  'events_url',
  'forks_url',
  'git_commits_url',
  'git_refs_url',
  'git_tags_url',
  'git_url',
  'hooks_url',
  'html_url',
  'issue_comment_url',
  'issue_events_url',
  'issues_url',
  'keys_url',
  'labels_url',
  'languages_url',
  'merges_url',
  'milestones_url',
  'notifications_url',
  'pulls_url',
  'releases_url',
  'ssh_url',
  'stargazers_url',
  'statuses_url',
  'subscribers_url',
  'subscription_url',
  'svn_url',
  'tags_url',
  'teams_url',
  'trees_url',
  'url',
] as const satisfies (keyof components['schemas']['repository'])[];
