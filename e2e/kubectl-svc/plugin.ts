import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import type { Cluster } from '../cluster/cluster.ts';
import { builtPrograms, nodeEnvironment } from '../cluster/own-programs.ts';
import { run, type Outcome } from '../install/tools.ts';

/** The plugin, installed for one cluster. */
export interface Plugin {
  /** Runs `kubectl svc ARGS` with the real kubectl, which finds the plugin in its PATH. */
  svc(args: readonly string[], env?: Record<string, string>): Promise<Outcome>;
  /** Runs `kubectl ARGS` with the plugin in the PATH. */
  kubectl(args: readonly string[], env?: Record<string, string>): Promise<Outcome>;
  /** The plugin's folder, and the environment that it runs in. */
  readonly dir: string;
  readonly env: Record<string, string>;
  remove(): Promise<void>;
}

const shipped: Readonly<Record<string, string>> = {
  'kubectl-svc': builtPrograms['kubectl-svc'],
  'kubectl_complete-svc': builtPrograms['kubectl-complete-svc'],
};

/**
 * Puts programs into a folder of their own, by default `kubectl-svc` and `kubectl_complete-svc` as they are shipped.
 */
export async function installPlugin(
  cluster: Pick<Cluster, 'binaries' | 'kubeconfig'>,
  programs = shipped,
): Promise<Plugin> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-plugin-'));
  for (const [name, program] of Object.entries(programs)) {
    const path = join(dir, name);
    await writeFile(path, `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`);
    await chmod(path, 0o755);
  }
  const path = [dir, dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter);
  const environment = nodeEnvironment({ KUBECONFIG: cluster.kubeconfig, PATH: path, HOME: dir });
  const kubectl: Plugin['kubectl'] = (args, env = {}) =>
    run(cluster.binaries.kubectl, args, { ...environment, ...env });
  return {
    dir,
    env: environment,
    kubectl,
    svc: (args, env) => kubectl(['svc', ...args], env),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
