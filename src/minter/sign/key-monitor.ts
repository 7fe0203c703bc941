import type { Clock } from '../../base/clock.ts';
import type { MinterCheckReason } from '../../api/v1alpha1/minter-readiness.ts';
import { deadlineIn } from '../deadline.ts';
import { isUsableAlgorithm, KeyServiceFailure } from './key-service.ts';
import type { KmsSigner } from './kms-signer.ts';

export type KeyVerdict = {
  status: 'True' | 'False' | 'Unknown';
  reason: MinterCheckReason<'KeyEnabled'>;
  message: string;
};

const checkMs = 3_000;
const probeEveryMs = 60_000;
/** The message that a probe signs. It is not the header and claims of a JWT, so its signature is worth nothing. */
const probeMessage = Buffer.from('svc-minter key probe');

/** What the state and the algorithm of a key version mean for signing. Source: the key service's state list. */
export function judgeState(state: string, algorithm: string): KeyVerdict {
  if (state === 'ENABLED') {
    if (isUsableAlgorithm(algorithm))
      return { status: 'True', reason: 'Enabled', message: 'the key version is ENABLED' };
    return { status: 'False', reason: 'WrongAlgorithm', message: `the key version has algorithm ${algorithm}` };
  }
  const message = `the key version is ${state}`;
  if (state.startsWith('DESTROY') || state.includes('DESTRUCTION'))
    return { status: 'False', reason: 'Destroyed', message };
  if (state.startsWith('PENDING') || state.endsWith('_FAILED'))
    return { status: 'False', reason: 'PendingImport', message };
  return { status: 'False', reason: 'Disabled', message };
}

/** What a failed call reveals about the key; null when it reveals nothing (an outage is not a state of the key). */
export function judgeFailure(failure: KeyServiceFailure): KeyVerdict | null {
  switch (failure.kind) {
    case 'not_found':
      return { status: 'False', reason: 'NotFound', message: 'the key version does not exist' };
    case 'permission_denied':
      return { status: 'False', reason: 'PermissionDenied', message: 'the key service refuses this identity' };
    case 'failed_precondition':
      if (failure.state === 'WRONG_ALGORITHM') {
        return { status: 'False', reason: 'WrongAlgorithm', message: failure.message };
      }
      return judgeState(failure.state ?? 'not ENABLED', '');
    default:
      return null;
  }
}

/**
 * Checks the key version. If the minter only has the role of a signer, the service may refuse to describe a version.
 * Then the public key of the version and a probe signature (at most one a minute while it succeeds) give the same
 * result. After a mint could not use the key, a probe has to succeed in either case: an identity may see what it may not
 * use.
 */
export class KeyMonitor {
  readonly #signer: KmsSigner;
  readonly #clock: Clock;
  /** When the last probe that succeeded was begun. Monotonic, ms. */
  #probedAt = Number.NEGATIVE_INFINITY;
  /** Whether a signature failed after that. */
  #doubted = false;

  constructor(signer: KmsSigner, clock: Clock) {
    this.#signer = signer;
    this.#clock = clock;
  }

  /** A mint could not use the key: until a probe succeeds, neither an earlier one nor the state of the version counts. */
  doubt(): void {
    this.#doubted = true;
  }

  /** `Unknown`: the service gave no answer, which says nothing about the key. */
  async check(): Promise<KeyVerdict> {
    try {
      const { state, algorithm } = await this.#signer.describe(deadlineIn(this.#clock, checkMs));
      const verdict = judgeState(state, algorithm);
      if (verdict.status === 'True' && this.#doubted) return await this.#probe();
      if (verdict.status === 'True') await this.#signer.publicKey(deadlineIn(this.#clock, checkMs));
      else this.#signer.forgetPublicKey();
      return verdict;
    } catch (error) {
      if (!(error instanceof KeyServiceFailure)) throw error;
      return error.kind === 'permission_denied' ? this.#probe() : (judgeFailure(error) ?? noAnswer(error));
    }
  }

  async #probe(): Promise<KeyVerdict> {
    const now = this.#clock.monotonic();
    if (!this.#doubted && now - this.#probedAt < probeEveryMs) return probed;
    // Before the probe, because a mint may fail meanwhile.
    this.#doubted = false;
    try {
      this.#signer.forgetPublicKey();
      await this.#signer.sign(probeMessage, deadlineIn(this.#clock, checkMs));
      this.#probedAt = now;
      return probed;
    } catch (error) {
      if (!(error instanceof KeyServiceFailure)) throw error;
      this.#doubted = true;
      return judgeFailure(error) ?? noAnswer(error);
    }
  }
}

const probed: KeyVerdict = { status: 'True', reason: 'Enabled', message: 'a probe signature was made' };

function noAnswer({ message }: KeyServiceFailure): KeyVerdict {
  return { status: 'Unknown', reason: 'KeyServiceUnreachable', message };
}
