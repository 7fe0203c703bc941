import type { Clock } from '../base/clock.ts';
import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import {
  askWhoWeAre,
  checkInstallation,
  type AppAnswer,
  type PlatformMonitorDeps,
} from './platform/platform-monitor.ts';
import type { AppJwtSource } from './sign/app-jwt.ts';
import type { KeyMonitor } from './sign/key-monitor.ts';

export interface MonitorsOptions extends PlatformMonitorDeps {
  clock: Clock;
  logger: Logger;
  key: Pick<KeyMonitor, 'check' | 'doubt'>;
  /** Signs with the next key version; used for checks, never to mint. */
  nextJwts: Pick<AppJwtSource, 'get' | 'drop'> | undefined;
}

const keyMs = 30_000;
/** Interval of checks until key and App are known to be right: shorter, because an administrator may be waiting. */
const impatientMs = 2_000;
/** Interval of checks of the next key version until it is known to be right. */
const nextMs = 30_000;

/**
 * Keeps the readiness correct while no tokens are minted.
 * Flow: key → App (once per key, again while it is not known to match) → next key version (the same) → installation
 * (every five minutes, more often while something is wrong with it) → wait.
 * A check that is refused takes two signatures, so the checks of a refused App become rarer, down to every half minute.
 * Guarantees: an outage leaves the last answer of a check in force; a platform that limits requests is left alone for as
 * long as it says; one round at a time; `hurry` starts the next round immediately, or one second after the present one.
 */
export class Monitors {
  readonly #options: MonitorsOptions;
  #cancel = (): void => {};
  #round: Promise<void> | undefined;
  #again = false;
  #closed = false;
  #appKnown = false;
  /** How often in a row the platform refused the key, the App ID or our clock. */
  #refusals = 0;
  /** The last answer about the next key version. */
  #next: AppAnswer | undefined;
  /** When to ask again, on the monotonic clock. */
  #appDue = 0;
  #nextDue = 0;
  #installationDue = 0;

  constructor(options: MonitorsOptions) {
    this.#options = options;
  }

  /** Starts the first round now. */
  start(): void {
    this.hurry();
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  /** Checks now. Called when a mint met an unexpected answer. */
  hurry(): void {
    if (this.#closed) return;
    this.#cancel();
    if (this.#round) {
      this.#again = true;
      return;
    }
    this.#round = this.#run()
      .catch((error: unknown) => this.#options.logger.error('monitor failed', { error: errorText(error) }))
      .finally(() => {
        this.#round = undefined;
        this.#schedule();
      });
  }

  /** Checks the App again. Called when the platform refused our signature, or does not know the App. */
  doubtApp(): void {
    this.#appKnown = false;
    this.#appDue = 0;
    this.hurry();
  }

  /** Checks the key again. Called when the key service told a mint that the key cannot be used. */
  doubtKey(): void {
    this.#options.key.doubt();
    this.hurry();
  }

  #schedule(): void {
    if (this.#closed) return;
    const { readiness, clock } = this.#options;
    const settled = readiness.gates.key && this.#appKnown;
    const ms = this.#again ? 1_000 : settled ? keyMs : impatientMs;
    this.#again = false;
    this.#cancel = clock.setTimeout(() => this.hurry(), ms);
  }

  async #run(): Promise<void> {
    const { key, readiness, clock, nextJwts } = this.#options;
    readiness.judge('KeyEnabled', await key.check());
    if (!readiness.gates.key) return this.#forget();
    if (!this.#appKnown && clock.monotonic() >= this.#appDue) await this.#checkApp();
    if (!this.#appKnown) return;
    if (nextJwts && this.#next?.verdict !== 'matches' && clock.monotonic() >= this.#nextDue) {
      await this.#checkNext(nextJwts);
    }
    if (clock.monotonic() >= this.#installationDue) {
      const ms = await checkInstallation(this.#options, () => this.doubtApp());
      this.#installationDue = clock.monotonic() + ms;
    }
  }

  /** Forgets the results of earlier checks: a key that becomes usable again may be a different key. */
  #forget(): void {
    this.#appKnown = false;
    this.#refusals = 0;
    this.#next = undefined;
    this.#appDue = this.#nextDue = this.#installationDue = 0;
  }

  async #checkApp(): Promise<void> {
    const { readiness, clock } = this.#options;
    const { verdict, message, pauseMs } = await askWhoWeAre(this.#options);
    this.#appKnown = verdict === 'matches';
    this.#refusals = verdict === 'wrong' || verdict === 'skewed' ? this.#refusals + 1 : 0;
    const waitMs = this.#refusals === 0 ? 0 : Math.min(keyMs, impatientMs * 2 ** (this.#refusals - 1));
    this.#appDue = clock.monotonic() + Math.max(pauseMs, waitMs);
    if (verdict === 'matches') this.#reportMatch();
    else if (verdict === 'wrong') readiness.set('KeyMatchesApp', 'False', 'WrongApp', message);
    else if (verdict === 'skewed') readiness.set('KeyMatchesApp', 'False', 'ClockSkew', message);
    else readiness.judge('KeyMatchesApp', { status: 'Unknown', reason: 'PlatformUnreachable', message });
  }

  async #checkNext(jwts: NonNullable<MonitorsOptions['nextJwts']>): Promise<void> {
    const answer = await askWhoWeAre({ ...this.#options, jwts });
    const isClear = answer.verdict === 'matches' || answer.verdict === 'wrong';
    if (isClear || this.#next?.verdict !== 'wrong') this.#next = answer;
    this.#nextDue = this.#options.clock.monotonic() + Math.max(nextMs, answer.pauseMs);
    this.#reportMatch();
  }

  /** Reports that the key belongs to the App, and what is known of the next one. */
  #reportMatch(): void {
    const { readiness } = this.#options;
    const message = 'the platform knows this key as the key of the App';
    const next = this.#next;
    if (next?.verdict === 'matches') readiness.set('KeyMatchesApp', 'True', 'NextMatches', next.message);
    else if (next?.verdict === 'wrong') readiness.set('KeyMatchesApp', 'False', 'NextWrongApp', next.message);
    else {
      const why = next ? `; the next version is not checked: ${next.message}` : '';
      readiness.set('KeyMatchesApp', 'True', 'Matches', `${message}${why}`);
    }
  }
}
