import type { Clock } from '../base/clock.ts';
import type {
  MinterCheck,
  MinterCheckReason,
  MinterCheckType,
  MinterReadiness,
} from '../api/v1alpha1/minter-readiness.ts';
import { minterCheckTypes } from '../api/v1alpha1/minter-readiness.ts';

export interface ReadinessOptions {
  clock: Clock;
  keyVersion: string;
  nextKeyVersion: string | undefined;
  onChange?: (readiness: Readiness, check: MinterCheck | null) => void;
}

/** The state of other components, read when the report is made. */
export interface ReadinessFacts {
  rulesHash: string;
  scopes: string[];
  jwksAgeMs: number | null;
}

/**
 * The only place that decides whether this process should get traffic: ready = rules ∧ key ∧ app, and not draining. A
 * check without an answer so far blocks readiness; an outage leaves the last answer of a check in force.
 */
export class Readiness {
  readonly #options: ReadinessOptions;
  readonly #checks = new Map<MinterCheckType, MinterCheck>();
  /** Monotonic time of the last change of each check. */
  readonly #changedMs = new Map<MinterCheckType, number>();
  #draining = false;
  #usableScopes = false;
  #appAsked = false;
  #installationId: number | undefined;
  #lastMintTime: string | undefined;
  #lastMintError: { reason: string; time: string } | undefined;

  constructor(options: ReadinessOptions) {
    this.#options = options;
    for (const type of minterCheckTypes) {
      this.#checks.set(type, {
        type,
        status: 'Unknown',
        reason: 'Pending',
        message: 'not checked yet',
        since: this.#time(),
      });
      this.#changedMs.set(type, options.clock.monotonic());
    }
  }

  /** Records a judgement. The time of the last change is kept when only the message differs. */
  set<T extends MinterCheckType>(
    type: T,
    status: MinterCheck['status'],
    reason: MinterCheckReason<T>,
    message: string,
  ): void {
    const old = this.#checks.get(type)!;
    if (type === 'KeyMatchesApp') this.#appAsked = true;
    const changed = old.status !== status || old.reason !== reason;
    const check: MinterCheck = { type, status, reason, message, since: changed ? this.#time() : old.since };
    this.#checks.set(type, check);
    if (!changed) return;
    this.#changedMs.set(type, this.#options.clock.monotonic());
    this.#options.onChange?.(this, check);
  }

  /** Records a judgement, unless it is that there was no answer: then the last one stays in force. */
  judge<T extends MinterCheckType>(
    type: T,
    { status, reason, message }: { status: MinterCheck['status']; reason: MinterCheckReason<T>; message: string },
  ): void {
    if (status !== 'Unknown' || this.get(type).status === 'Unknown') this.set(type, status, reason, message);
  }

  get(type: MinterCheckType): MinterCheck {
    return this.#checks.get(type)!;
  }

  /** How long status and reason of the check have been what they are, whatever the wall clock did. Units: ms. */
  heldMs(type: MinterCheckType): number {
    return this.#options.clock.monotonic() - this.#changedMs.get(type)!;
  }

  setUsableScopes(any: boolean): void {
    if (this.#usableScopes === any) return;
    this.#usableScopes = any;
    this.#options.onChange?.(this, null);
  }

  drain(): void {
    this.#draining = true;
    this.#options.onChange?.(this, null);
  }

  get draining(): boolean {
    return this.#draining;
  }

  /** True when the key, the App or our clock is known to be wrong: signing would be pointless. */
  get knownUnusable(): boolean {
    return this.get('KeyEnabled').status === 'False' || this.#appRefuses;
  }

  /** `app` is true when the App takes our signature, and also when the platform could not be asked. */
  get gates(): MinterReadiness['gates'] {
    return {
      rules: this.#usableScopes,
      key: this.get('KeyEnabled').status === 'True',
      app: this.#appAsked && !this.#appRefuses,
    };
  }

  get ready(): boolean {
    const { rules, key, app } = this.gates;
    return rules && key && app && !this.#draining;
  }

  mintSucceeded(installationId: number): void {
    this.#installationId = installationId;
    this.#lastMintTime = this.#time();
  }

  mintFailed(reason: string): void {
    this.#lastMintError = { reason, time: this.#time() };
  }

  setInstallationId(id: number): void {
    this.#installationId = id;
  }

  report(facts: ReadinessFacts): MinterReadiness {
    const { keyVersion, nextKeyVersion } = this.#options;
    return {
      ready: this.ready,
      gates: this.gates,
      checks: [...this.#checks.values()],
      keyVersion,
      ...(nextKeyVersion === undefined ? {} : { nextKeyVersion }),
      rulesHash: facts.rulesHash,
      scopes: facts.scopes,
      ...(this.#installationId === undefined ? {} : { installationId: this.#installationId }),
      ...(this.#lastMintTime === undefined ? {} : { lastMintTime: this.#lastMintTime }),
      ...(this.#lastMintError === undefined ? {} : { lastMintError: this.#lastMintError }),
      jwks: { ageSeconds: facts.jwksAgeMs === null ? null : Math.round(facts.jwksAgeMs / 1000) },
    };
  }

  /** False for `NextWrongApp`: a wrong next version of the key must not stop minting with the present version. */
  get #appRefuses(): boolean {
    const { status, reason } = this.get('KeyMatchesApp');
    return status === 'False' && (reason === 'WrongApp' || reason === 'ClockSkew');
  }

  #time(): string {
    return new Date(this.#options.clock.now()).toISOString();
  }
}
