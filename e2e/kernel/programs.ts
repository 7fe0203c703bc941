import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bundle, bundleFile, root } from '../../scripts/build/bundle.ts';
import { findGo } from '../cluster/go-toolchain.ts';
import { defaultCacheDir } from '../../src/testing/cache-dir.ts';
import { programFiles } from './orders.ts';

const own = import.meta.dirname;

/**
 * Builds our programs and the workloads that run in the virtual machine into a folder. The runtimes of Node and Python
 * are not part of it.
 */
export async function buildPrograms(dir: string, log: (line: string) => void): Promise<void> {
  const to = (name: keyof typeof programFiles): string => join(dir, programFiles[name]);
  mkdirSync(dir, { recursive: true });
  await Promise.all([
    bundle('svc', { outDir: dirname(dirname(to('agent'))) }),
    bundleFile('src/testing/instrument/main.ts', to('standIn')),
    bundleFile('e2e/kernel/inside.ts', to('inside')),
    bundleFile('e2e/kernel/workloads/server.ts', to('node')),
    bundleFile('e2e/kernel/workloads/client.ts', to('client')),
    bundleFile('e2e/kernel/workloads/protocols.ts', to('calls')),
  ]);
  // The bundle reads its version from this file, at the same place as in an image.
  copyFileSync(join(root, 'package.json'), join(dir, 'package.json'));
  copyFileSync(join(own, 'workloads/server.py'), to('python'));
  const go = await findGo(defaultCacheDir(), { log });
  execFileSync(go.path, ['build', '-o', to('go'), join(own, 'workloads/server.go')], {
    env: { ...go.env, GOFLAGS: '', GOWORK: 'off' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
}
