import { execFile } from 'node:child_process';
import { mkdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { download, type DownloadOptions } from './download.ts';
import { LinkedAbort } from '../../src/base/linked-abort.ts';
import { defaultCacheDir } from '../../src/testing/cache-dir.ts';
import { findGoPrograms, pinnedVersion, programsIn, toStderr } from './go-programs.ts';
import type { FindOptions, GoPrograms } from './go-programs.ts';
import { underLock } from './lock.ts';
import { release, type BinaryName, type Release, type ReleaseArchive } from './releases.ts';

/** The programs of a control plane, and the Go package each is built from. */
const controlPlane = {
  moduleDir: fileURLToPath(new URL('./kubernetes/', import.meta.url)),
  versionOf: 'k8s.io/kubernetes',
  folder: 'kube',
  packages: {
    etcd: 'go.etcd.io/etcd/server/v3',
    'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
    'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
    'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
    kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  },
  flags: (version: string) => ['-ldflags', linkerFlags(version)],
  cold: '~10 min',
} as const satisfies GoPrograms<BinaryName>;

const names = Object.keys(controlPlane.packages) as BinaryName[];

/** The programs of a real node, from the same module. Only tests that run real pods need them. */
const node = {
  ...controlPlane,
  packages: {
    kubelet: 'k8s.io/kubernetes/cmd/kubelet',
    'kube-proxy': 'k8s.io/kubernetes/cmd/kube-proxy',
  },
  cold: '~4 min',
} as const satisfies GoPrograms<string>;

export type NodeBinaries = Readonly<Record<keyof typeof node.packages, string>>;

/** Absolute path of each program, and the version of Kubernetes that the programs are assumed to have. */
export type Binaries = Readonly<Record<BinaryName | 'version', string>>;

export interface BinariesOptions extends Omit<FindOptions<BinaryName>, 'assets' | 'only'> {
  /** The environment to look for KUBEBUILDER_ASSETS in. Default: that of the process. */
  env?: NodeJS.ProcessEnv;
  /**
   * Take the published programs where nothing is built yet. They may be of another patch release than the one that the
   * module pins and the tests run on. Default false.
   */
  published?: boolean;
  /** The published release. Default: the pinned one. */
  release?: Release;
  /** Time limits of the downloads. */
  limits?: Pick<DownloadOptions, 'answerMs' | 'stallMs' | 'totalMs'>;
}

/** The one Kubernetes version of the tests, `vX.Y.Z`, as the Go module pins it. */
export function kubernetesVersion(): string {
  return pinnedVersion(controlPlane);
}

/**
 * The control plane's programs: from KUBEBUILDER_ASSETS, the cache, the published archives (`published`), or built
 * from their modules (about ten minutes the first time).
 * Guarantees: a published archive is unpacked only if it has the SHA-512 of the publisher's list. Otherwise the log
 * says why, and the programs are built.
 */
export async function findBinaries(options: BinariesOptions = {}): Promise<Binaries> {
  const { env = process.env, published = false, ...find } = options;
  const assets = env['KUBEBUILDER_ASSETS'];
  const root = options.cacheDir ?? defaultCacheDir();
  const built = join(root, controlPlane.folder, kubernetesVersion());
  if (published && !programsIn([...(assets ? [assets] : []), built], names)) {
    const got = await findPublished(root, options);
    if (got) return got;
    options.signal?.throwIfAborted();
  }
  const programs = await findGoPrograms<BinaryName>(controlPlane, { ...find, ...(assets ? { assets } : {}) });
  return { ...programs, version: kubernetesVersion() };
}

/**
 * The published programs, from the cache below `root`. Programs that are not in the cache are downloaded into it.
 * Undefined if no archive is published for this machine; also if a download fails, with the reason in the log.
 * Errors: the signal's reason when it aborts.
 */
export async function findPublished(root: string, options: BinariesOptions): Promise<Binaries | undefined> {
  const { log = toStderr, signal, limits } = options;
  const { version, archives } = options.release ?? release;
  const wanted = process.platform === 'linux' ? archives[process.arch] : undefined;
  if (!wanted) return undefined;
  const dir = join(root, controlPlane.folder, `${version}-published`);
  const found = programsIn([dir], names);
  if (found) return { ...found, version };
  return underLock(dir, { log, signal }, async () => {
    // A killed download may have left files in this folder: it is removed first.
    const scratch = `${dir}.partial`;
    try {
      await rm(scratch, { recursive: true, force: true });
      await mkdir(scratch);
      await fetchAll(wanted, scratch, { log, signal, ...limits });
      const members = wanted.flatMap((archive) => Object.values(archive.members));
      for (const member of members) await rename(join(scratch, member), join(dir, basename(member)));
      return { ...programsIn([dir], names)!, version };
    } catch (error) {
      signal?.throwIfAborted();
      log(`${error instanceof Error ? error.message : String(error)}; building from modules instead`);
      return undefined;
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  });
}

/** Downloads all archives in parallel. The first failure ends the other downloads and is the error. */
async function fetchAll(archives: readonly ReleaseArchive[], dir: string, options: DownloadOptions): Promise<void> {
  const link = new LinkedAbort(options.signal);
  const fetchOne = async (archive: ReleaseArchive): Promise<void> => {
    const file = join(dir, archive.name);
    await download(archive, file, { ...options, signal: link.signal });
    await unpack(file, dir, Object.values(archive.members));
  };
  await Promise.all(archives.map((archive) => fetchOne(archive).catch((error: unknown) => link.abort(error))));
  link.release();
  link.signal.throwIfAborted();
}

/** Unpacks only the named members; tar itself refuses names that lead out of the folder. */
async function unpack(file: string, dir: string, members: readonly string[]): Promise<void> {
  await promisify(execFile)('tar', ['-xzf', file, '--no-same-owner', '-C', dir, ...members]);
}

/** The node's programs: from the cache, or built. */
export function findNodeBinaries(): Promise<NodeBinaries> {
  return findGoPrograms<keyof typeof node.packages>(node);
}

/** Flags that set the version of the programs. Without them the API server reports v0.0.0 and misjudges versions. */
function linkerFlags(version: string): string {
  const [major = '', minor = ''] = version.slice(1).split('.');
  const set = (name: string, value: string): string => `-X k8s.io/component-base/version.${name}=${value}`;
  return ['-s -w', set('gitVersion', version), set('gitMajor', major), set('gitMinor', minor)].join(' ');
}
