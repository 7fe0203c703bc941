import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { basename, delimiter, dirname, join } from 'node:path';
import { parse } from 'yaml';
import { needing } from '../../src/testing/needs.ts';
import { until } from '../../src/testing/until.ts';
import { startCluster, type Cluster } from '../cluster/cluster.ts';
import { findHelm } from '../helm/programs.ts';
import { arm64Emulator, emulator } from '../images/arm64.ts';
import { nodeInBase } from '../images/stand-ins.ts';
import { objectsOf, runWell, type Outcome } from '../install/tools.ts';
import type { ImageTable } from '../node/container/images.ts';
import { unpackImage, type UnpackedImage } from './oci-archive.ts';
import { imageBuilder, makeRelease, publishedAt, type ReleaseStage } from './stage.ts';

/** Uses a release folder as users do, without a checkout. `e2e/package` does the same with the npm package. */

let stage: ReleaseStage;
let images: Readonly<Record<'svc' | 'minter' | 'arm64', UnpackedImage>>;
const built = needing(imageBuilder);
const published = (name: string): string => join(stage.release, name);
const read = (name: string): Promise<string> => readFile(published(name), 'utf8');
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

beforeAll(async () => {
  stage = await makeRelease();
  if (imageBuilder.missing !== undefined) return;
  const unpack = (image: string, architecture: string): Promise<UnpackedImage> => {
    const archive = `${image}-${stage.version}-linux-${architecture}.oci.tar`;
    return unpackImage(published(archive), join(stage.dir, `${image}-${architecture}`));
  };
  images = {
    svc: await unpack('svc-operator', 'amd64'),
    minter: await unpack('svc-minter', 'amd64'),
    arm64: await unpack('svc-operator', 'arm64'),
  };
}, 180_000);
afterAll(() => stage?.end());

/** The command of an image's entry point, with this machine's Node. */
const programOf = ({ root, config }: UnpackedImage): [string, string] => {
  const [node, program = ''] = config.Entrypoint ?? [];
  expect(node).toBe('node');
  return [process.execPath, join(root, program)];
};

describe('the folder', () => {
  test('has a checksum of each of its files, and no other checksum', async () => {
    const lines = (await read('SHA256SUMS')).trim().split('\n');
    const sums = await Promise.all(
      (await readdir(stage.release))
        .filter((file) => file !== 'SHA256SUMS')
        .toSorted()
        .map(async (file) => `${sha256(await readFile(published(file)))}  ${file}`),
    );
    expect(lines).toEqual(sums);
  });

  test('names the packages of the web page in the bill of materials of svc', async () => {
    const { components } = JSON.parse(await read(`svc-${stage.version}.cdx.json`)) as {
      components: { name: string }[];
    };
    expect(components.map(({ name }) => name)).toEqual(expect.arrayContaining(['express', 'preact', 'cytoscape']));
  });

  test('has every file that the npm package refers to', async () => {
    const { stdout } = await runWell('tar', ['-tzf', published(`svc-operator-${stage.version}.npm.tgz`)]);
    const files = new Set(stdout.split('\n'));
    const args = ['-xzOf', published(`svc-operator-${stage.version}.npm.tgz`), 'package/package.json'];
    const manifest = JSON.parse((await runWell('tar', args)).stdout) as {
      version: string;
      bin: Record<string, string>;
      exports: Record<string, Record<string, string>>;
    };
    expect(manifest.version).toBe(stage.version);
    const paths = [
      ...Object.values(manifest.bin),
      ...Object.values(manifest.exports).flatMap((of) => Object.values(of)),
    ];
    expect(paths.length).toBeGreaterThan(10);
    expect(paths.filter((path) => !files.has(`package/${path.replace('./', '')}`))).toEqual([]);
  });
});

/** The name to which containerd resolves one without a registry. */
const fullName = (name: string): string => `docker.io/library/${name}`;

built.describe('the images', () => {
  test('exist for both architectures, each with the name that the manifests use', async () => {
    const archives = (await readdir(stage.release)).filter((file) => file.endsWith('.oci.tar'));
    expect(archives).toHaveLength(4);
    const wanted = [...(await read('install.yaml')).matchAll(/(?:^ +image: |--svc-image=)(\S+)/gm)].map(
      ([, name = '']) => fullName(name),
    );
    expect(new Set(wanted)).toEqual(new Set([images.svc.reference]));
    const values = await runWell('tar', [
      '-xzOf',
      published(`svc-operator-${stage.version}.tgz`),
      'svc-operator/values.yaml',
    ]);
    const [, minter = ''] = /"(svc-minter:[^"]*)"/.exec(values.stdout) ?? [];
    expect(images.minter.reference).toBe(fullName(minter));
    expect([images.arm64.reference, images.arm64.architecture]).toEqual([images.svc.reference, 'arm64']);
  });

  test.each(['svc', 'minter', 'arm64'] as const)(
    '%s runs as an unprivileged user, and its labels name version and licence',
    (which) => {
      const { config } = images[which];
      expect(config).toMatchObject({
        User: '65532:65532',
        Labels: {
          'org.opencontainers.image.version': stage.version,
          'org.opencontainers.image.licenses': 'Apache-2.0',
        },
      });
    },
  );

  test.each(['svc', 'minter'] as const)('%s has a program that prints the version and the commit', async (which) => {
    const image = images[which];
    const [node, program] = programOf(image);
    const { stdout } = await runWell(node, [program, '--version']);
    expect(stdout).toContain(stage.version);
    expect(stdout).toContain(image.config.Labels!['org.opencontainers.image.revision']!);
  });
});

needing(imageBuilder, arm64Emulator).test(
  'the arm64 image starts on its own Node',
  async () => {
    const { root, config } = images.arm64;
    const program = config.Entrypoint![1]!;
    // The emulator looks up files in the image first.
    const emulated = ['-L', root, join(root, nodeInBase)];
    const node = await runWell(emulator!, [...emulated, '-p', 'process.arch']);
    expect(node.stdout).toBe('arm64\n');
    const { stdout } = await runWell(emulator!, [...emulated, join(root, program), '--version']);
    expect(stdout).toContain(stage.version);
  },
  120_000,
);

describe('the plugin', () => {
  interface Krew {
    spec: {
      version: string;
      platforms: { selector: { matchLabels: object }; uri: string; sha256: string; bin: string }[];
    };
  }
  let bin: string;

  test('is in an archive with the hash of the krew manifest, for every platform', async () => {
    const { spec } = parse(await read('krew-svc.yaml')) as Krew;
    expect(spec.version).toBe(`v${stage.version}`);
    expect(spec.platforms.map(({ selector }) => selector.matchLabels)).toEqual(
      ['linux', 'darwin'].flatMap((os) => ['amd64', 'arm64'].map((arch) => ({ os, arch }))),
    );
    for (const { uri, sha256: hash } of spec.platforms) {
      expect(uri).toBe(`${publishedAt}${basename(uri)}`);
      expect(sha256(await readFile(published(basename(uri))))).toBe(hash);
    }
    // As krew installs it: unpacked into a folder, with a link on the PATH.
    const [here] = spec.platforms;
    const [unpacked, path] = [join(stage.dir, 'store'), join(stage.dir, 'bin')];
    await Promise.all([unpacked, path].map((dir) => mkdir(dir)));
    await runWell('tar', ['-xzf', published(basename(here!.uri)), '-C', unpacked]);
    await symlink(join(unpacked, here!.bin), join(path, 'kubectl-svc'));
    bin = path;
  });

  test('reads only the files that it came with', async () => {
    const { stdout } = await plugin(['version', '--client']);
    expect(stdout).toContain(stage.version);
  });

  /** Runs `kubectl svc ARGS`; its Node may read only the stage's folder and `readable`. */
  async function plugin(args: string[], env: Record<string, string> = {}, readable: string[] = []): Promise<Outcome> {
    const allowed = [stage.dir, ...readable].map((path) => `--allow-fs-read=${path}`);
    return runWell(join(bin, 'kubectl-svc'), args, {
      NODE_OPTIONS: ['--permission', ...allowed].join(' '),
      PATH: [bin, dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
      HOME: stage.dir,
      ...env,
    });
  }

  describe('and install.yaml, on a cluster', () => {
    let cluster: Cluster;
    let helm: string;
    const kubectl = (...args: string[]): Promise<string> => cluster.kubectl(args, { timeoutMs: 100_000 });

    beforeAll(async () => {
      ({ helm } = await findHelm());
      const ofArchives: ImageTable = imageBuilder.missing
        ? {}
        : Object.fromEntries(
            [images.svc, images.minter].map((image) => [
              image.reference.replace(fullName(''), ''),
              { entrypoint: programOf(image), env: { SVC_KERNEL_CHECK: 'false' } },
            ]),
          );
      cluster = await startCluster({ nodes: 1, images: ofArchives });
    }, 120_000);
    afterAll(() => cluster?.stop());

    test('bring up operator, agents and query servers', async () => {
      await kubectl('apply', '--server-side', '-f', published('install.yaml'));
      await kubectl('-n', 'svc-system', 'rollout', 'status', 'deployment/svc-controller', '--timeout=60s');
      for (const workload of ['daemonset/svc-agent', 'deployment/svc-query']) {
        await until(workload, () => kubectl('-n', 'svc-system', 'get', workload).catch(() => undefined));
        await kubectl('-n', 'svc-system', 'rollout', 'status', workload, '--timeout=60s');
      }
    }, 180_000);

    built.test('run the programs of the archives', async () => {
      const program = programOf(images.svc)[1];
      for (const part of ['operator', 'agent', 'query'])
        expect(commandLines()).toContainEqual(expect.arrayContaining([program, part]));
      return Promise.resolve();
    });

    test('answer kubectl svc status', async () => {
      const env = { KUBECONFIG: cluster.kubeconfig };
      const { stdout } = await plugin(['status'], env, [cluster.dir]);
      expect(stdout).toMatch(/1\/1/);
    });

    test('have the same objects as the chart, which takes them over without a restart', async () => {
      const chart = published(`svc-operator-${stage.version}.tgz`);
      const { stdout } = await runWell(helm, ['template', 'svc-operator', chart]);
      expect(objectsOf(stdout)).toEqual(objectsOf(await read('install.yaml')));
      const template = ['-n', 'svc-system', 'get', 'deployment/svc-controller', '-o', 'jsonpath={.spec.template}'];
      const before = await kubectl(...template);
      const takeOver = ['--install', '--take-ownership', '--force-conflicts'];
      const env = { KUBECONFIG: cluster.kubeconfig };
      await runWell(helm, ['upgrade', ...takeOver, 'svc-operator', chart], env);
      expect(await kubectl(...template)).toBe(before);
    }, 120_000);
  });
});

/** The command line of every process that can be read. */
function commandLines(): string[][] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(join('/proc', pid, 'cmdline'), 'utf8').split('\0')];
      } catch {
        return [];
      }
    });
}
