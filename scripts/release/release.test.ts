import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { root } from '../build/bundle.ts';
import { assembleRelease } from './assemble.ts';
import { architectures, archiveName, imageCommands } from './images.ts';
import { notesOf, type krewManifest } from './texts.ts';

const run = promisify(execFile);
const identity = { commit: 'c0ffee', date: '2026-01-01T00:00:00Z' };
let dir: string;
let version: string;

/** A dist/ whose plugin only prints its arguments. */
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'svc-release-'));
  version = (JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string }).version;
  for (const program of ['svc', 'minter', 'kubectl-svc']) {
    await mkdir(join(dir, 'dist', program), { recursive: true });
    await writeFile(join(dir, 'dist', program, 'sbom.cdx.json'), '{}');
  }
  await mkdir(join(dir, 'dist/package'));
  await writeFile(join(dir, 'dist/package/package.json'), '{}');
  const plugin = join(dir, 'dist/kubectl-svc');
  await writeFile(join(plugin, 'kubectl-svc.js'), 'console.log("called with", ...process.argv.slice(2));');
  await writeFile(join(plugin, 'kubectl-complete-svc.js'), 'console.log("completes");');
  await writeFile(join(plugin, 'kubectl-svc.js.map'), '{}');
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const assemble = (out: string): Promise<void> =>
  assembleRelease({ version, identity, dist: join(dir, 'dist'), out, url: 'https://dl.example.com/svc/' });

test('the release folder contains every part, and the checksums of all of them', async () => {
  const out = join(dir, 'one');
  await assemble(out);
  const files = (await readdir(out)).toSorted();
  expect(files).toEqual(
    [
      'NOTES.md',
      'SHA256SUMS',
      'install.yaml',
      `kubectl-svc-${version}.cdx.json`,
      `kubectl-svc-${version}.tar.gz`,
      'krew-svc.yaml',
      `minter-${version}.cdx.json`,
      `svc-${version}.cdx.json`,
      `svc-operator-${version}.npm.tgz`,
      `svc-operator-${version}.tgz`,
    ].toSorted(),
  );
  const sums = (await readFile(join(out, 'SHA256SUMS'), 'utf8')).trim().split('\n');
  expect(sums.map((line) => line.split('  ')[1])).toEqual(files.filter((file) => file !== 'SHA256SUMS'));
  for (const line of sums) {
    const [sum, file = ''] = line.split('  ');
    expect(sum).toBe(
      createHash('sha256')
        .update(await readFile(join(out, file)))
        .digest('hex'),
    );
  }
  const krew = parse(await readFile(join(out, 'krew-svc.yaml'), 'utf8')) as ReturnType<typeof krewManifest>;
  const sha256 = sums.find((line) => line.endsWith(`kubectl-svc-${version}.tar.gz`))!.split('  ')[0];
  const uri = `https://dl.example.com/svc/kubectl-svc-${version}.tar.gz`;
  expect(krew).toMatchObject({
    spec: { version: `v${version}`, platforms: Array(4).fill({ uri, sha256 }) as object[] },
  });
  const { stdout } = await run('tar', ['-tzf', join(out, `svc-operator-${version}.tgz`)]);
  expect(stdout.split('\n')).toEqual(expect.arrayContaining(['svc-operator/Chart.yaml', 'svc-operator/values.yaml']));
});

test('the same commit gives the same bytes', async () => {
  await assemble(join(dir, 'two'));
  // Other modification times, and the permissions of another umask.
  const files = await readdir(join(dir, 'dist'), { recursive: true, withFileTypes: true });
  for (const { parentPath, name } of files) {
    await utimes(join(parentPath, name), 1_000_000_000, 1_000_000_000);
    await chmod(join(parentPath, name), (0o777 & (await stat(join(parentPath, name))).mode) | 0o022);
  }
  await assemble(join(dir, 'three'));
  const [two, three] = await Promise.all(['two', 'three'].map((out) => readFile(join(dir, out, 'SHA256SUMS'), 'utf8')));
  expect(two).toBe(three);
});

test('the unpacked plugin runs, also through a symbolic link like krew’s, and refuses an old Node.js', async () => {
  await assemble(join(dir, 'four'));
  const home = join(dir, 'unpacked');
  await mkdir(join(home, 'bin'), { recursive: true });
  await run('tar', ['-xzf', join(dir, 'four', `kubectl-svc-${version}.tar.gz`), '-C', home]);
  await symlink(join(home, 'kubectl-svc'), join(home, 'bin/kubectl-svc'));
  await symlink(process.execPath, join(home, 'bin/node'));
  const path = (...dirs: string[]): { env: { PATH: string } } => ({
    env: { PATH: [...dirs, '/usr/bin:/bin'].join(':') },
  });
  const { stdout } = await run(join(home, 'bin/kubectl-svc'), ['top', '-A'], path(join(home, 'bin')));
  expect(stdout).toBe('called with top -A\n');
  const complete = await run(join(home, 'kubectl_complete-svc'), [''], path(join(home, 'bin')));
  expect(complete.stdout).toBe('completes\n');
  expect(await readdir(join(home, 'dist/kubectl-svc'))).not.toContain('kubectl-svc.js.map');
  await writeFile(join(home, 'node'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  const old = run(join(home, 'bin/kubectl-svc'), [], path(home));
  await expect(old).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('needs Node 24') as unknown });
});

test('a version other than that of the sources is refused, and the error names the files to change', async () => {
  const other = assembleRelease({ version: '9.9.9', identity, dist: dir, out: join(dir, 'none') });
  await expect(other).rejects.toThrow(
    /^VERSION=9\.9\.9: package\.json, .*Chart\.yaml, manifests\/install\.yaml is of another/,
  );
});

test('the notes are the section of the version, or else the section Unreleased', () => {
  const changelog = '# Changelog\n\n## Unreleased\n\n- new\n\n## 0.1.0 (2026-01-01)\n\n- old\n';
  expect(notesOf(changelog, '0.1.0')).toBe('# 0.1.0\n\n- old\n');
  expect(notesOf(changelog, '0.2.0')).toBe('# 0.2.0\n\n- new\n');
  expect(() => notesOf('# Changelog\n', '1.0.0')).toThrow('no section "1.0.0" and none "Unreleased"');
});

describe('the commands of an image', () => {
  const options = {
    target: 'minter',
    version: '0.1.0',
    identity,
    machine: 'amd64',
    file: '/out/x.tar',
    buildArgs: ['BASE=b'],
  } as const;
  test.each(architectures)(
    'for %s: they name platform, commit and time, write an OCI archive, and build on the machine’s architecture',
    (architecture) => {
      for (const builder of ['docker', 'podman', 'buildah'] as const) {
        const text = imageCommands(builder, { ...options, architecture })
          .flat()
          .join(' ');
        expect(text).toContain(`--platform linux/${architecture} `);
        expect(text).toContain('--build-arg COMMIT=c0ffee --build-arg CREATED=2026-01-01T00:00:00Z');
        expect(text).toContain('--build-arg SOURCE_DATE_EPOCH=1767225600 --build-arg BASE=b');
        expect(text).toMatch(/rewrite-timestamp=true|--timestamp 1767225600/);
        // containerd resolves an image without a registry under this name, and imports an archive under its own.
        expect(text).toMatch(
          /(type=oci,dest=\/out\/x\.tar,name=|oci-archive:\/out\/x\.tar:)docker\.io\/library\/svc-minter:0\.1\.0\b/,
        );
      }
      for (const builder of ['podman', 'buildah'] as const) {
        const [build] = imageCommands(builder, { ...options, architecture });
        expect(build).toContain('BUILDPLATFORM=linux/amd64');
      }
      expect(archiveName({ target: 'svc', version: '0.1.0', architecture })).toBe(
        `svc-operator-0.1.0-linux-${architecture}.oci.tar`,
      );
    },
  );
});
