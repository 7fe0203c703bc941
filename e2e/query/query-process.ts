import { closeSync, mkdirSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TlsMaterial } from '../../src/net/tls-material.ts';
import { until } from '../../src/testing/until.ts';
import { freePorts } from '../cluster/ports.ts';
import { builtPrograms, nodeEnvironment } from '../cluster/own-programs.ts';
import { exited, signalGroup, spawnBound } from '../cluster/processes.ts';

/** `svc query` as a process of its own, in a folder that outlives it. */
export interface QueryProcess {
  readonly port: number;
  /** The log lines of this process and of earlier ones in the same folder. */
  log(): Record<string, unknown>[];
  /** kill -9. */
  kill(): Promise<void>;
}

/** Writes a key pair and CA certificates where the process reads them, each file in one step. */
export function writeTls(dir: string, { cert, key, ca }: TlsMaterial): void {
  mkdirSync(join(dir, 'tls'), { recursive: true });
  for (const [name, text] of Object.entries({ 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca })) {
    writeFileSync(join(dir, 'tls', `.${name}`), text);
    renameSync(join(dir, 'tls', `.${name}`), join(dir, 'tls', name));
  }
}

/** Starts `svc query` and waits until it is ready. `flags` are added to the flags that every test needs. */
export async function startQueryProcess(options: {
  dir: string;
  kubeconfig: string;
  flags: readonly string[];
  /** The program. Default: the built one, as it is shipped. */
  svc?: string;
  /** How long it may take to be ready. Default: that of `until`. Units: ms. */
  patienceMs?: number;
}): Promise<QueryProcess> {
  const { dir, svc = builtPrograms.svc } = options;
  const [port, healthPort] = await freePorts(2);
  const out = openSync(join(dir, 'log'), 'a');
  const child = spawnBound(
    [
      ...[process.execPath, svc, 'query', '--namespace=svc-system', '--bind-address=127.0.0.1'],
      ...[`--port=${port}`, `--health-port=${healthPort}`, `--tls-dir=${join(dir, 'tls')}`],
      ...[`--active-queries-file=${join(dir, 'queries.active')}`, `--query-log-file=${join(dir, 'queries.log')}`],
      ...options.flags,
    ],
    {
      run: `query-${process.pid}`,
      env: nodeEnvironment({ KUBECONFIG: options.kubeconfig }),
      stdio: ['ignore', out, out],
    },
  );
  closeSync(out);
  const text = (): string => readFileSync(join(dir, 'log'), 'utf8');
  const ready = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${text().slice(-2_000)}`);
    return (await fetch(`http://127.0.0.1:${healthPort}/readyz`)).ok;
  };
  const { patienceMs } = options;
  await until('svc query is ready', ready, patienceMs === undefined ? {} : { timeoutMs: patienceMs });
  return {
    port: port!,
    log: () =>
      text()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    async kill() {
      signalGroup(child.pid!, 'SIGKILL');
      await exited(child);
    },
  };
}
