import { agentEmail, type Stage } from '../demo/stage.ts';

/** Counts of the answers and tokens that the two loops of `watchAnswers` got. */
export interface Seen {
  /** Answers of the query API. */
  answers: number;
  /** Answers that reported a missing node. */
  degraded: number;
  /** Answers that were neither right nor degraded, and requests without an answer. */
  wrong: string[];
  mints: number;
  /** Token requests that got no token. */
  refused: string[];
}

export interface Watched {
  /** Ends the loops and returns their counts. Later calls return the same counts. */
  stop(): Promise<Seen>;
}

const queryPauseMs = 250;
/** The minter grants a caller thirty tokens a minute. With this pause, the loop asks for fewer. */
const mintPauseMs = 2_500;
const longestList = 20;

/** Queries the agents and mints tokens in two loops. Each loop waits for an answer before its next request. */
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
