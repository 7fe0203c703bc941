import type { AdversarialQuestion } from '../../src/testing/promql/adversarial.ts';
import { hostileQuestion } from '../../src/testing/promql/hostile.ts';
import { Random } from '../../src/testing/promql/random.ts';
import {
  containerBytes,
  startAdversarialStage,
  type AdversarialStage,
} from '../../src/testing/query/adversarial/stage.ts';

export interface HostileFuzzOptions {
  readonly count: number;
  readonly seed: number;
  /** Called with each question that broke a rule, and with the rules that it broke. */
  found(question: AdversarialQuestion, broken: readonly string[]): void;
}

/** Longest time that a process may compute without a turn for other work. */
const longestCpuMs = 100;
const timeoutSeconds = 1;

/**
 * Sends random queries to a query server over two agents, each a process of its own. The queries are made to block
 * these processes. Each query must get a documented status, let a small parallel query be answered, let no process
 * compute for `longestCpuMs` at a stretch (a query that fails in this is run up to twice more, because a shared core
 * may be slow once), and keep memory within the limits of the containers.
 * Resolves with the number of queries that passed, and the number of answers of each status.
 * Errors: a process has ended, or cannot be started.
 */
export async function fuzzHostile({ count, seed, found }: HostileFuzzOptions): Promise<{
  readonly held: number;
  readonly byStatus: Readonly<Record<number, number>>;
}> {
  const stage = await startAdversarialStage({ pods: 500, samples: 40 });
  const random = new Random(seed);
  const byStatus: Record<number, number> = {};
  let held = 0;
  try {
    // The first queries compile the code that all queries share, so their computing time does not count.
    for (let i = 0; i < 3; i++) await stage.ask({ name: 'a first one', query: 'sum(load)' }, 10);
    await reports(stage);
    for (let i = 0; i < count; i++) {
      const question = hostileQuestion(random);
      const { status, broken } = await tried(stage, question);
      byStatus[status] = (byStatus[status] ?? 0) + 1;
      if (broken.length === 0) held++;
      else found(question, broken);
    }
  } finally {
    await stage.close();
  }
  return { held, byStatus };
}

async function tried(stage: AdversarialStage, question: AdversarialQuestion) {
  const broken: string[] = [];
  const [answer, beside] = await Promise.all([
    stage.ask(question, timeoutSeconds),
    stage.ask({ name: 'a small one', query: 'count(load{pod="pod-1"})' }, 10),
  ]);
  if (![200, 400, 422, 503].includes(answer.status)) broken.push(`answered with ${answer.status}`);
  if (beside.status !== 200) broken.push(`a small query beside it got ${beside.status}`);
  let seen = await reports(stage);
  for (let again = 0; again < 2 && seen.cpuMs >= longestCpuMs; again++) {
    await stage.ask(question, timeoutSeconds);
    const next = await reports(stage);
    seen = { ...next, cpuMs: Math.min(seen.cpuMs, next.cpuMs) };
  }
  if (seen.cpuMs >= longestCpuMs) broken.push(`held a process for ${seen.cpuMs.toFixed(0)} ms`);
  if (seen.queryBytes >= containerBytes.query) broken.push(`the query server held ${seen.queryBytes} bytes`);
  if (seen.agentBytes >= containerBytes.agent) broken.push(`an agent held ${seen.agentBytes} bytes`);
  return { status: answer.status, broken };
}

async function reports(stage: AdversarialStage) {
  const query = await stage.query.report();
  const agents = await Promise.all(stage.agents.map((agent) => agent.report()));
  return {
    cpuMs: Math.max(...[query, ...agents].map((report) => report.longestCpuMs)),
    queryBytes: query.residentBytes,
    agentBytes: Math.max(...agents.map((agent) => agent.residentBytes)),
  };
}
