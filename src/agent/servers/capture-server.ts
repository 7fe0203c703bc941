import type { ServerResponse } from 'node:http';
import { canonicalJson, sha256Hex } from '../../base/canonical-json.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import { requestTarget } from '../../base/request-target.ts';
import {
  capturePath,
  type ExportSecrets,
  hashOfPutPath,
  maxCaptureBytes,
  maxStatusWaitSeconds,
  parseCaptureConfig,
  parseExportSecrets,
  runningPath,
  secretsPath,
  statusPath,
} from '../../capture/index.ts';
import type { HttpHandler } from '../../net/http/index.ts';
import type { CaptureState } from '../capture/capture-state.ts';
import { readBody } from '../otlp/request-body.ts';
import { answerError, answerJson, answerMethod, answerRefusal, answerText, parsedJson } from './answers.ts';

/**
 * The agent's side of the capture protocol (`src/capture/protocol.ts`): PUT a config or the secrets that it
 * refers to, ask for it, wait for status.
 * The TLS listener in front of it decides which clients may call.
 */
export function captureHandler(
  state: CaptureState,
  options: { readonly logger: Logger; readonly onSecrets: (secrets: ExportSecrets) => void },
): HttpHandler {
  const { logger, onSecrets } = options;
  return (req, res) => {
    const { path, params } = requestTarget(req);
    const fail = (error: unknown): void => refuse(res, error, logger);
    if (path === statusPath) {
      if (req.method !== 'GET') return answerMethod(res, 'GET');
      const gone = new AbortController();
      res.on('close', () => gone.abort());
      return waitForStatus(state, params, gone.signal).then((status) => answerJson(res, 200, status), fail);
    }
    if (path === capturePath || path === runningPath) {
      if (req.method !== 'GET') return answerMethod(res, 'GET');
      const config = path === capturePath ? state.pushedConfig : state.runningConfig;
      if (!config) return answerError(res, 404, 'not_found', 'none that was pushed: the agent runs its seed');
      return answerText(res, 200, 'application/json', canonicalJson(config));
    }
    if (path === secretsPath) {
      if (req.method !== 'PUT') return answerMethod(res, 'PUT');
      return readBody(req, { wire: maxCaptureBytes, decoded: maxCaptureBytes })
        .then((body) => onSecrets(parseExportSecrets(parsedJson(body))))
        .then(() => void res.writeHead(204).end(), fail);
    }
    const hash = hashOfPutPath(path);
    if (hash === null) return answerError(res, 404, 'not_found', 'no such path');
    if (req.method !== 'PUT') return answerMethod(res, 'PUT');
    const restart = params.get('restart') ?? 'now';
    if (restart !== 'now' && restart !== 'hold') {
      return answerError(res, 400, 'bad_request', 'restart: must be now or hold');
    }
    return readBody(req, { wire: maxCaptureBytes, decoded: maxCaptureBytes })
      .then((body) => state.apply(checkedConfig(hash, body), 'push', restart))
      .then((ack) => answerJson(res, 200, ack), fail);
  };
}

function checkedConfig(hash: string, body: Buffer): ReturnType<typeof parseCaptureConfig> {
  const config = parseCaptureConfig(parsedJson(body));
  const actual = `sha256:${sha256Hex(canonicalJson(config))}`;
  if (actual !== hash) throw new OperatorError('ERR_INPUT_INVALID', `hash: the body's is ${actual}`);
  return config;
}

function waitForStatus(
  state: CaptureState,
  params: URLSearchParams,
  signal: AbortSignal,
): ReturnType<CaptureState['statusAfter']> {
  const number = (name: string, fallback: number, max: number): number => {
    const text = params.get(name);
    if (text === null) return fallback;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value <= max)) throw new OperatorError('ERR_INPUT_INVALID', `${name}: must be a whole number up to ${max}`);
    return value;
  };
  return Promise.resolve().then(() => {
    const after = number('after', 0, Number.MAX_SAFE_INTEGER);
    return state.statusAfter(after, number('wait', 0, maxStatusWaitSeconds) * 1_000, signal);
  });
}

function refuse(res: ServerResponse, error: unknown, logger: Logger): void {
  if (res.headersSent || res.destroyed || answerRefusal(res, error)) return;
  logger.error('capture request failed', { error: errorText(error) });
  answerError(res, 500, 'internal', 'internal error');
}
