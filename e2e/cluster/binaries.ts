import { accessSync, constants, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findGo } from './go-toolchain.ts';
import { processIdentity, spawnBound, toolEnvironment } from './processes.ts';

/** The programs of a control plane, and the Go package each is built from. */
const packages = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
} as const;

export type BinaryName = keyof typeof packages;

/** Absolute path of each program. */
export type Binaries = Readonly<Record<BinaryName, string>>;

export interface BinariesOptions {
  /** Where progress lines go. Default stderr. */
  log?: (line: string) => void;
  /** Cache root. Default `${XDG_CACHE_HOME:-~/.cache}/svc-operator`. */
  cacheDir?: string;
  /** Only these. Default all. */
  only?: readonly BinaryName[];
  /** The environment to look for KUBEBUILDER_ASSETS in. Default the process's. */
  env?: NodeJS.ProcessEnv;
}

const moduleDir = fileURLToPath(new URL('./kubernetes/', import.meta.url));

/** The one Kubernetes version of the harness, `vX.Y.Z`, as the Go module pins it. */
export function kubernetesVersion(): string {
  const found = /^\s*k8s\.io\/kubernetes (v\d+\.\d+\.\d+)/m.exec(readFileSync(join(moduleDir, 'go.mod'), 'utf8'));
  if (!found?.[1]) throw new Error(`${moduleDir}go.mod does not pin k8s.io/kubernetes`);
  return found[1];
}

/**
 * The programs, in this order of preference: KUBEBUILDER_ASSETS, the cache, a build with Go (about ten minutes the
 * first time, seconds when Go's own cache is warm).
 * Guarantees: a program is complete or absent (built aside, then renamed); two callers never build at once.
 */
export async function findBinaries(options: BinariesOptions = {}): Promise<Binaries> {
  const log = options.log ?? ((line: string) => void process.stderr.write(`${line}\n`));
  const root = options.cacheDir ?? defaultCacheDir();
  const dir = join(root, 'kube', kubernetesVersion());
  const names = options.only ?? (Object.keys(packages) as BinaryName[]);
  const assets = (options.env ?? process.env)['KUBEBUILDER_ASSETS'];
  const find = (name: BinaryName): string | undefined =>
    [...(assets ? [join(assets, name)] : []), join(dir, name)].find(isExecutable);
  if (names.some((name) => !find(name))) {
    mkdirSync(dir, { recursive: true });
    const unlock = await lock(`${dir}.lock`, log);
    try {
      // Asked again under the lock: whoever held it may have built what is missing.
      const missing = names.filter((name) => !find(name));
      if (missing.length > 0) await build(missing, root, dir, log);
    } finally {
      unlock();
    }
  }
  return Object.fromEntries(names.map((name) => [name, find(name)])) as unknown as Binaries;
}

function defaultCacheDir(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'svc-operator');
}

async function build(names: readonly BinaryName[], root: string, dir: string, log: (line: string) => void) {
  const go = await findGo(root, log);
  const started = Date.now();
  log(`building ${names.join(', ')} ${kubernetesVersion()} with ${go.version} into ${dir} (once; ~10 min when cold)`);
  for (const [i, name] of names.entries()) {
    const label = `[${i + 1}/${names.length}] ${name}`;
    const heartbeat = setInterval(() => log(`${label}: still building, ${seconds(started)} so far`), 15_000);
    try {
      await buildOne(go.path, name, dir);
      log(`${label}: built, ${seconds(started)} so far`);
    } finally {
      clearInterval(heartbeat);
    }
  }
}

function buildOne(go: string, name: BinaryName, dir: string): Promise<void> {
  const temp = join(dir, `.${name}.${process.pid}`);
  const args = ['build', '-trimpath', '-ldflags', linkerFlags(), '-o', temp, packages[name]];
  return new Promise((resolve, reject) => {
    const env = { ...toolEnvironment(goSettings()), CGO_ENABLED: '0' };
    const child = spawnBound([go, ...args], {
      run: `build-${process.pid}`,
      cwd: moduleDir,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let errors = '';
    child.stderr?.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)));
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) {
        renameSync(temp, join(dir, name));
        return resolve();
      }
      rmSync(temp, { force: true });
      reject(new Error(`go build ${packages[name]} failed (exit ${code ?? 'by signal'}):\n${errors}`));
    });
  });
}

/** Without these the server reports v0.0.0, and some of its own version checks misbehave. */
function linkerFlags(): string {
  const version = kubernetesVersion();
  const [major = '', minor = ''] = version.slice(1).split('.');
  const set = (name: string, value: string): string => `-X k8s.io/component-base/version.${name}=${value}`;
  return ['-s -w', set('gitVersion', version), set('gitMajor', major), set('gitMinor', minor)].join(' ');
}

/** The user's Go and proxy settings; nothing else of the environment reaches the build. */
function goSettings(): Record<string, string> {
  const names = Object.keys(process.env).filter((n) => /^(GO|HTTPS?_PROXY$|NO_PROXY$|XDG_|SSL_CERT_)/i.test(n));
  return Object.fromEntries(names.map((n) => [n, process.env[n] ?? '']));
}

/** A lock file with its holder inside; one whose holder is gone is taken over. */
async function lock(path: string, log: (line: string) => void): Promise<() => void> {
  mkdirSync(dirname(path), { recursive: true });
  const mine = `${process.pid} ${processIdentity(process.pid) ?? ''}`;
  for (let waited = 0; ; waited++) {
    try {
      writeFileSync(path, mine, { flag: 'wx' });
      return () => rmSync(path, { force: true });
    } catch {
      const holder = readHolder(path);
      if (holder && processIdentity(holder.pid) !== holder.identity) {
        rmSync(path, { force: true });
        continue;
      }
      if (waited % 15 === 0) log(`waiting for another build (${path} held by ${holder?.pid ?? 'somebody'})`);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
}

function readHolder(path: string): { pid: number; identity: string } | undefined {
  try {
    const [pid = '', identity = ''] = readFileSync(path, 'utf8').split(' ');
    return pid === '' ? undefined : { pid: Number(pid), identity };
  } catch {
    return undefined;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

const seconds = (since: number): string => `${Math.round((Date.now() - since) / 1000)} s`;
