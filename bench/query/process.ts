import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

/** A part of the bench in a process of its own. */
export interface Part<Started, Cost> {
  readonly started: Started;
  cost(): Promise<Cost>;
  stop(): void;
}

/**
 * Starts `bench/query/<file>` with its options and waits until it serves. With `profileDir` a CPU profile of it is
 * written there when it stops.
 */
export async function startPart<Started, Cost>(
  file: string,
  options: object,
  profileDir = '',
): Promise<Part<Started, Cost>> {
  const here = (name: string): string => new URL(`./${name}`, import.meta.url).pathname;
  const profile = profileDir === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileDir}`];
  const child: ChildProcess = fork(here(file), {
    execArgv: [...process.execArgv, '--import', here('end-with-parent.ts'), ...profile],
  });
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
    stop: () => child.disconnect(),
  };
}
