import { Pace } from '../../base/turns/turns.ts';
import { warningOf } from '../fanout/failure.ts';
import { ApiError, invalidParameter } from '../api/api-error.ts';
import { runRequest } from '../api/call.ts';
import type { Handler } from '../api/call.ts';
import { wholeNumber } from '../api/params.ts';
import { sendSuccess } from '../api/respond.ts';
import { features } from './features.ts';
import { buildInfo, configText, flags, runtimeInfo } from './status.ts';
import { agentPool, targetsJson } from './targets.ts';
import { countBytes, storeStatus } from './tsdb-status.ts';

/** The most lines that each list of the store's status may have. Source: Prometheus web/api/v1. */
const maxCounted = 10_000;

const fixed =
  (data: unknown): Handler =>
  async ({ req, res }) =>
    sendSuccess(req, res, [JSON.stringify(data)]);

/** Rules and alerts live in other programs; clients that list them get an empty list. */
export const rules: Handler = async ({ req, res, params }) => {
  const type = params.get('type') ?? '';
  if (!['', 'alert', 'record'].includes(type.toLowerCase())) {
    throw invalidParameter('type', `not supported value ${JSON.stringify(type)}`);
  }
  await sendSuccess(req, res, ['{"groups":[]}']);
};
export const alerts = fixed({ alerts: [] });
export const alertmanagers = fixed({ activeAlertmanagers: [], droppedAlertmanagers: [] });
export const scrapePools = fixed({ scrapePools: [agentPool] });
/** Blocks and write-ahead logs belong to the agents, which answer only after the replay: nothing is reported here. */
export const blocks = fixed({ blocks: [] });
export const walReplay = fixed({ min: 0, max: 0, current: 0 });
export const notifications = fixed([]);
export const featureList = fixed(features);

export const buildinfo: Handler = async ({ req, res }, deps) => {
  await sendSuccess(req, res, [JSON.stringify(buildInfo(deps.version))]);
};

/** `/api/v1/status/flags`. A limit that a policy lowers for the caller is shown with the policy's value. */
export const statusFlags: Handler = async (call, deps) => {
  const { req, res } = call;
  await sendSuccess(req, res, [
    JSON.stringify(flags(deps.settings, deps.runner.heldTo({ namespaces: call.namespaces, partialResponse: true }))),
  ]);
};

export const runtimeinfo: Handler = async ({ req, res }, deps) => {
  await sendSuccess(req, res, [JSON.stringify(runtimeInfo(deps))]);
};

/** `/api/v1/status/config`: there is no file; the settings are shown instead, as YAML. */
export const config: Handler = async ({ req, res }, deps) => {
  await sendSuccess(req, res, [JSON.stringify({ yaml: configText(deps.settings) })]);
};

/** `/api/v1/status/tsdb`: cardinality over all agents, of the series with samples in the lookback of queries. */
export const tsdb: Handler = async (call, deps) => {
  const { req, res, params } = call;
  const limit = wholeNumber(params.get('limit')) ?? 10;
  if (!(limit > 0)) throw new ApiError('bad_data', 'limit must be a positive number');
  if (limit > maxCounted) throw new ApiError('bad_data', `limit must not exceed ${maxCounted}`);
  const now = deps.clock.now();
  const from = now - deps.settings.lookbackDelta;
  const answer = await deps.runner.series([], from, now, runRequest(call), 0, countBytes);
  const range = { minTime: from, maxTime: now, limit };
  const status = await storeStatus(new Pace(call.signal), answer.result, range);
  await sendSuccess(req, res, [JSON.stringify(status)], answer);
};

/**
 * `/api/v1/targets`: the agents. Each is asked for its newest `svc_agent_up`; an agent that does not answer is down.
 */
export const targets: Handler = async (call, deps) => {
  const { req, res, params } = call;
  const now = deps.clock.now();
  const started = deps.clock.monotonic();
  const { agents, lost } = await deps.runner.probe(runRequest(call));
  const seconds = (deps.clock.monotonic() - started) / 1000;
  const wanted =
    ['', 'any', 'active'].includes((params.get('state') ?? '').toLowerCase()) &&
    ['', agentPool].includes(params.get('scrapePool') ?? '');
  const shown = call.namespaces === undefined && wanted ? agents : [];
  const data = targetsJson(shown, lost, { now, seconds, settings: deps.settings });
  await sendSuccess(req, res, [JSON.stringify(data)], {
    warnings: [...lost.values()].map(warningOf),
    infos: [],
    missingNodes: [...lost.keys()].sort(),
  });
};
