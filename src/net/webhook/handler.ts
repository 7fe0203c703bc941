import type { ServerResponse } from 'node:http';
import { unlessAborted } from '../../base/aborted.ts';
import type { Clock } from '../../base/clock.ts';
import { errorText, isOperatorError, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { Crowded } from '../../base/collections/share.ts';
import { parseJson } from '../../base/text/parse-json.ts';
import { requestTarget } from '../../base/request-target.ts';
import { TimeLimit } from '../../base/time-limit.ts';
import { peerAddress, type HttpHandler } from '../http/index.ts';
import { admissionAnswer, readAdmissionReview, type AdmissionRequest, type Validator } from './admission.ts';
import { conversionAnswer, readConversionReview, type Converters } from './conversion.ts';
import { ReviewBodies } from './review-bodies.ts';
import { ReviewLog } from './review-log.ts';

/** The options of `webhookHandler`. */
export interface WebhookOptions {
  /** The validator of each path, such as `/validate/widgets`. */
  validators: Readonly<Record<string, Validator>>;
  /** Served at `/convert`, which does not exist without any. */
  converters: Converters;
  clock: Clock;
  logger: Logger;
  /** How long a validator may take. Units: ms. Default 4 s: below the webhook's own timeout. */
  deadlineMs?: number;
  /**
   * For metrics: called when a request begins; the returned function is called with its HTTP status. `webhook` is the
   * path.
   */
  observe?: (webhook: string) => (code: number) => void;
}

/** The API server sends an object at most twice in one review, and objects are at most 3 MiB in etcd. */
const admissionLimits = { maxBytes: 8 * 1024 * 1024, maxValues: 250_000 };
/** One conversion contains all objects of a list that the client does not request in pages. */
const conversionLimits = { maxBytes: 24 * 1024 * 1024, maxValues: 750_000 };
const bodyLimits = {
  bytes: { all: 2 * conversionLimits.maxBytes, ofOne: conversionLimits.maxBytes },
  // A million values take up to 150 MB (short unique keys), less than a third of the container's memory.
  values: { all: 1_000_000, ofOne: conversionLimits.maxValues },
};
const defaultDeadlineMs = 4_000;

/**
 * Answers admission and conversion reviews of the API server.
 *
 * Guarantees: a review is answered within the deadline; the answer is HTTP 500 if the validator throws or takes too
 * long, and 503 if there is no memory for the review. Neither is answered as "allowed": the webhook's `failurePolicy`
 * decides about the request.
 * Assumptions: runs behind TLS that the API server verifies by `caBundle`. Without a required client certificate any
 * caller is answered, so validators must not reveal anything that depends on the user.
 */
export function webhookHandler(options: WebhookOptions): HttpHandler {
  const bodies = new ReviewBodies(bodyLimits);
  const log = new ReviewLog(options.logger, options.clock);
  const converts = Object.keys(options.converters).length > 0;
  return (req, res) => {
    const { path } = requestTarget(req);
    const validator = Object.hasOwn(options.validators, path) ? options.validators[path] : undefined;
    if (!validator && !(converts && path === '/convert')) return send(res, 404, { message: 'not found' });
    if (req.method !== 'POST') return send(res, 405, { message: 'a review is POSTed' });
    const observed = options.observe?.(path);
    const caller = peerAddress(req.socket) ?? '';
    const onDenial = (request: AdmissionRequest, message: string): void => log.denied(caller, request, message);
    return bodies
      .with(req, validator ? admissionLimits : conversionLimits, (body) => answer(body, validator, options, onDenial))
      .then(
        (body) => {
          observed?.(200);
          send(res, 200, body);
        },
        (error: unknown) => {
          const code = statusOf(error);
          observed?.(code);
          log.failed(caller, path, error);
          send(res, code, { message: errorText(error) });
        },
      );
  };
}

function statusOf(error: unknown): number {
  if (error instanceof Crowded) return 503;
  return isOperatorError(error, 'ERR_INPUT_INVALID') || isOperatorError(error, 'ERR_TOO_LARGE') ? 400 : 500;
}

async function answer(
  text: Buffer,
  validator: Validator | undefined,
  options: WebhookOptions,
  onDenial: (request: AdmissionRequest, message: string) => void,
): Promise<object> {
  const body = parseJson(text, 'the review');
  if (!validator) return conversionAnswer(readConversionReview(body), options.converters);
  const request = readAdmissionReview(body);
  const deadlineMs = options.deadlineMs ?? defaultDeadlineMs;
  const reason = (): Error => new OperatorError('ERR_TIMEOUT', `no verdict on ${request.name} in time`);
  const limit = new TimeLimit(options.clock, deadlineMs, undefined, reason);
  try {
    const verdict = await unlessAborted(limit.signal, (async () => validator(request, limit.signal))());
    if (!verdict.allowed) onDenial(request, verdict.message);
    return admissionAnswer(request.uid, verdict);
  } finally {
    limit.release();
  }
}

function send(res: ServerResponse, code: number, body: object): void {
  const text = JSON.stringify(body);
  res.writeHead(code, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
}
