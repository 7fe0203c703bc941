/**
 * The product's images, built from the Dockerfile as it is, and the stand-in of the instrument in an image of its own.
 *
 * The public base images may be out of reach. `BUILDER` and `BASE` of the environment name others (`public`: those of
 * the Dockerfile); without them two stand-ins are made of what this machine has: Node with the libraries that it loads,
 * and, in the image for builds, also a shell and npm.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundleFile } from '../../scripts/build/bundle.ts';
import { defaultCacheDir as cacheDir } from '../../src/testing/cache-dir.ts';
import { buildahOn, commit, type Buildah, type Change } from '../images/buildah.ts';
import { standInBase, standInBuilder } from '../images/stand-ins.ts';
import { repository } from '../install/tools.ts';

const run = promisify(execFile);

/** An image as a file that a container runtime imports, with its full name. */
export interface ImageFile {
  readonly reference: string;
  readonly path: string;
}

const outsideFolder = '/outside-world';
/** A port on the pod's loopback address: the minter accepts a key service other than the real one only there. */
const kmsPort = 18_443;

export interface ImageOptions {
  /** Folder for the files. */
  readonly dir: string;
  /** Certificate of the authority of the outside world (stand-ins for issuer, platform and key service), PEM. */
  readonly authority: string;
  /** Where the key service of the outside world is, host:port. */
  readonly keyService: string;
  /** Whether no other run is under way: leftover build containers are then of a killed run, and can be removed. */
  readonly isAlone: boolean;
  readonly log: (line: string) => void;
}

/** Builds all images. Layers are kept: while no source changes, the next build takes seconds. */
export async function buildImages(options: ImageOptions): Promise<ImageFile[]> {
  const { dir, log } = options;
  mkdirSync(dir, { recursive: true });
  const buildah = buildahOn({ root: join(cacheDir(), 'images'), runroot: join(dir, 'runroot') });
  if (options.isAlone) await buildah(['rm', '--all']);
  const bases = await chooseBases(buildah, log);
  const packages = (await run('npm', ['config', 'get', 'cache'])).stdout.trim();
  for (const target of ['svc', 'minter']) {
    log(`image ${target} from the Dockerfile`);
    await buildah([
      'bud',
      '--isolation',
      'chroot',
      '--layers',
      '--volume',
      `${packages}:/root/.npm:rw`,
      ...bases,
      '--target',
      target,
      '-t',
      `built/${target}`,
      repository,
    ]);
  }
  log('image of the instrument: the stand-in');
  const instrument = await bundleStandIn(join(dir, 'stand-in'));
  const minterFiles = join(dir, 'outside-world');
  mkdirSync(minterFiles, { recursive: true });
  writeFileSync(join(minterFiles, 'ca.crt'), options.authority);
  writeFileSync(join(minterFiles, 'start.mjs'), startMinter(options.keyService));
  return [
    // No kernel check: the stand-in uses nothing of the kernel, so a missing feature would explain nothing.
    await derive(buildah, 'built/svc', 'docker.io/library/svc-operator:0.1.0', dir, {
      env: { SVC_KERNEL_CHECK: 'false' },
    }),
    await derive(buildah, 'built/minter', 'docker.io/library/svc-minter:0.1.0', dir, {
      env: { KMS_API_ENDPOINT: `127.0.0.1:${kmsPort}`, NODE_EXTRA_CA_CERTS: `${outsideFolder}/ca.crt` },
      files: [minterFiles, outsideFolder],
      entrypoint: ['node', `${outsideFolder}/start.mjs`],
    }),
    await derive(buildah, 'built/svc', 'docker.io/otel/ebpf-instrument:v0.10.0', dir, {
      files: [instrument, '/'],
      env: { STANDIN_LISTEN: '0.0.0.0:14318' },
      user: '0:0',
    }),
    await derive(buildah, 'built/svc', pauseImage, dir, {
      files: [pause(join(dir, 'pause')), '/'],
      entrypoint: ['node', '/pause.mjs'],
    }),
  ];
}

/** The pause image, which the runtime starts for the sandbox of each pod. */
export const pauseImage = 'localhost/svc-e2e-pause:1';

/** The build arguments that name the bases. */
async function chooseBases(buildah: Buildah, log: (line: string) => void): Promise<string[]> {
  const names = { BUILDER: process.env['BUILDER'] ?? '', BASE: process.env['BASE'] ?? '' };
  if (!names.BUILDER) names.BUILDER = await standInBuilder(buildah, log);
  if (!names.BASE) names.BASE = await standInBase(buildah, log);
  return Object.entries(names)
    .filter(([, name]) => name !== 'public')
    .flatMap(([arg, name]) => ['--build-arg', `${arg}=${name}`]);
}

async function derive(
  buildah: Buildah,
  from: string,
  reference: string,
  dir: string,
  change: Change,
): Promise<ImageFile> {
  const path = join(dir, `${reference.replaceAll(/[^\w.-]/g, '_')}.tar`);
  await commit(buildah, from, reference, change);
  await buildah(['push', '--quiet', reference, `docker-archive:${path}:${reference}`]);
  return { reference, path };
}

/** The stand-in as one file, under the name that upstream's image gives the instrument. */
async function bundleStandIn(dir: string): Promise<string> {
  mkdirSync(dir, { recursive: true });
  await bundleFile('src/testing/instrument/main.ts', join(dir, 'stand-in.mjs'));
  writeFileSync(join(dir, 'obi'), "#!/nodejs/bin/node\nimport('/stand-in.mjs');\n", { mode: 0o755 });
  return dir;
}

/** A program that starts the minter beside a forwarder from its loopback to the key service. */
function startMinter(keyService: string): string {
  const [host, port] = keyService.split(':');
  return `import { connect, createServer } from 'node:net';
createServer((from) => {
  const to = connect(${port}, '${host}');
  from.on('error', () => to.destroy()).on('close', () => to.destroy());
  to.on('error', () => from.destroy()).on('close', () => from.destroy());
  from.pipe(to).pipe(from);
}).listen(${kmsPort}, '127.0.0.1').unref();
process.argv[1] = '/app/dist/minter/minter.js';
await import(process.argv[1]);
`;
}

function pause(dir: string): string {
  mkdirSync(dir, { recursive: true });
  writeFileSync(
    join(dir, 'pause.mjs'),
    "process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1 << 30);\n",
  );
  return dir;
}
