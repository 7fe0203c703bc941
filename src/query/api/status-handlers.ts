import type { LostNode } from '../fanout/failure.ts';
import { lostNodeWarning } from '../fanout/failure.ts';
import { runRequest } from './call.ts';
import type { Handler } from './call.ts';
import { limitParam } from './params.ts';
import { sendSuccess } from './respond.ts';
import { buildInfo, configText, flags, runtimeInfo } from './status.ts';
import { targetsJson } from './targets.ts';
import { storeStatus } from './tsdb-status.ts';

const fixed =
  (data: unknown): Handler =>
  async ({ req, res }) =>
    sendSuccess(req, res, [JSON.stringify(data)]);

/** Rules and alerts live in other programs; clients that list them get an empty list. */
export const rules = fixed({ groups: [] });
export const alerts = fixed({ alerts: [] });
export const alertmanagers = fixed({ activeAlertmanagers: [], droppedAlertmanagers: [] });

export const buildinfo: Handler = async ({ req, res }, deps) => {
  await sendSuccess(req, res, [JSON.stringify(buildInfo(deps.version))]);
};

export const statusFlags: Handler = async ({ req, res }, deps) => {
  await sendSuccess(req, res, [JSON.stringify(flags(deps.settings))]);
};

export const runtimeinfo: Handler = async ({ req, res }, deps) => {
  await sendSuccess(req, res, [JSON.stringify(runtimeInfo(deps))]);
};

/** `/api/v1/status/config`: there is no file; the settings stand in its place, as YAML. */
export const config: Handler = async ({ req, res }, deps) => {
  await sendSuccess(req, res, [JSON.stringify({ yaml: configText(deps.settings) })]);
};

/** `/api/v1/status/tsdb`: cardinality over all agents, of the series with samples in the last five minutes. */
export const tsdb: Handler = async (call, deps) => {
  const { req, res, params } = call;
  const limit = params.has('limit') ? limitParam(params) : 10;
  const now = deps.clock.now();
  const from = now - deps.settings.lookbackDelta;
  const answer = await deps.runner.series([], from, now, runRequest(call));
  await sendSuccess(req, res, [JSON.stringify(storeStatus(answer.result, from, now, limit))], answer);
};

/** `/api/v1/targets`: the agents. Each is asked for its newest `svc_agent_up`; who does not answer is down. */
export const targets: Handler = async (call, deps) => {
  const { req, res, params } = call;
  const now = deps.clock.now();
  const started = deps.clock.monotonic();
  const { agents, lost } = await deps.runner.probe(runRequest(call));
  const seconds = (deps.clock.monotonic() - started) / 1000;
  const state = params.get('state') ?? '';
  const shown = call.namespaces === undefined && state !== 'dropped' ? agents : [];
  const data = targetsJson(shown, lost, { now, seconds, settings: deps.settings });
  await sendSuccess(req, res, [JSON.stringify(data)], {
    warnings: [...lost.values()].map((node: LostNode) => lostNodeWarning(node)),
    infos: [],
    missingNodes: [...lost.keys()].sort(),
  });
};
