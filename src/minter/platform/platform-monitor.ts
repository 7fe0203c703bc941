import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { deadlineIn } from '../deadline.ts';
import { KeyServiceFailure } from '../sign/key-service.ts';
import type { AppJwtSource } from '../sign/app-jwt.ts';
import type { Readiness } from '../readiness.ts';
import { uncovered, type Permissions } from '../rules/permissions.ts';
import { viewOf } from './installation.ts';
import { PlatformUnreachable, type PlatformClient } from './platform-client.ts';

export interface PlatformMonitorDeps {
  org: string;
  appId: number;
  jwts: Pick<AppJwtSource, 'get' | 'drop'>;
  platform: PlatformClient;
  readiness: Readiness;
  clock: Clock;
  /** Everything the rules in force may give out. */
  wantedPermissions: () => readonly Permissions[];
}

const checkMs = 6_000;

export type AppVerdict = 'matches' | 'wrong' | 'unknown';

/**
 * Asks the platform who signs: a key of another App imports cleanly, reports ENABLED, and would fail at the first push.
 * Anything but a clear yes or no is `unknown`, and blocks nothing.
 */
export async function askWhoWeAre(
  deps: Pick<PlatformMonitorDeps, 'appId' | 'jwts' | 'platform' | 'clock'>,
): Promise<{ verdict: AppVerdict; message: string }> {
  const deadline = deadlineIn(deps.clock, checkMs);
  try {
    const jwt = await deps.jwts.get(deadline);
    const answer = await deps.platform.call('get_app', jwt.token, {}, deadline);
    if (answer.status === 401) {
      deps.jwts.drop(jwt);
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

/** Looks the installation up and says what a mint would meet. It informs; it does not block. */
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
      } else if (readiness.get('InstallationFound').reason !== 'RepositoryNotSelected') {
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
