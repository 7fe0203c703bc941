import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { promisify } from 'node:util';

/** Runs `buildah ARGS` on one storage, and returns what it printed. */
export type Buildah = (args: readonly string[]) => Promise<string>;

/** Where images and containers of builds are kept. */
export interface ImageStorage {
  readonly root: string;
  readonly runroot: string;
}

export function buildahOn({ root, runroot }: ImageStorage): Buildah {
  mkdirSync(root, { recursive: true });
  const storage = ['--root', root, '--runroot', runroot, '--storage-driver', 'overlay'];
  return async (args) => {
    const { stdout } = await promisify(execFile)('buildah', [...storage, ...args], { maxBuffer: 64 << 20 });
    return stdout.trim();
  };
}

/** How an image differs from the image that it is made from. */
export interface Change {
  readonly env?: Readonly<Record<string, string>>;
  /** A folder of this machine whose content is put into a folder of the image. */
  readonly files?: readonly [string, string];
  readonly user?: string;
  readonly entrypoint?: readonly string[];
  /** Default: that of the image `from`; for `scratch`, that of this machine. */
  readonly architecture?: 'amd64' | 'arm64';
}

/** Makes the image `name` from a local one, or from `scratch`, and returns its name. */
export async function commit(buildah: Buildah, from: string, name: string, change: Change): Promise<string> {
  const container = await buildah(['from', '--pull-never', from]);
  try {
    if (change.files) await buildah(['copy', '--quiet', container, ...change.files]);
    const settings = [
      ...Object.entries(change.env ?? {}).flatMap(([key, value]) => ['--env', `${key}=${value}`]),
      ...(change.user === undefined ? [] : ['--user', change.user]),
      ...(change.entrypoint === undefined ? [] : ['--entrypoint', JSON.stringify(change.entrypoint), '--cmd', '']),
      ...(change.architecture === undefined ? [] : ['--os', 'linux', '--arch', change.architecture]),
    ];
    if (settings.length > 0) await buildah(['config', ...settings, container]);
    await buildah(['commit', '--quiet', container, name]);
    return name;
  } finally {
    await buildah(['rm', container]);
  }
}
