import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { defaultCacheDir } from '../../src/testing/cache-dir.ts';
import { underLock } from '../cluster/lock.ts';
import { run, runWell } from '../install/tools.ts';

/** A kernel, and its modules by name. */
export interface Linux {
  /** Its release, such as 6.1.0-44-cloud-amd64. */
  readonly release: string;
  readonly image: string;
  readonly modules: ReadonlyMap<string, string>;
}

/** Debian's meta package, which depends on the newest kernel for virtual machines. */
const metaPackage = 'linux-image-cloud-amd64';

/** The kernel of the newest package that apt knows. It is fetched once, into the cache outside the checkout. */
export async function findLinux(log: (line: string) => void): Promise<Linux> {
  const { stdout } = await run('apt-cache', ['depends', '--important', metaPackage]);
  const name = /Depends: (linux-image-\d\S+)/.exec(stdout)?.[1];
  if (name === undefined)
    throw new Error(`apt knows no ${metaPackage}: run apt-get update, or add a Debian entry to apt's sources`);
  const dir = join(defaultCacheDir(), 'linux', name);
  await underLock(dir, { log }, async () => {
    if (existsSync(join(dir, 'whole'))) return;
    log(`fetching ${name} (30 MB, once)`);
    const aside = `${dir}.new`;
    rmSync(aside, { recursive: true, force: true });
    mkdirSync(aside, { recursive: true });
    // apt-get downloads into its working directory.
    await runWell('sh', ['-c', 'cd "$1" && apt-get download "$2" 2>&1', 'sh', aside, name]);
    const file = readdirSync(aside).find((entry) => entry.endsWith('.deb'));
    if (file === undefined) throw new Error(`apt-get download ${name} has left no package`);
    await runWell('dpkg-deb', ['-x', join(aside, file), join(aside, 'whole')]);
    rmSync(join(aside, file));
    rmSync(dir, { recursive: true, force: true });
    renameSync(aside, dir);
  });
  const root = join(dir, 'whole');
  const release = name.slice('linux-image-'.length);
  const modules = readdirSync(join(root, 'lib/modules', release), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ko'))
    .map((path) => [basename(path, '.ko'), join(root, 'lib/modules', release, path)] as const);
  return { release, image: join(root, 'boot', `vmlinuz-${release}`), modules: new Map(modules) };
}
