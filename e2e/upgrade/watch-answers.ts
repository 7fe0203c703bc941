import { agentEmail, type Stage } from '../demo/stage.ts';

/** What users saw while something was going on. */
export interface Seen {
  /** Answers of the query API. */
  answers: number;
  /** Answers that said that a node is missing. */
  degraded: number;
  /** Answers that were neither right nor degraded, and requests without an answer. */
  wrong: string[];
  mints: number;
  /** Requests for a token that got none. */
  refused: string[];
}

export interface Watched {
  /** Ends the watch. What was seen is the same however often it is asked for. */
  stop(): Promise<Seen>;
}

const queryPauseMs = 250;
/** A caller may mint thirty times a minute. */
const mintPauseMs = 2_500;
const longestList = 20;

/** Asks for the agents and, beside that, for a token, each over and over: the next question follows the answer. */
export function watchAnswers(stage: Stage, nodes: number): Watched {
  const seen: Seen = { answers: 0, degraded: 0, wrong: [], mints: 0, refused: [] };
  const end = new AbortController();
  const note = (list: string[], text: string): void => void (list.length < longestList && list.push(text));
  const loop = async (ask: () => Promise<void>, pauseMs: number, failed: string[]): Promise<void> => {
    while (!end.signal.aborted) {
      await ask().catch((error: unknown) => note(failed, `${new Date().toISOString()} ${String(error)}`));
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };
  const query = async (): Promise<void> => {
    const { status, body } = await stage.query('sum(svc_agent_up)');
    seen.answers++;
    if (status === 200 && body.degraded === true && (body.missingNodes ?? []).length > 0) seen.degraded++;
    else if (status !== 200 || body.data?.result[0]?.value[1] !== String(nodes))
      note(seen.wrong, `${new Date().toISOString()} ${status} ${JSON.stringify(body)}`);
  };
  const mint = async (): Promise<void> => {
    const { status, body } = await stage.mint(agentEmail);
    if (status === 200) seen.mints++;
    else note(seen.refused, `${new Date().toISOString()} ${status} ${body}`);
  };
  const loops = Promise.all([loop(query, queryPauseMs, seen.wrong), loop(mint, mintPauseMs, seen.refused)]);
  return {
    async stop() {
      end.abort();
      await loops;
      return seen;
    },
  };
}
