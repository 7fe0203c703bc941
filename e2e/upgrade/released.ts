/**
 * Earlier releases as they were published, without their source maps: `testdata/VERSION.tar.br` holds `install.yaml`,
 * the programs `svc`, `minter` and `kubectl-svc` at their paths in the images, and the `package.json` that names the
 * version.
 */
import { createReadStream, createWriteStream, readdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { constants, createBrotliCompress, createBrotliDecompress } from 'node:zlib';
import { extract, pack } from 'tar-stream';
import { agentSettingTable, initConfigSettingTable } from '../../src/agent/settings.ts';
import { flagOf, type SettingTable } from '../../src/base/settings.ts';
import { querySettingTable } from '../../src/query/settings.ts';
import { ownImages, type ImageTable } from '../node/container/images.ts';

const folder = fileURLToPath(new URL('testdata/', import.meta.url));
const suffix = '.tar.br';

/** The versions that are kept, oldest first. */
export const releasedVersions: readonly string[] = readdirSync(folder)
  .filter((name) => name.endsWith(suffix))
  .map((name) => name.slice(0, -suffix.length))
  .toSorted((a, b) => a.localeCompare(b, 'en', { numeric: true }));

/** One release on disk. */
export interface Release {
  /** Its `install.yaml`. */
  readonly manifest: string;
  /** Its images, by name and tag. */
  readonly images: ImageTable;
  /** Its kubectl plugin, a program that Node.js runs. */
  readonly plugin: string;
}

/** Unpacks a release into a folder. */
export async function unpackRelease(version: string, dir: string): Promise<Release> {
  const entries = extract();
  const unpacked = pipeline(createReadStream(join(folder, `${version}${suffix}`)), createBrotliDecompress(), entries);
  for await (const entry of entries) {
    const path = join(dir, entry.header.name);
    await mkdir(dirname(path), { recursive: true });
    await pipeline(entry, createWriteStream(path));
  }
  await unpacked;
  const own = ownImages();
  const program = (name: string): string[] => [process.execPath, join(dir, name)];
  return {
    manifest: join(dir, 'install.yaml'),
    images: {
      [`svc-operator:${version}`]: { ...own['svc-operator'], entrypoint: program('dist/svc/svc.js') },
      [`svc-minter:${version}`]: { ...own['svc-minter'], entrypoint: program('dist/minter/minter.js') },
    },
    plugin: join(dir, 'dist/kubectl-svc/kubectl-svc.js'),
  };
}

/**
 * Archives the last build under the version of `package.json`, and stores its programs' flags for unit tests and the
 * objects of its operator for `e2e/life`.
 */
export async function keepRelease(root: string): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const flags = (table: SettingTable): string[] => Object.keys(table).map(flagOf).toSorted();
  const known = {
    agent: flags(agentSettingTable),
    'init-config': flags(initConfigSettingTable),
    query: flags(querySettingTable),
  };
  const list = join(root, `src/render/testdata/releases/${version}.flags.json`);
  await writeFile(list, `${JSON.stringify(known, null, 2)}\n`);
  const objects = join(root, 'src/controllers/testdata');
  await copyFile(join(objects, 'next.yaml'), join(objects, `releases/v${version}.yaml`));
  const file = join(folder, `${version}${suffix}`);
  const archive = pack();
  // All entries have the same time, so that equal content gives an equal archive.
  const add = (name: string, content: Buffer): void => void archive.entry({ name, mtime: new Date(0) }, content);
  add('package.json', await readFile(join(root, 'package.json')));
  add('install.yaml', await readFile(join(root, 'manifests/install.yaml')));
  for (const program of ['svc', 'minter', 'kubectl-svc']) {
    const names = await readdir(join(root, 'dist', program), { recursive: true, withFileTypes: true });
    for (const entry of names.filter((one) => one.isFile() && !one.name.endsWith('.map'))) {
      const path = join(entry.parentPath, entry.name);
      add(relative(root, path), await readFile(path));
    }
  }
  archive.finalize();
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 };
  await pipeline(archive, createBrotliCompress({ params }), createWriteStream(file));
  return file;
}
