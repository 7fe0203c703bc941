import type { IncomingMessage, ServerResponse } from 'node:http';
import { canonicalJson } from '../../base/canonical-json.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { RequestTarget } from '../../base/request-target.ts';
import {
  type AgentStatus,
  type CaptureConfig,
  capturePath,
  type ExportSecrets,
  hashOfPutPath,
  maxCaptureBytes,
  maxStatusWaitSeconds,
  parseAddressed,
  parseExportSecrets,
  runningPath,
  secretsPath,
  statusPath,
} from '../../capture/index.ts';
import { goneSignal } from '../../net/http/index.ts';
import type { CaptureState } from '../capture/capture-state.ts';
import { readBody } from '../otlp/request-body.ts';
import { answerError, answerJson, answerMethod, answerRefusal, answerText, parsedJson } from './answers.ts';
import type { Route } from './routes.ts';

/**
 * The agent's side of the capture protocol (`src/capture/protocol.ts`): a client can PUT a config or the secrets to
 * which it refers, GET a config, and wait for a status. The TLS listener decides which clients may call.
 */
export function captureRoutes(
  state: CaptureState,
  options: { readonly logger: Logger; readonly onSecrets: (secrets: ExportSecrets) => void },
): Route[] {
  const { logger, onSecrets } = options;
  const served = (res: ServerResponse, work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => refuse(res, error, logger));
  const answerConfig = (res: ServerResponse, config: CaptureConfig | null): void =>
    config
      ? answerText(res, 200, 'application/json', canonicalJson(config))
      : answerError(res, 404, 'not_found', 'none that was pushed: the agent runs its seed');
  return [
    {
      path: statusPath,
      methods: ['GET'],
      serve: (_req, res, { params }) =>
        served(
          res,
          waitForStatus(state, params, goneSignal(res)).then((status) => answerJson(res, 200, status)),
        ),
    },
    { path: capturePath, methods: ['GET'], serve: (_req, res) => answerConfig(res, state.pushedConfig) },
    { path: runningPath, methods: ['GET'], serve: (_req, res) => answerConfig(res, state.runningConfig) },
    {
      path: secretsPath,
      methods: ['PUT'],
      serve: (req, res) =>
        served(
          res,
          readBody(req, { wire: maxCaptureBytes, decoded: maxCaptureBytes })
            .then((body) => onSecrets(parseExportSecrets(parsedJson(body))))
            .then(() => void res.writeHead(204).end()),
        ),
    },
    { path: `${capturePath}/`, serve: (req, res, target) => served(res, putConfig(state, req, res, target)) },
  ];
}

/** `PUT /v1/capture/sha256:…`: a config, addressed by its hash. */
async function putConfig(
  state: CaptureState,
  req: IncomingMessage,
  res: ServerResponse,
  { path, params }: RequestTarget,
): Promise<void> {
  const hash = hashOfPutPath(path);
  if (hash === null) return answerError(res, 404, 'not_found', 'no such path');
  if (req.method !== 'PUT') return answerMethod(res, 'PUT');
  const restart = params.get('restart') ?? 'now';
  if (restart !== 'now' && restart !== 'hold') {
    return answerError(res, 400, 'bad_request', 'restart: must be now or hold');
  }
  const body = await readBody(req, { wire: maxCaptureBytes, decoded: maxCaptureBytes });
  answerJson(res, 200, await state.apply(parseAddressed(hash, parsedJson(body)), 'push', restart));
}

async function waitForStatus(state: CaptureState, params: URLSearchParams, signal: AbortSignal): Promise<AgentStatus> {
  const number = (name: string, fallback: number, max: number): number => {
    const text = params.get(name);
    if (text === null) return fallback;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value <= max)) throw new OperatorError('ERR_INPUT_INVALID', `${name}: must be a whole number up to ${max}`);
    return value;
  };
  const after = number('after', 0, Number.MAX_SAFE_INTEGER);
  return state.statusAfter(after, number('wait', 0, maxStatusWaitSeconds) * 1_000, signal);
}

function refuse(res: ServerResponse, error: unknown, logger: Logger): void {
  if (res.headersSent || res.destroyed || answerRefusal(res, error)) return;
  logger.error('capture request failed', { error: errorText(error) });
  answerError(res, 500, 'internal', 'internal error');
}
