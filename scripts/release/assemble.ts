import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { root } from '../build/bundle.ts';
import type { BuildIdentity } from '../build/identity.ts';
import { krewManifest, notesOf, pluginLauncher } from './texts.ts';

export interface ReleaseOptions {
  readonly version: string;
  readonly identity: BuildIdentity;
  /** The folder that `npm run build` filled. */
  readonly dist: string;
  /** The folder whose subfolder `package` is the npm package, as `npm run package` fills it. Default: `dist`. */
  readonly packageIn?: string;
  /** The folder to fill. Images that are already in it stay, and get checksums. */
  readonly out: string;
  /** Base URL of the published release. Without it no krew manifest is made, because the manifest contains it. */
  readonly url?: string | undefined;
}

/**
 * Fills the release's folder: `install.yaml`, the chart, the plugin with its krew manifest, the npm package, bills of
 * materials, notes, and SHA256SUMS over all. Every archive has the commit's time in it, so that the same commit gives
 * the same bytes.
 * Errors: throws if package.json, the chart or the manifest is of another version.
 */
export async function assembleRelease(options: ReleaseOptions): Promise<void> {
  const { version, identity, dist, packageIn = dist, out, url } = options;
  await checkVersions(version);
  await mkdir(out, { recursive: true });
  await copyFile(join(root, 'manifests/install.yaml'), join(out, 'install.yaml'));
  const epoch = identity.date === 'unknown' ? 0 : Date.parse(identity.date) / 1000;
  await pack(join(root, 'config/helm'), ['svc-operator'], join(out, `svc-operator-${version}.tgz`), epoch);
  // npm would give this archive the name of the chart's archive.
  await pack(packageIn, ['package'], join(out, `svc-operator-${version}.npm.tgz`), epoch);
  const plugin = `kubectl-svc-${version}.tar.gz`;
  await packPlugin(dist, version, join(out, plugin), epoch);
  if (url !== undefined) {
    const sha256 = await sha256Of(join(out, plugin));
    await writeFile(join(out, 'krew-svc.yaml'), stringify(krewManifest({ version, url, file: plugin, sha256 })));
  }
  for (const program of ['svc', 'minter', 'kubectl-svc']) {
    await copyFile(join(dist, program, 'sbom.cdx.json'), join(out, `${program}-${version}.cdx.json`));
  }
  await writeFile(join(out, 'NOTES.md'), notesOf(await readFile(join(root, 'CHANGELOG.md'), 'utf8'), version));
  await writeSums(out);
}

async function checkVersions(version: string): Promise<void> {
  const texts = await Promise.all(
    ['package.json', 'config/helm/svc-operator/Chart.yaml', 'manifests/install.yaml'].map(
      async (file) => [file, await readFile(join(root, file), 'utf8')] as const,
    ),
  );
  const wanted = [`"version": "${version}"`, `version: ${version}\n`, `image: svc-operator:${version}\n`];
  const other = texts.flatMap(([file, text], i) => (text.includes(wanted[i]!) ? [] : [file]));
  if (other.length > 0)
    throw new Error(`VERSION=${version}: ${other.join(', ')} is of another version; change it first`);
}

/** Packs all that the plugin needs except Node: its bundle without maps, the version, the licences. */
async function packPlugin(dist: string, version: string, file: string, epoch: number): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'svc-plugin-archive-'));
  try {
    const filter = (source: string): boolean => !source.endsWith('.map');
    await cp(join(dist, 'kubectl-svc'), join(dir, 'dist/kubectl-svc'), { recursive: true, filter });
    await copyFile(join(root, 'LICENSE'), join(dir, 'LICENSE'));
    await writeFile(join(dir, 'package.json'), JSON.stringify({ name: 'kubectl-svc', version, type: 'module' }));
    const launchers = { 'kubectl-svc': 'kubectl-svc', 'kubectl_complete-svc': 'kubectl-complete-svc' };
    for (const [name, entry] of Object.entries(launchers)) {
      await writeFile(join(dir, name), pluginLauncher(entry), { mode: 0o755 });
    }
    await pack(dir, (await readdir(dir)).toSorted(), file, epoch);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Writes a gzipped tar whose bytes depend only on `epoch`, names, modes and contents. Needs GNU tar. */
async function pack(dir: string, names: readonly string[], file: string, epoch: number): Promise<void> {
  const same = ['--sort=name', `--mtime=@${epoch}`, '--owner=0', '--group=0', '--numeric-owner', '--mode=go-w'];
  await promisify(execFile)('tar', [...same, '-C', dir, '-cf', `${file}.tar`, ...names]);
  await promisify(execFile)('gzip', ['-9n', `${file}.tar`]);
  await copyFile(`${file}.tar.gz`, file);
  await rm(`${file}.tar.gz`);
}

async function writeSums(out: string): Promise<void> {
  const files = (await readdir(out)).filter((file) => file !== 'SHA256SUMS').toSorted();
  const lines = await Promise.all(files.map(async (file) => `${await sha256Of(join(out, file))}  ${file}\n`));
  await writeFile(join(out, 'SHA256SUMS'), lines.join(''));
}

async function sha256Of(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}
