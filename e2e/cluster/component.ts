import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { exited, kubernetesEnvironment, signalGroup, spawnBound } from './processes.ts';

/** One program of the control plane, running or stopped. */
export interface Component {
  readonly name: string;
  readonly pid: number | undefined;
  readonly running: boolean;
  /** Starts the program, each time with the same command. Does nothing while it runs. */
  start(): void;
  /** Ends the program with kill -9, and waits until it is gone. */
  kill(): Promise<void>;
  /** The end of its log, for error messages. */
  logTail(): string;
}

export interface ComponentOptions {
  name: string;
  run: string;
  command: readonly string[];
  logFile: string;
}

export function createComponent(options: ComponentOptions): Component {
  let child: ChildProcess | undefined;
  const running = (): boolean => child !== undefined && child.exitCode === null && child.signalCode === null;
  return {
    name: options.name,
    get pid() {
      return child?.pid;
    },
    get running() {
      return running();
    },
    start() {
      if (running()) return;
      const log = openSync(options.logFile, 'a');
      child = spawnBound(options.command, {
        run: options.run,
        env: kubernetesEnvironment(),
        stdio: ['ignore', log, log],
      });
      child.once('error', () => undefined);
      closeSync(log);
    },
    async kill() {
      if (!child?.pid || !running()) return;
      signalGroup(child.pid, 'SIGKILL');
      await exited(child);
    },
    logTail() {
      try {
        return readFileSync(options.logFile, 'utf8').slice(-2000);
      } catch {
        return '(no log)';
      }
    },
  };
}
