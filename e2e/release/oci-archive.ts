import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** An image from an OCI archive. */
export interface UnpackedImage {
  /** Its name in the archive, `name:tag`. */
  readonly reference: string;
  readonly architecture: string;
  /** Parts of its configuration, with the names of the OCI specification. */
  readonly config: {
    readonly User?: string;
    readonly Env?: readonly string[];
    readonly Entrypoint?: readonly string[];
    readonly Labels?: Readonly<Record<string, string>>;
  };
  /** The folder with its files. */
  readonly root: string;
}

interface Descriptor {
  readonly digest: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * Puts an image's files into a folder, as a container runtime would.
 * Errors: a part's bytes do not have its digest; the archive does not hold exactly one image.
 */
export async function unpackImage(archive: string, dir: string): Promise<UnpackedImage> {
  const [parts, root] = [join(dir, 'parts'), join(dir, 'root')];
  await Promise.all([parts, root].map((folder) => mkdir(folder, { recursive: true })));
  await run('tar', ['-xf', archive, '-C', parts]);
  const index = JSON.parse(await readFile(join(parts, 'index.json'), 'utf8')) as { manifests: Descriptor[] };
  const [descriptor, ...others] = index.manifests;
  if (!descriptor || others.length > 0) throw new Error(`${archive}: it holds ${index.manifests.length} images`);
  const blob = async ({ digest }: Descriptor): Promise<string> => {
    const file = join(parts, 'blobs', ...digest.split(':'));
    const found = createHash('sha256')
      .update(await readFile(file))
      .digest('hex');
    if (digest !== `sha256:${found}`) throw new Error(`${archive}: ${digest} has the bytes of sha256:${found}`);
    return file;
  };
  const read = async <T>(of: Descriptor): Promise<T> => JSON.parse(await readFile(await blob(of), 'utf8')) as T;
  const manifest = await read<{ config: Descriptor; layers: Descriptor[] }>(descriptor);
  const { architecture, config } = await read<Pick<UnpackedImage, 'architecture' | 'config'>>(manifest.config);
  // Later layers overwrite earlier ones. Removals are not handled, as the Dockerfile removes nothing.
  for (const layer of manifest.layers) await run('tar', ['-xf', await blob(layer), '-C', root]);
  // containerd's import takes the first of these annotations that there is.
  const { annotations = {} } = descriptor;
  const reference = annotations['io.containerd.image.name'] ?? annotations['org.opencontainers.image.ref.name'] ?? '';
  return { reference, architecture, config, root };
}
