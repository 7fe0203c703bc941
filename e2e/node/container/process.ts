import { mkdirSync } from 'node:fs';
import { constants } from 'node:os';
import { signalGroup, spawnBound } from '../../cluster/processes.ts';
import { ContainerLog } from './log.ts';

/** How a run of a container ended. */
export interface Exit {
  /** 128 + signal number if a signal ended the process. */
  exitCode: number;
  finishedAt: Date;
  /** Set when the process could not be started at all. */
  startError?: string;
}

/** A container as a local process in a process group of its own. */
export interface ContainerProcess {
  readonly pid: number | undefined;
  readonly startedAt: Date;
  readonly log: ContainerLog;
  readonly exit: Promise<Exit>;
  readonly command: ProcessSpec;
  /** Sends a signal to the process; with `group` also to all processes that it started. */
  signal(signal: NodeJS.Signals, group?: boolean): void;
}

export interface ProcessSpec {
  run: string;
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
}

/** Starts a container's process; a program that cannot be started ends with exit code 128 and `startError`. */
export function startProcess(spec: ProcessSpec, logPath: string, logCapBytes: number): ContainerProcess {
  mkdirSync(spec.cwd, { recursive: true });
  const log = new ContainerLog(logPath, logCapBytes);
  const startedAt = new Date();
  const child = spawnBound(spec.argv, {
    run: spec.run,
    env: spec.env,
    cwd: spec.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = Promise.all([
    child.stdout ? log.take(child.stdout, 'stdout') : undefined,
    child.stderr ? log.take(child.stderr, 'stderr') : undefined,
  ]);
  const exit = new Promise<Exit>((resolve) => {
    const finish = (end: Exit): void => {
      // What the child started must not live on. When all of it has ended, the pipes close and the log is complete.
      if (child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
      void output.then(() => {
        log.end();
        resolve(end);
      });
    };
    child.once('error', (error) =>
      finish({ exitCode: 128, finishedAt: new Date(), startError: `failed to start: ${error.message}` }),
    );
    child.once('exit', (code, signal) => {
      finish({ exitCode: code ?? 128 + (signal ? constants.signals[signal] : 0), finishedAt: new Date() });
    });
  });
  return {
    pid: child.pid,
    startedAt,
    log,
    exit,
    command: spec,
    signal(signal, group = false) {
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
      if (group) signalGroup(child.pid, signal);
      else child.kill(signal);
    },
  };
}
