import { lostNodeWarning } from '../../api/page/lost-node.ts';
import { errorText, isOperatorError } from '../../base/errors.ts';

/** Why an agent that was asked did not answer. */
export const agentFailureReasons = ['unreachable', 'timeout', 'auth', 'identity', 'protocol', 'over limit'] as const;
type AgentFailureReason = (typeof agentFailureReasons)[number];

/** Why a node's data is not in an answer: `departed` means that the node no longer exists, so no request was sent. */
export type FailureReason = AgentFailureReason | 'departed';

/** An agent did not give a whole and valid answer. */
export class AgentFailure extends Error {
  readonly reason: AgentFailureReason;

  constructor(reason: AgentFailureReason, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'AgentFailure';
    this.reason = reason;
  }
}

/** The reason of failure for an HTTP status other than 200. */
export function reasonOfStatus(status: number): AgentFailureReason {
  if (status === 401 || status === 403) return 'auth';
  return status === 429 || status === 503 ? 'over limit' : 'protocol';
}

/** A node that is missing from an answer. */
export interface LostNode {
  readonly node: string;
  readonly reason: FailureReason;
  readonly message: string;
  readonly elapsedMs: number;
}

/** The sentence about the node in the answer's `warnings`. */
export function warningOf({ node, reason, message, elapsedMs }: LostNode): string {
  const what = reason === 'departed' ? reason : `${reason} after ${Math.round(elapsedMs)} ms`;
  return lostNodeWarning(node, `${what}: ${message}`);
}

/** Assigns a reason to any error of reading an agent. `headArrived`: the answer's status and headers were received. */
export function asAgentFailure(error: unknown, headArrived: boolean): AgentFailure {
  if (error instanceof AgentFailure) return error;
  const message = errorText(error);
  const fail = (reason: AgentFailureReason): AgentFailure => new AgentFailure(reason, message, { cause: error });
  if (isOperatorError(error, 'ERR_TIMEOUT')) return fail('timeout');
  if (isOperatorError(error, 'ERR_TOO_LARGE')) return fail('over limit');
  if (isOperatorError(error, 'ERR_PEER_IDENTITY')) return fail('identity');
  if (isOperatorError(error, 'ERR_AGENT_UNREACHABLE')) {
    if (headArrived) return fail('protocol');
    return fail(isTlsRefusal(error) ? 'auth' : 'unreachable');
  }
  return fail('protocol');
}

/** Certificate and handshake errors of OpenSSL and Node. */
function isTlsRefusal(error: unknown): boolean {
  for (let e = error; typeof e === 'object' && e !== null; e = (e as Error).cause) {
    const { code = '' } = e as NodeJS.ErrnoException;
    if (/CERT|SELF_SIGNED|ERR_TLS|ERR_SSL|UNABLE_TO_/.test(code)) return true;
  }
  return false;
}
