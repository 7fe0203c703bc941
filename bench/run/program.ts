import { exited, signalGroup, spawnBound, toolEnvironment } from '../../e2e/cluster/processes.ts';
import type { Stage } from './bench.ts';

/**
 * Runs a program to its end and parses its stdout as JSON.
 * Guarantees: the program does not outlive the benchmark. Errors: any exit code but 0.
 */
export async function outcomeOf<T>(
  command: readonly string[],
  { atEnd, env = {} }: { atEnd: Stage['atEnd']; env?: Readonly<Record<string, string>> },
): Promise<T> {
  const child = spawnBound(command, {
    run: `bench-${process.pid}`,
    env: toolEnvironment(env),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  atEnd(() => child.exitCode === null && child.pid !== undefined && signalGroup(child.pid, 'SIGKILL'));
  let printed = '';
  child.stdout!.on('data', (part: Buffer) => (printed += part.toString()));
  await exited(child);
  if (child.exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${child.exitCode ?? child.signalCode}`);
  return JSON.parse(printed) as T;
}
