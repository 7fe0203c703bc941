import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** A part of the bench in a process of its own. */
export interface Part<Started, Cost> {
  readonly started: Started;
  cost(): Promise<Cost>;
  stop(): void;
}

/** Starts `bench/query/<file>` with its options and waits until it serves. */
export async function startPart<Started, Cost>(file: string, options: object): Promise<Part<Started, Cost>> {
  const child: ChildProcess = fork(new URL(`./${file}`, import.meta.url).pathname);
  child.send(options);
  const ended = new AbortController();
  child.once('exit', () => ended.abort(new Error(`${file} ended`)));
  const told = async <T>(): Promise<T> => ((await once(child, 'message', { signal: ended.signal })) as [T])[0];
  return {
    started: await told<Started>(),
    cost: () => {
      child.send('cost');
      return told<Cost>();
    },
    stop: () => void child.kill(),
  };
}
