import { createInterface } from 'node:readline';
import { exited, spawnBound, toolEnvironment } from '../cluster/processes.ts';

/** A program that answers each question, a line of JSON on its standard input, with a line of JSON. */
export interface Judge<Question, Answer> {
  /** Sends a question; questions are answered in their order. Errors: the program has ended. */
  ask(question: Question): Promise<Answer>;
  close(): Promise<void>;
}

/** Starts a program as a judge; the program ends with this process. */
export function startJudge<Question, Answer>(program: string): Judge<Question, Answer> {
  const child = spawnBound([program], {
    run: `judge-${process.pid}`,
    env: toolEnvironment(),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout!)[Symbol.asyncIterator]();
  let last: Promise<unknown> = Promise.resolve();
  return {
    ask(question) {
      const answer = last.then(async () => {
        child.stdin!.write(`${JSON.stringify(question)}\n`);
        const { value, done } = await lines.next();
        if (done === true) throw new Error(`${program} has ended`);
        return JSON.parse(value) as Answer;
      });
      last = answer.catch(() => {});
      return answer;
    },
    async close() {
      child.stdin!.end();
      await exited(child);
    },
  };
}
