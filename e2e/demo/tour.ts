import { installPlugin, type Plugin } from '../kubectl-svc/plugin.ts';
import type { QueryAnswer } from './query-client.ts';
import { interruptible, type Report } from './report.ts';
import { agentEmail, type Stage } from './stage.ts';
import { until } from '../../src/testing/until.ts';

const upQuery = 'sum(svc_agent_up)';
const rateQuery = 'sum by (service_name) (rate(http_server_request_duration_count{k8s_namespace_name="shop"}[1m]))';

/**
 * Shows what the product does, and reports for each check whether the result is as expected.
 * Errors: the signal's reason when it aborts; what was not checked by then is not reported.
 */
export async function runTour(stage: Stage, report: Report, signal: AbortSignal): Promise<void> {
  const shown = interruptible(report, signal);
  await showResources(stage, shown);
  await showQueries(stage, shown, signal);
  await showPlugin(stage, shown);
  await showTokens(stage, shown);
  await showLostNode(stage, shown, signal);
}

async function showResources(stage: Stage, report: Report): Promise<void> {
  for (const kind of ['ctp', 'tm', 'md']) {
    report.show(`\n$ kubectl get ${kind} -A`);
    report.show(await stage.cluster.kubectl(['get', kind, '-A']));
  }
  report.show('$ kubectl -n svc-system get pods -o wide');
  report.show(await stage.cluster.kubectl(['-n', 'svc-system', 'get', 'pods', '-o', 'wide']));
}

async function showQueries(stage: Stage, report: Report, signal: AbortSignal): Promise<void> {
  const nodes = stage.cluster.nodes.length;
  report.show(`PromQL, evaluated over the stores of all nodes:`);
  const up = await until(upQuery, () => stage.query(upQuery), {
    good: (a) => firstValue(a) === nodes && a.body.degraded === false,
    signal,
  }).catch(caught);
  report.expect(upQuery, !(up instanceof Error) && firstValue(up) === nodes, text(up));
  const busy = (a: QueryAnswer): boolean =>
    ['catalog', 'checkout'].every((s) =>
      (a.body.data?.result ?? []).some((r) => r.metric['service_name'] === s && Number(r.value[1]) > 1),
    );
  const rate = await until(rateQuery, () => stage.query(rateQuery), { good: busy, signal }).catch(caught);
  report.expect(rateQuery, !(rate instanceof Error) && busy(rate), text(rate));
}

/** Shows queries through `kubectl svc`, which reaches the query server through its own port-forward. */
async function showPlugin(stage: Stage, report: Report): Promise<void> {
  const plugin: Plugin = await installPlugin(stage.cluster);
  const show = async (args: readonly string[], good: (stdout: string) => boolean): Promise<void> => {
    report.show(`\n$ kubectl svc ${args.join(' ')}`);
    const { code, stdout, stderr } = await plugin.svc(args);
    report.show(`${stdout}${stderr}`);
    if (code !== 0 || !good(stdout))
      report.expect(`kubectl svc ${args[0]}`, false, code === 0 ? 'the output lacks a name' : `exit ${code}`);
  };
  try {
    const all =
      (...names: string[]) =>
      (text: string): boolean =>
        names.every((name) => text.includes(name));
    await show(['top', '-A', '--window', '1m'], all('catalog', 'checkout'));
    await show(['query', 'sum by (k8s_node_name) (svc_agent_up)'], all(...stage.cluster.nodes.map(({ name }) => name)));
  } finally {
    await plugin.remove();
  }
}

async function showTokens(stage: Stage, report: Report): Promise<void> {
  report.show('\nThe minter:');
  const minted = await stage.mint(agentEmail);
  report.expect(
    `a token for ${agentEmail}`,
    minted.status === 200 && /^[!-~]{20,}$/.test(minted.body),
    `${minted.status} ${minted.body.slice(0, 8)}… (${minted.body.length} characters)`,
  );
  const refused = await stage.mint('somebody-else@demo-project.iam.gserviceaccount.com');
  report.expect('no token for another identity', refused.status === 403, `${refused.status} ${refused.body}`);
}

async function showLostNode(stage: Stage, report: Report, signal: AbortSignal): Promise<void> {
  report.show('\nA node dies:');
  const nodes = stage.cluster.nodes.length;
  const lost = stage.cluster.nodes[nodes - 1]!;
  await lost.kill();
  const isDegraded = (a: QueryAnswer): boolean =>
    a.body.degraded === true && a.body.missingNodes?.join() === lost.name && firstValue(a) === nodes - 1;
  const degraded = await until('a degraded answer', () => stage.query(upQuery), {
    good: isDegraded,
    timeoutMs: 45_000,
    signal,
  }).catch(caught);
  report.expect(
    `${upQuery} without ${lost.name} is degraded, not silently wrong`,
    !(degraded instanceof Error),
    text(degraded),
  );
  await lost.revive();
  const whole = (a: QueryAnswer): boolean => a.body.degraded === false && firstValue(a) === nodes;
  const back = await until('a whole answer', () => stage.query(upQuery), {
    good: whole,
    timeoutMs: 90_000,
    signal,
  }).catch(caught);
  report.expect(`${upQuery} after ${lost.name} came back`, !(back instanceof Error), text(back));
}

const caught = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

function firstValue(answer: QueryAnswer): number | undefined {
  const value = answer.body.data?.result[0]?.value[1];
  return value === undefined ? undefined : Number(value);
}

/** An answer in one readable line. */
function text(answer: QueryAnswer | Error): string {
  if (answer instanceof Error) return answer.message;
  const { body } = answer;
  if (body.status === 'error') return `${answer.status} ${body.errorType}: ${body.error}`;
  const rows = (body.data?.result ?? []).map((r) => {
    const labels = Object.entries(r.metric).map(([k, v]) => `${k}="${v}"`);
    return `${labels.length > 0 ? `{${labels.join(', ')}} ` : ''}${r.value[1]}`;
  });
  return `${rows.join(' · ') || '(empty)'} · degraded=${body.degraded}${body.missingNodes?.length ? ` missingNodes=${body.missingNodes.join(',')}` : ''}`;
}
