/**
 * `make release VERSION=x`: fills release/ (or `--out`, an empty folder) from the output of `npm run build`. `make
 * images`: builds only the images. `--url` is the address of the folder that the release will be published in; the krew
 * manifest names it. `--builder` is docker, podman or buildah, by default the first that works; with `none` the images
 * are left out.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from './build/bundle.ts';
import { buildIdentity } from './build/identity.ts';
import { makePackage } from './package/make.ts';
import { assembleRelease } from './release/assemble.ts';
import {
  architectures,
  archiveName,
  builders,
  imageCommands,
  images,
  type Architecture,
  type ImageTarget,
} from './release/images.ts';

const ownFolder = join(root, 'release');
const { values: flags } = parseArgs({
  options: {
    version: { type: 'string' },
    url: { type: 'string' },
    'build-arg': { type: 'string', multiple: true, default: [] },
    'images-only': { type: 'boolean', default: false },
    builder: { type: 'string' },
    out: { type: 'string', default: ownFolder },
  },
});
const out = resolve(flags.out);
const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
const version = flags.version || manifest.version;
const identity = buildIdentity();
/** Parts that this machine cannot make, with their reasons. */
const missing: string[] = [];
/** Images whose build ended with an error. They make this program fail, as the release is not complete. */
const failed: string[] = [];

// Only release/ is emptied: a folder that --out names may hold other files.
if (out === ownFolder) await rm(out, { recursive: true, force: true });
else if (existsSync(out) && readdirSync(out).length > 0) throw new Error(`--out=${out}: it is not empty`);
await mkdir(out, { recursive: true });
buildImages();
if (!flags['images-only']) {
  await makePackage(join(root, 'dist/package'));
  await assembleRelease({ version, identity, dist: join(root, 'dist'), out, url: flags.url || undefined });
  if (!flags.url) missing.push('krew-svc.yaml: it names where the release is published; give URL=https://…');
}
for (const line of [...missing, ...failed]) console.error(`not in release/: ${line}`);
console.error(
  `${basename(out)}/ holds ${version} (commit ${identity.commit})${missing.length + failed.length > 0 ? ', but for what is named above' : ''}`,
);
if (failed.length > 0 || (flags['images-only'] && missing.length > 0)) process.exitCode = 1;

function buildImages(): void {
  const usable = { docker: ['docker', 'info'], podman: ['podman', 'version'], buildah: ['buildah', 'version'] };
  const candidates = builders.filter((name) => flags.builder === undefined || flags.builder === name);
  const builder = candidates.find((name) => spawnSync(usable[name][0]!, usable[name].slice(1)).status === 0);
  if (!builder) {
    missing.push(`images: none of ${candidates.join(', ') || `"${flags.builder}"`} works here`);
    return;
  }
  const machine: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  for (const target of Object.keys(images) as ImageTarget[]) {
    for (const architecture of architectures) {
      const file = join(out, archiveName({ target, version, architecture }));
      const options = { target, architecture, version, identity, machine, file, buildArgs: flags['build-arg'] };
      for (const [program = '', ...args] of imageCommands(builder, options)) {
        const { status } = spawnSync(program, args, { cwd: root, stdio: ['ignore', 2, 'inherit'] });
        if (status === 0) continue;
        failed.push(`${archiveName({ target, version, architecture })}: ${program} ended with ${status}`);
        break;
      }
    }
  }
}
