/**
 * Stand-ins for the public base images of the Dockerfile, which may be out of reach: the Node of this checkout with the
 * libraries that it loads, and, in the image for builds, a shell.
 */
import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { repository } from '../install/tools.ts';
import { commit, type Buildah, type Change } from './buildah.ts';

const run = promisify(execFile);
const nodeProgram = join(repository, 'node_modules/node/bin/node');
/** The version of the Node that the checkout pins. */
export const nodeVersion = (): string =>
  (JSON.parse(readFileSync(join(repository, 'node_modules/node/package.json'), 'utf8')) as { version: string }).version;

/** Where Node is in the public base. */
export const nodeInBase = '/nodejs/bin/node';

/** Images trust the same CAs as this machine: a registry may be behind a proxy with a CA of its own. */
const certificates = '/etc/ssl/certs/ca-certificates.crt';

/** A builder: shell, Node and npm. Kept in buildah's storage for later runs. */
export function standInBuilder(buildah: Buildah, log: (line: string) => void): Promise<string> {
  return kept(buildah, `localhost/svc-e2e-builder:${nodeVersion()}`, log, {
    programs: { '/bin/sh': '/bin/sh', '/usr/bin/env': '/usr/bin/env', '/usr/local/bin/node': nodeProgram },
    async more(root) {
      const npm = (await run('npm', ['root', '-g'])).stdout.trim();
      cpSync(join(npm, 'npm'), join(root, 'usr/local/lib/node_modules/npm'), { recursive: true, dereference: true });
      symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'));
    },
    change: { env: { PATH: '/usr/local/bin:/usr/bin:/bin', NODE_EXTRA_CA_CERTS: certificates } },
  });
}

/**
 * A base without a shell: Node at the path of the public base, its libraries, CAs, and user names. Kept in buildah's
 * storage for later runs.
 */
export function standInBase(buildah: Buildah, log: (line: string) => void): Promise<string> {
  return kept(buildah, `localhost/svc-e2e-base:${nodeVersion()}`, log, {
    programs: { [nodeInBase]: nodeProgram },
    change: { user: '65532:65532' },
  });
}

export interface StandIn {
  /** Path in the image → program of this machine, which comes with the libraries that it loads. */
  readonly programs: Readonly<Record<string, string>>;
  /** Puts further files into the image's root. */
  readonly more?: (root: string) => Promise<void>;
  readonly change: Change;
}

async function kept(buildah: Buildah, name: string, log: (line: string) => void, parts: StandIn): Promise<string> {
  if ((await buildah(['images', '--quiet', '--filter', `reference=${name}`])) !== '') return name;
  log(`${name}: made of what this machine has, because none was named`);
  return standIn(buildah, name, parts);
}

/** An image of programs of this machine, each with the libraries that it loads. */
export async function standIn(buildah: Buildah, name: string, { programs, more, change }: StandIn): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'svc-base-'));
  try {
    for (const [path, program] of Object.entries(programs)) {
      const { stdout } = await run('ldd', [program]);
      for (const [, library] of stdout.matchAll(/(\/\S+) \(0x/g)) copy(library!, join(root, library!));
      copy(program, join(root, path));
    }
    for (const path of [certificates, '/etc/passwd', '/etc/group']) copy(path, join(root, path));
    mkdirSync(join(root, 'tmp'));
    chmodSync(join(root, 'tmp'), 0o1777);
    await more?.(root);
    return await commit(buildah, 'scratch', name, { ...change, files: [root, '/'] });
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(from, to);
}
