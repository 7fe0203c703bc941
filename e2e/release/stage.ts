/**
 * Makes a release as `make release` does, in a folder outside of the checkout.
 *
 * The public base images may be unreachable, so the Dockerfile is built on stand-ins: a builder whose `npm run build`
 * copies an earlier build (the builder of `make e2e-node` has a real npm), and a base that has a Node for arm64 if
 * this machine can start it. The base for amd64 has no Node: tests use the Node of this machine.
 */
import { execFile } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Need } from '../../src/testing/needs.ts';
import { findOnPath } from '../cluster/go-programs.ts';
import { toolEnvironment } from '../cluster/processes.ts';
import { addArm64Node, arm64Emulator } from '../images/arm64.ts';
import { buildahOn, type Buildah } from '../images/buildah.ts';
import { standIn } from '../images/stand-ins.ts';
import { repository } from '../install/tools.ts';

/** What tests of a release's images need. */
export const imageBuilder: Need = {
  name: 'buildah',
  missing:
    findOnPath('buildah') === undefined || process.getuid?.() !== 0
      ? 'images are built by buildah, as root: apt-get install buildah'
      : undefined,
};

export const publishedAt = 'https://releases.example/svc-operator/';

export interface ReleaseStage {
  readonly dir: string;
  /** The folder that is published. */
  readonly release: string;
  readonly version: string;
  end(): Promise<void>;
}

/** Fills a release folder from the last build, without images if they cannot be built. Takes about half a minute. */
export async function makeRelease(): Promise<ReleaseStage> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-release-'));
  const end = (): Promise<void> => rm(dir, { recursive: true, force: true });
  try {
    const { version } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8')) as { version: string };
    const release = join(dir, 'release');
    const { args, env } = imageBuilder.missing === undefined ? await imageOptions(dir) : noImages;
    const command = [join(repository, 'scripts/release.ts'), `--out=${release}`, `--url=${publishedAt}`, ...args];
    const options = { cwd: repository, env: toolEnvironment(env), maxBuffer: 16 << 20 };
    await promisify(execFile)(process.execPath, command, options);
    return { dir, release, version, end };
  } catch (error) {
    await end();
    throw error;
  }
}

const noImages = { args: ['--builder=none'], env: {} };

/** Options of `scripts/release.ts` for images. The bases are in a storage below `dir`, and are removed with it. */
async function imageOptions(dir: string): Promise<{ args: string[]; env: Record<string, string> }> {
  const storage = { root: join(dir, 'images'), runroot: join(dir, 'images-run') };
  const buildah = buildahOn(storage);
  const bases = [`BUILDER=${await builder(buildah)}`, `BASE=${await base(buildah)}`];
  const configuration = join(dir, 'storage.conf');
  const lines = { driver: 'overlay', graphroot: storage.root, runroot: storage.runroot };
  const text = Object.entries(lines).map(([name, value]) => `${name} = ${JSON.stringify(value)}\n`);
  writeFileSync(configuration, `[storage]\n${text.join('')}`);
  return {
    args: ['--builder=buildah', ...bases.flatMap((arg) => ['--build-arg', arg])],
    env: { CONTAINERS_STORAGE_CONF: configuration },
  };
}

function builder(buildah: Buildah): Promise<string> {
  return standIn(buildah, 'localhost/release-builder:1', {
    programs: { '/bin/sh': '/bin/sh', '/bin/cp': '/bin/cp' },
    more: async (root) => {
      cpSync(join(repository, 'dist'), join(root, 'built/dist'), { recursive: true });
      const npm =
        '#!/bin/sh\ncase "$1 $2" in\n  ci*) ;;\n  "run build") cp -r /built/dist dist ;;\n  *) exit 1 ;;\nesac\n';
      writeFileSync(join(root, 'bin/npm'), npm, { mode: 0o755 });
    },
    change: { env: { PATH: '/bin' } },
  });
}

/** Makes a base with one name for both architectures, like the public base. */
async function base(buildah: Buildah): Promise<string> {
  const name = 'localhost/release-base:1';
  const change = { user: '65532:65532' };
  const parts = [
    await standIn(buildah, 'localhost/release-base-amd64:1', {
      programs: {},
      change: { ...change, architecture: 'amd64' },
    }),
    await standIn(buildah, 'localhost/release-base-arm64:1', {
      programs: {},
      more: async (root) => (arm64Emulator.missing === undefined ? addArm64Node(root) : undefined),
      change: { ...change, architecture: 'arm64' },
    }),
  ];
  await buildah(['manifest', 'create', name]);
  for (const part of parts) await buildah(['manifest', 'add', name, `containers-storage:${part}`]);
  return name;
}
