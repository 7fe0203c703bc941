import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../src/api/meta.ts';
import { builtPrograms, nodeEnvironment } from '../cluster/own-programs.ts';
import { toolEnvironment } from '../cluster/processes.ts';

export const repository = join(import.meta.dirname, '../..');
export const chart = join(repository, 'config/helm/svc-operator');

export interface Outcome {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end. Of this process' environment it gets only what tools need. */
export function run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env: toolEnvironment(env), stdio: ['ignore', 'pipe', 'pipe'] });
    let [stdout, stderr] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

/** As `run`; rejects with the program's stderr if it fails. */
export async function runWell(
  program: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Outcome> {
  const outcome = await run(program, args, env);
  if (outcome.code !== 0) throw new Error(`${program} ${args.join(' ')}: exit ${outcome.code}: ${outcome.stderr}`);
  return outcome;
}

/** Runs the built `svc`. */
export const svc = (args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> =>
  run(process.execPath, [builtPrograms.svc, ...args], nodeEnvironment(env));

/** Objects by `Kind namespace/name`, without the annotation `helm.sh/resource-policy`, which only Helm reads. */
export function objectsOf(text: string): Map<string, KubeObject> {
  const objects = parseAllDocuments(text).flatMap((document) => {
    const object = document.toJS() as KubeObject | null;
    return object ? [withoutHelm(object)] : [];
  });
  return new Map(objects.map((o) => [`${o.kind} ${o.metadata.namespace ?? ''}/${o.metadata.name ?? ''}`, o]));
}

function withoutHelm(object: KubeObject): KubeObject {
  const { annotations, ...metadata } = object.metadata;
  const others = Object.entries(annotations ?? {}).filter(([name]) => name !== 'helm.sh/resource-policy');
  return {
    ...object,
    metadata: { ...metadata, ...(others.length > 0 ? { annotations: Object.fromEntries(others) } : {}) },
  };
}
