import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { deadlineIn, type Deadline } from '../deadline.ts';
import { KeyServiceFailure } from '../sign/key-service.ts';
import type { AppJwtSource } from '../sign/app-jwt.ts';
import type { Readiness } from '../readiness.ts';
import { uncovered, type Permissions } from '../rules/permissions.ts';
import { viewOf } from './installation.ts';
import { PlatformUnreachable, type PlatformAnswer, type PlatformClient } from './platform-client.ts';

export interface PlatformMonitorDeps {
  org: string;
  appId: number;
  jwts: Pick<AppJwtSource, 'get' | 'drop'>;
  platform: PlatformClient;
  readiness: Readiness;
  clock: Clock;
  /** The permissions of every scope in the rules in force. */
  wantedPermissions: () => readonly Permissions[];
}

const checkMs = 6_000;
const notSelectedMs = 10 * 60_000;

export type AppVerdict = 'matches' | 'wrong' | 'unknown';

/**
 * Asks the platform which App the key belongs to: without this check, the key of another App imports cleanly, reports
 * ENABLED, and fails only when the first token is minted. Any answer but a clear yes or no is `unknown`, and blocks
 * nothing.
 */
export async function askWhoWeAre(
  deps: Pick<PlatformMonitorDeps, 'appId' | 'jwts' | 'platform' | 'clock'>,
): Promise<{ verdict: AppVerdict; message: string }> {
  const deadline = deadlineIn(deps.clock, checkMs);
  try {
    let answer = await getApp(deps, deadline);
    // One refusal may be due to a clock jump or a lagging replica; two in a row with a fresh signature are conclusive.
    if (answer.status === 401) answer = await getApp(deps, deadline);
    if (answer.status === 401) {
      return { verdict: 'wrong', message: 'the platform does not accept the signature of this key for the App' };
    }
    const id = (answer.data as { id?: unknown } | undefined)?.id;
    if (answer.status !== 200 || typeof id !== 'number') {
      return { verdict: 'unknown', message: `the platform answered ${answer.status}` };
    }
    if (id !== deps.appId) return { verdict: 'wrong', message: 'the key belongs to another App' };
    return { verdict: 'matches', message: 'the platform knows this key as the key of the App' };
  } catch (error) {
    if (error instanceof PlatformUnreachable || error instanceof KeyServiceFailure) {
      return { verdict: 'unknown', message: errorText(error) };
    }
    throw error;
  }
}

/**
 * Whether an attempt to mint a token found, in the last ten minutes, that a repository is not selected. The look-up of
 * the installation does not show the selected repositories, so it must not overwrite what the attempt found.
 */
function recentlyNotSelected(readiness: Readiness, clock: Clock): boolean {
  const { reason, since } = readiness.get('InstallationFound');
  return reason === 'RepositoryNotSelected' && clock.now() - Date.parse(since) < notSelectedMs;
}

async function getApp(
  deps: Pick<PlatformMonitorDeps, 'jwts' | 'platform'>,
  deadline: Deadline,
): Promise<PlatformAnswer> {
  const jwt = await deps.jwts.get(deadline);
  const answer = await deps.platform.call('get_app', jwt.token, {}, deadline);
  if (answer.status === 401) deps.jwts.drop(jwt);
  return answer;
}

/**
 * Looks up the installation and reports what would make the minting of a token fail. The result does not block
 * readiness.
 */
export async function checkInstallation(deps: PlatformMonitorDeps): Promise<void> {
  const { readiness, org, appId } = deps;
  const deadline = deadlineIn(deps.clock, checkMs);
  try {
    const jwt = await deps.jwts.get(deadline);
    const answer = await deps.platform.call('get_installation', jwt.token, { org }, deadline);
    const view = viewOf(answer, org, appId);
    if (view?.state === 'found') {
      readiness.setInstallationId(view.id);
      const missing = deps
        .wantedPermissions()
        .map((wanted) => uncovered(wanted, view.permissions))
        .find((m) => m !== null);
      if (missing) {
        readiness.set(
          'InstallationFound',
          'False',
          'PermissionMissing',
          `the installation lacks permission ${missing}`,
        );
      } else if (!recentlyNotSelected(readiness, deps.clock)) {
        readiness.set('InstallationFound', 'True', 'Found', `the App is installed in ${org}`);
      }
    } else if (view?.state === 'suspended') {
      readiness.set('InstallationFound', 'False', 'Suspended', `the installation in ${org} is suspended`);
    } else if (view?.state === 'personal') {
      readiness.set('InstallationFound', 'False', 'PersonalAccount', `${org} is a personal account`);
    } else if (view) {
      const message = `404 for ${org}: it is no organisation, or the App is not installed in it`;
      readiness.set('InstallationFound', 'False', 'NotInstalled', view.state === 'absent' ? message : view.state);
    } else {
      readiness.set('InstallationFound', 'Unknown', 'PlatformUnreachable', `the platform answered ${answer.status}`);
    }
  } catch (error) {
    if (!(error instanceof PlatformUnreachable || error instanceof KeyServiceFailure)) throw error;
    readiness.set('InstallationFound', 'Unknown', 'PlatformUnreachable', errorText(error));
  }
}
