import { request } from 'node:http';
import { minterCheckTypes, type MinterReadiness } from '../../api/v1alpha1/minter-readiness.ts';
import type { Clock } from '../../base/clock.ts';
import { OperatorError } from '../../base/errors.ts';
import { parseRfc3339 } from '../../base/text/rfc3339.ts';
import { answerTo, readWhole } from '../../base/wire/http-body.ts';
import { TimeLimit } from '../../base/time-limit.ts';
import { ports } from '../../render/index.ts';

/** Asks one minter pod for its readiness. */
export type ReadinessReader = (podIp: string, signal: AbortSignal) => Promise<MinterReadiness>;

const deadlineMs = 3_000;
const maxBytes = 256 * 1024;

/**
 * `GET http://<pod>:9090/readyz`; the body is the same whether the pod is ready (200) or not (503).
 * Errors: ERR_TIMEOUT, ERR_TOO_LARGE, ERR_INPUT_INVALID for a malformed body, ERR_API_REQUEST when no pod answers.
 */
export function minterReadinessReader(clock: Clock): ReadinessReader {
  return async (podIp, signal) => {
    const what = `readyz of minter pod ${podIp}`;
    const limit = new TimeLimit(clock, deadlineMs, signal);
    try {
      const options = { host: podIp, port: ports.minterAdmin, path: '/readyz', signal: limit.signal };
      return parseReadiness(await get(options, what), what);
    } catch (cause) {
      if (cause instanceof OperatorError) throw cause;
      if (limit.passed) throw new OperatorError('ERR_TIMEOUT', `${what}: no answer in ${deadlineMs} ms`, { cause });
      throw new OperatorError('ERR_API_REQUEST', `${what}: ${(cause as Error).message}`, { cause });
    } finally {
      limit.release();
    }
  };
}

async function get(options: object, what: string): Promise<string> {
  const res = await answerTo(request({ ...options, agent: false }).end());
  const tooLarge = (): Error =>
    new OperatorError('ERR_TOO_LARGE', `${what}: the answer is larger than ${maxBytes} bytes`);
  return (await readWhole(res, maxBytes, tooLarge)).toString('utf8');
}

/**
 * Checks the fields from which the status of a MinterDeployment is written. Errors: ERR_INPUT_INVALID that names the
 * field.
 */
export function parseReadiness(text: string, what = 'readyz'): MinterReadiness {
  const bad = (field: string): OperatorError =>
    new OperatorError('ERR_INPUT_INVALID', `${what}: ${field} is wrong or missing`);
  let body: Partial<MinterReadiness> | null;
  try {
    body = JSON.parse(text) as Partial<MinterReadiness> | null;
  } catch (cause) {
    throw new OperatorError('ERR_INPUT_INVALID', `${what}: not JSON`, { cause });
  }
  if (typeof body !== 'object' || body === null) throw bad('the body');
  if (typeof body.ready !== 'boolean') throw bad('ready');
  if (!Array.isArray(body.checks)) throw bad('checks');
  for (const check of body.checks) {
    if (!minterCheckTypes.includes(check?.type)) throw bad('checks[].type');
    if (!['True', 'False', 'Unknown'].includes(check.status)) throw bad(`checks[${check.type}].status`);
    // The API refuses a malformed reason, and the whole status with it.
    if (!isReason(check.reason)) throw bad(`checks[${check.type}].reason`);
    if (typeof check.message !== 'string') throw bad(`checks[${check.type}].message`);
  }
  if (typeof body.keyVersion !== 'string' || body.keyVersion.length > 512) throw bad('keyVersion');
  if (typeof body.rulesHash !== 'string' || body.rulesHash.length > 80) throw bad('rulesHash');
  if (!Array.isArray(body.scopes)) throw bad('scopes');
  const { installationId: id, lastMintTime, lastMintError } = body;
  if (id !== undefined && !(Number.isSafeInteger(id) && id >= 0)) throw bad('installationId');
  if (lastMintTime !== undefined && !isTime(lastMintTime)) throw bad('lastMintTime');
  if (lastMintError !== undefined && !(typeof lastMintError?.reason === 'string' && isTime(lastMintError.time))) {
    throw bad('lastMintError');
  }
  return body as MinterReadiness;
}

function isReason(value: unknown): boolean {
  return typeof value === 'string' && /^[A-Za-z]([A-Za-z0-9_]{0,254}[A-Za-z0-9])?$/.test(value);
}

/** Whether the API accepts a value as a time; pods write theirs in UTC. */
function isTime(value: unknown): boolean {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(value)) return false;
  return parseRfc3339(value) !== undefined;
}
