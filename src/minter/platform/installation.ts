import { record } from './grant.ts';
import type { Clock } from '../../base/clock.ts';
import { foldName } from '../names.ts';
import { isLevel, type Level, type Permissions } from '../rules/permissions.ts';
import type { PlatformAnswer } from './platform-client.ts';

/** What the VCS platform says about the installation of our App in the organisation. */
export type InstallationView =
  | { state: 'found'; id: number; permissions: Permissions }
  | { state: 'absent' }
  | { state: 'personal' | 'other_account' | 'suspended' | 'other_app' | 'malformed' };

/**
 * Reads the answer of `GET /orgs/{org}/installation` with status 200. Pure and total. Only an active installation of
 * our App in exactly this organisation is `found`.
 */
export function readInstallation(data: unknown, org: string, appId: number): InstallationView {
  const fields = record(data);
  const account = record(fields.get('account'));
  const id = fields.get('id');
  const login = account.get('login');
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id < 1 || typeof login !== 'string') {
    return { state: 'malformed' };
  }
  if (account.get('type') !== 'Organization') return { state: 'personal' };
  if (foldName(login) !== foldName(org)) return { state: 'other_account' };
  if (fields.get('suspended_at') !== null && fields.get('suspended_at') !== undefined) return { state: 'suspended' };
  if (fields.has('app_id') && fields.get('app_id') !== appId) return { state: 'other_app' };
  const permissions = new Map<string, Level>();
  for (const [name, level] of record(fields.get('permissions'))) if (isLevel(level)) permissions.set(name, level);
  return { state: 'found', id, permissions };
}

/** What an answer of any status says about the installation, or null when it says nothing about it. */
export function viewOf(answer: PlatformAnswer, org: string, appId: number): InstallationView | null {
  if (answer.status === 200) return readInstallation(answer.data, org, appId);
  return answer.status === 404 ? { state: 'absent' } : null;
}

const foundMs = 10 * 60_000;
const absentMs = 60_000;

/** The last view, kept for ten minutes when found and one minute when absent. Other views are never kept. */
export class InstallationCache {
  readonly #clock: Clock;
  #entry: { view: InstallationView; until: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(): InstallationView | undefined {
    return this.#entry && this.#clock.monotonic() < this.#entry.until ? this.#entry.view : undefined;
  }

  set(view: InstallationView): void {
    const ms = view.state === 'found' ? foundMs : view.state === 'absent' ? absentMs : 0;
    this.#entry = ms === 0 ? undefined : { view, until: this.#clock.monotonic() + ms };
  }

  drop(): void {
    this.#entry = undefined;
  }
}
