import type { MinterCheckReason } from '../../api/v1alpha1/minter-readiness.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText } from '../../base/errors.ts';
import { deadlineIn, type Deadline } from '../deadline.ts';
import { KeyServiceFailure } from '../sign/key-service.ts';
import type { AppJwtSource } from '../sign/app-jwt.ts';
import type { Readiness } from '../readiness.ts';
import { uncovered, type Permissions } from '../rules/permissions.ts';
import { appUnknown, clockSkew, isAppUnknown } from './app-refusal.ts';
import { viewOf } from './installation.ts';
import { PlatformUnreachable, type PlatformAnswer, type PlatformClient } from './platform-client.ts';

export interface PlatformMonitorDeps {
  org: string;
  appId: number;
  jwts: Pick<AppJwtSource, 'get' | 'drop'>;
  platform: Pick<PlatformClient, 'call'>;
  readiness: Readiness;
  clock: Clock;
  /** The permissions of every scope in the rules in force. */
  wantedPermissions: () => readonly Permissions[];
}

const checkMs = 6_000;
const notSelectedMs = 10 * 60_000;

/** Interval of look-ups of an installation that is in order, and of any other: an administrator may mend it. */
const settledMs = 5 * 60_000;
const openMs = 30_000;

export interface AppAnswer {
  /** `skewed`: the signature is refused for the clock of this node, which says nothing about the key. */
  verdict: 'matches' | 'wrong' | 'skewed' | 'unknown';
  message: string;
  /** How long the platform wants to be left alone. Units: ms. */
  pauseMs: number;
}

/**
 * Asks the platform which App the key belongs to: without this check, the key of another App imports cleanly, reports
 * ENABLED, and fails only when the first token is minted. Any answer but a clear yes or no is `unknown`, and blocks
 * nothing.
 */
export async function askWhoWeAre(
  deps: Pick<PlatformMonitorDeps, 'appId' | 'jwts' | 'platform' | 'clock'>,
): Promise<AppAnswer> {
  const deadline = deadlineIn(deps.clock, checkMs);
  try {
    let answer = await getApp(deps, deadline);
    // One refusal may be due to a clock jump or a lagging replica; two in a row with a fresh signature are conclusive.
    if (refusesApp(answer)) answer = await getApp(deps, deadline);
    const pauseMs = pauseOf(answer);
    const found = (verdict: AppAnswer['verdict'], message: string): AppAnswer => ({ verdict, message, pauseMs });
    if (isAppUnknown(answer)) return found('wrong', appUnknown);
    const skew = answer.status === 401 ? clockSkew(answer, deps.clock.now()) : undefined;
    if (skew !== undefined) return found('skewed', skew);
    if (answer.status === 401)
      return found('wrong', 'the platform does not accept the signature of this key for the App');
    const id = (answer.data as { id?: unknown } | undefined)?.id;
    if (answer.status !== 200 || typeof id !== 'number')
      return found('unknown', `the platform answered ${answer.status}`);
    if (id !== deps.appId) return found('wrong', 'the key belongs to another App');
    return found('matches', 'the platform knows this key as the key of the App');
  } catch (error) {
    if (error instanceof PlatformUnreachable || error instanceof KeyServiceFailure) {
      return { verdict: 'unknown', message: errorText(error), pauseMs: 0 };
    }
    throw error;
  }
}

/**
 * Whether an attempt to mint a token found, in the last ten minutes, that a repository is not selected. The look-up of
 * the installation does not show the selected repositories, so it must not overwrite what the attempt found.
 */
function recentlyNotSelected(readiness: Readiness): boolean {
  const { reason } = readiness.get('InstallationFound');
  return reason === 'RepositoryNotSelected' && readiness.heldMs('InstallationFound') < notSelectedMs;
}

const refusesApp = (answer: PlatformAnswer): boolean => answer.status === 401 || isAppUnknown(answer);

async function getApp(
  deps: Pick<PlatformMonitorDeps, 'jwts' | 'platform'>,
  deadline: Deadline,
): Promise<PlatformAnswer> {
  const jwt = await deps.jwts.get(deadline);
  const answer = await deps.platform.call('get_app', jwt.token, {}, deadline);
  if (refusesApp(answer)) deps.jwts.drop(jwt);
  return answer;
}

const pauseOf = ({ retryAfterSeconds = 0 }: PlatformAnswer): number => retryAfterSeconds * 1_000;

/**
 * Looks up the installation and reports what would make the minting of a token fail. The result does not block
 * readiness. Without an answer, the last one stays in force. Calls `doubtApp` when the platform refuses the App itself.
 * Returns after how long to look again, in ms.
 */
export async function checkInstallation(deps: PlatformMonitorDeps, doubtApp: () => void): Promise<number> {
  const { readiness, org, appId } = deps;
  const deadline = deadlineIn(deps.clock, checkMs);
  const judge = (
    status: 'True' | 'False' | 'Unknown',
    reason: MinterCheckReason<'InstallationFound'>,
    message: string,
  ): void => readiness.judge('InstallationFound', { status, reason, message });
  try {
    const jwt = await deps.jwts.get(deadline);
    const answer = await deps.platform.call('get_installation', jwt.token, { org }, deadline);
    const refused = refusesApp(answer);
    if (refused) doubtApp();
    const view = refused ? null : viewOf(answer, org, appId);
    if (view === null) {
      judge('Unknown', 'PlatformUnreachable', `the platform answered ${answer.status}`);
      return Math.max(openMs, pauseOf(answer));
    }
    if (view.state === 'found') {
      readiness.setInstallationId(view.id);
      const missing = deps
        .wantedPermissions()
        .map((wanted) => uncovered(wanted, view.permissions))
        .find((m) => m !== null);
      if (missing) judge('False', 'PermissionMissing', `the installation lacks permission ${missing}`);
      else if (!recentlyNotSelected(readiness)) {
        judge('True', 'Found', `the App is installed in ${org}`);
        return settledMs;
      }
    } else if (view.state === 'suspended') {
      judge('False', 'Suspended', `the installation in ${org} is suspended`);
    } else if (view.state === 'personal') {
      judge('False', 'PersonalAccount', `${org} is a personal account`);
    } else {
      const message = `404 for ${org}: it is no organisation, or the App is not installed in it`;
      judge('False', 'NotInstalled', view.state === 'absent' ? message : view.state);
    }
  } catch (error) {
    if (!(error instanceof PlatformUnreachable || error instanceof KeyServiceFailure)) throw error;
    judge('Unknown', 'PlatformUnreachable', errorText(error));
  }
  return openMs;
}
