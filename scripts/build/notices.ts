import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';
import { root } from './bundle.ts';

/** The packages whose code is in a bundle, as sorted folders below the checkout. Pure. */
export function packagesIn({ inputs }: Pick<Metafile, 'inputs'>): string[] {
  const folders = Object.keys(inputs).flatMap(
    (path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? [],
  );
  return [...new Set(folders)].toSorted();
}

/**
 * The licences of all third-party code in a bundle: name, version, declared licence and licence texts of each package.
 * Errors: throws for a package that neither declares a licence nor contains a licence text.
 */
export async function thirdPartyNotices(metafile: Pick<Metafile, 'inputs'>): Promise<string> {
  const parts = await Promise.all(packagesIn(metafile).map(noticeOf));
  const head = 'Code of the following packages is part of this program.\n';
  return [head, ...parts].join(`\n${'-'.repeat(80)}\n\n`);
}

/** The members of a package.json that are used here. */
export interface PackageManifest {
  readonly name: string;
  readonly version: string;
  /** An SPDX identifier or expression. */
  readonly license?: string;
}

/** The manifest of a package, by its folder below the checkout. */
export async function manifestOf(folder: string): Promise<PackageManifest> {
  return JSON.parse(await readFile(join(root, folder, 'package.json'), 'utf8')) as PackageManifest;
}

async function noticeOf(folder: string): Promise<string> {
  const dir = join(root, folder);
  const manifest = await manifestOf(folder);
  const files = (await readdir(dir)).filter((name) => /^(licen[cs]e|notice|copying)/i.test(name)).toSorted();
  const texts = await Promise.all(files.map((name) => readFile(join(dir, name), 'utf8')));
  if (manifest.license === undefined && texts.length === 0) {
    throw new Error(`${folder}: neither a licence in package.json nor a licence file; it cannot be shipped`);
  }
  const title = `${manifest.name} ${manifest.version} (${manifest.license ?? 'see below'})`;
  return [title, ...texts.map((text) => text.trim())].join('\n\n') + '\n';
}
