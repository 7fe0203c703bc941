import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { findGoPrograms } from '../../e2e/cluster/go-programs.ts';
import { sha256Hex } from '../../src/base/canonical-json.ts';
import { nodeMemory } from '../../src/render/node-memory.ts';
import type { Program } from './subject.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * The peer to compare with, built from the module beside this file and the release of controller-runtime that the
 * module pins.
 */
export async function peerProgram(log: (line: string) => void): Promise<Program> {
  const moduleDir = join(root, 'bench/runtime/controller-runtime/');
  const sources = ['go.mod', 'main.go', 'widget.go'].map((file) => readFileSync(join(moduleDir, file), 'utf8'));
  const { widgets } = await findGoPrograms(
    {
      moduleDir,
      versionOf: 'sigs.k8s.io/controller-runtime',
      // The module has code of its own, so its text is part of the version.
      folder: `bench-controller-runtime-${sha256Hex(sources.join()).slice(0, 12)}`,
      packages: { widgets: '.' },
      flags: () => ['-ldflags', '-s -w'],
      cold: '~1 min',
    },
    { log },
  );
  return {
    name: 'peer',
    command: (namespace, concurrency, port) => [
      widgets,
      `--namespace=${namespace}`,
      `--concurrency=${concurrency}`,
      `--metrics=127.0.0.1:${port}`,
    ],
  };
}

/** Our program, compiled to JavaScript as in a release; else the benchmark would measure the stripping of types. */
export async function ourProgram(): Promise<Program> {
  const folder = join(root, 'node_modules/.cache/svc-bench-runtime');
  mkdirSync(folder, { recursive: true });
  await build({
    entryPoints: [join(root, 'bench/runtime/widgets-main.ts')],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    packages: 'external',
    sourcemap: true,
    logLevel: 'warning',
  });
  return {
    name: 'ours',
    env: nodeMemory('controller'),
    command: (namespace, concurrency, port) => [
      process.execPath,
      // For profiles of ours: `BENCH_NODE_FLAGS='--cpu-prof --cpu-prof-dir=/tmp/profile'`.
      ...(process.env['BENCH_NODE_FLAGS']?.split(' ') ?? []),
      join(folder, 'widgets-main.mjs'),
      namespace,
      String(concurrency),
      String(port),
    ],
  };
}
