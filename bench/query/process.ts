import { fork } from 'node:child_process';
import { once } from 'node:events';
import { imageEnvironment } from '../run/as-rendered.ts';
import type { Stage } from '../run/bench.ts';

/** A part of the benchmark (agents or query server) in a process of its own. */
export interface Part<Started, Cost = never> {
  readonly pid: number;
  readonly started: Started;
  cost(): Promise<Cost>;
  /** Resolves when the process is gone. */
  stop(): Promise<void>;
}

export interface PartOptions {
  readonly atEnd: Stage['atEnd'];
  /** A command that binds the process to a core. Default: the process shares the cores of the bench. */
  readonly wrapper?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The folder for a CPU profile, written when the process stops. Default: no profile. */
  readonly profile?: string;
}

/** Starts `bench/query/<file>`, hands it `work`, and waits until it serves. */
export async function startPart<Started, Cost = never>(
  file: string,
  work: object,
  { atEnd, wrapper = [], env = imageEnvironment, profile = '' }: PartOptions,
): Promise<Part<Started, Cost>> {
  const here = (name: string): string => new URL(`./${name}`, import.meta.url).pathname;
  const [execPath = process.execPath, ...binding] = [...wrapper, process.execPath];
  const child = fork(here(file), {
    execPath,
    execArgv: [
      ...binding,
      ...['--import', here('end-with-parent.ts')],
      ...(profile === '' ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`]),
    ],
    env: { ...process.env, ...env },
  });
  const gone = once(child, 'exit');
  const ended = new AbortController();
  child.once('exit', () => ended.abort(new Error(`${file} ended`)));
  const told = async <T>(): Promise<T> => ((await once(child, 'message', { signal: ended.signal })) as [T])[0];
  const stop = async (): Promise<void> => {
    if (child.connected) child.disconnect();
    await gone;
  };
  atEnd(stop);
  child.send(work);
  return {
    pid: child.pid!,
    started: await told<Started>(),
    cost: () => {
      child.send('cost');
      return told<Cost>();
    },
    stop,
  };
}
