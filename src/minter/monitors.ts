import type { Clock } from '../base/clock.ts';
import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { askWhoWeAre, checkInstallation, type PlatformMonitorDeps } from './platform/platform-monitor.ts';
import type { AppJwtSource } from './sign/app-jwt.ts';
import type { KeyMonitor } from './sign/key-monitor.ts';

export interface MonitorsOptions extends PlatformMonitorDeps {
  clock: Clock;
  logger: Logger;
  key: KeyMonitor;
  /** Signs with the next key version; used for checks, never to mint. */
  nextJwts: Pick<AppJwtSource, 'get' | 'drop'> | undefined;
}

const keyMs = 30_000;
/** Interval of checks until key and App are known to be right: shorter, because an administrator may be waiting. */
const impatientMs = 2_000;
const installationMs = 5 * 60_000;

/**
 * Keeps the readiness correct while no tokens are minted.
 * Flow: key → App (once per key, again while it is not known to match) → installation (every five minutes) → wait.
 * Guarantees: one round at a time; `hurry` starts the next round immediately, or one second after the present one.
 */
export class Monitors {
  readonly #options: MonitorsOptions;
  #cancel = (): void => {};
  #round: Promise<void> | undefined;
  #again = false;
  #closed = false;
  #appKnown = false;
  #nextKnown = false;
  #installationAt = Number.NEGATIVE_INFINITY;

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

  /** Checks the App again. Called when the platform refused our signature. */
  doubtApp(): void {
    this.#appKnown = false;
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
    const { key, readiness, clock } = this.#options;
    const verdict = await key.check();
    if (verdict) readiness.set('KeyEnabled', verdict.status, verdict.reason, verdict.message);
    else if (readiness.get('KeyEnabled').reason === 'Pending') {
      readiness.set('KeyEnabled', 'Unknown', 'KeyServiceUnreachable', 'the key service cannot be reached');
    }
    if (!readiness.gates.key) return this.#forget();
    if (!this.#appKnown) await this.#checkApp();
    if (this.#appKnown && clock.monotonic() - this.#installationAt >= installationMs) {
      this.#installationAt = clock.monotonic();
      await checkInstallation(this.#options);
    }
  }

  /** Forgets the results of earlier checks: a key that becomes usable again may be a different key. */
  #forget(): void {
    this.#appKnown = false;
    this.#nextKnown = false;
    this.#installationAt = Number.NEGATIVE_INFINITY;
  }

  async #checkApp(): Promise<void> {
    const { readiness, nextJwts } = this.#options;
    const { verdict, message } = await askWhoWeAre(this.#options);
    this.#appKnown = verdict === 'matches';
    if (verdict === 'wrong') return readiness.set('KeyMatchesApp', 'False', 'WrongApp', message);
    if (verdict === 'unknown') return readiness.set('KeyMatchesApp', 'Unknown', 'PlatformUnreachable', message);
    if (!nextJwts || this.#nextKnown) return readiness.set('KeyMatchesApp', 'True', 'Matches', message);
    const next = await askWhoWeAre({ ...this.#options, jwts: nextJwts });
    this.#nextKnown = next.verdict === 'matches';
    if (next.verdict === 'matches') readiness.set('KeyMatchesApp', 'True', 'NextMatches', next.message);
    else if (next.verdict === 'wrong') readiness.set('KeyMatchesApp', 'False', 'NextWrongApp', next.message);
    else
      readiness.set('KeyMatchesApp', 'True', 'Matches', `${message}; the next version is not checked: ${next.message}`);
  }
}
