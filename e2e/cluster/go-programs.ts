import { accessSync, constants, readFileSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { defaultCacheDir } from '../../src/testing/cache-dir.ts';
import { findGo, type GoToolchain } from './go-toolchain.ts';
import { underLock } from './lock.ts';
import { signsOfLife } from './progress.ts';
import { signalGroup, spawnBound } from './processes.ts';

/** Programs that are built from a Go module of this repository. Most of these modules only pin versions. */
export interface GoPrograms<Name extends string> {
  /** The folder of the go.mod. */
  moduleDir: string;
  /** The path, as in go.mod, of the module whose version names the cache folder and is printed. */
  versionOf: string;
  /** Folder below the cache root. */
  folder: string;
  /** Program name → Go package. */
  packages: Readonly<Record<Name, string>>;
  /** Further flags of `go build` for a version (linker flags, tags). */
  flags: (version: string) => readonly string[];
  /** How long a cold build takes, for the progress line. */
  cold: string;
}

export interface FindOptions<Name extends string> {
  /** Where progress lines go. Default stderr. */
  log?: (line: string) => void;
  /** Cache root. Default `${XDG_CACHE_HOME:-~/.cache}/svc-operator`. */
  cacheDir?: string;
  /** Finds only these programs. Default: all. */
  only?: readonly Name[];
  /** A folder to look in before the cache. */
  assets?: string;
  /** Ends a build that is under way, and the wait for another one. */
  signal?: AbortSignal | undefined;
}

/** The version that go.mod pins, with its `v`. */
export function pinnedVersion({ moduleDir, versionOf }: Pick<GoPrograms<string>, 'moduleDir' | 'versionOf'>): string {
  const line = readFileSync(join(moduleDir, 'go.mod'), 'utf8')
    .split('\n')
    .find((text) =>
      text
        .trim()
        .replace(/^require /, '')
        .startsWith(`${versionOf} v`),
    );
  const found = /(v\d+\.\d+\.\d+\S*)/.exec(line?.slice(line.indexOf(versionOf) + versionOf.length) ?? '');
  if (!found?.[1]) throw new Error(`${moduleDir}go.mod does not pin ${versionOf}`);
  return found[1];
}

/**
 * Finds the programs, in this order of preference: the assets folder, the cache, a build with Go (seconds when Go's own
 * cache is warm).
 * Guarantees: a program is complete or absent (built aside, then renamed); two callers never build at the same time.
 */
export async function findGoPrograms<Name extends string>(
  programs: GoPrograms<Name>,
  options: FindOptions<Name> = {},
): Promise<Readonly<Record<Name, string>>> {
  const log = options.log ?? toStderr;
  const root = options.cacheDir ?? defaultCacheDir();
  const dir = join(root, programs.folder, pinnedVersion(programs));
  const names = options.only ?? (Object.keys(programs.packages) as Name[]);
  const dirs = [...(options.assets ? [options.assets] : []), dir];
  const found = programsIn(dirs, names);
  if (found) return found;
  return underLock(dir, { log, signal: options.signal }, async () => {
    // Checked again under the lock: its last holder may have built the missing programs.
    const missing = names.filter((name) => !programsIn(dirs, [name]));
    if (missing.length > 0) await build(programs, missing, { ...options, root, dir, log });
    return programsIn(dirs, names)!;
  });
}

/** The default of `log`. */
export const toStderr = (line: string): void => void process.stderr.write(`${line}\n`);

/** The path of each program in the first folder that has it; undefined if any of the programs is in no folder. */
export function programsIn<Name extends string>(
  dirs: readonly string[],
  names: readonly Name[],
): Record<Name, string> | undefined {
  const found = names.map((name) => [name, dirs.map((dir) => join(dir, name)).find(isExecutable)] as const);
  return found.every(([, path]) => path) ? (Object.fromEntries(found) as Record<Name, string>) : undefined;
}

interface BuildPlace {
  root: string;
  dir: string;
  signal?: AbortSignal | undefined;
}

async function build<Name extends string>(
  programs: GoPrograms<Name>,
  names: readonly Name[],
  { root, dir, log, signal }: Required<Pick<FindOptions<Name>, 'log'>> & BuildPlace,
) {
  const go = await findGo(root, { log, needed: neededGo(programs), signal });
  const started = Date.now();
  log(
    `building ${names.join(', ')} ${pinnedVersion(programs)} with ${go.version} into ${dir} (once; ${programs.cold} when cold)`,
  );
  for (const [i, name] of names.entries()) {
    const label = `[${i + 1}/${names.length}] ${name}`;
    const end = signsOfLife(() => log(`${label}: still building, ${seconds(started)} so far`));
    try {
      await buildOne(programs, name, { go, dir, signal });
      log(`${label}: built, ${seconds(started)} so far`);
    } finally {
      end();
    }
  }
}

function buildOne<Name extends string>(
  programs: GoPrograms<Name>,
  name: Name,
  { go, dir, signal }: Pick<BuildPlace, 'dir' | 'signal'> & { go: GoToolchain },
): Promise<void> {
  const temp = join(dir, `.${name}.${process.pid}`);
  const source = programs.packages[name];
  const args = ['build', '-trimpath', ...programs.flags(pinnedVersion(programs)), '-o', temp, source];
  return new Promise((resolve, reject) => {
    const child = spawnBound([go.path, ...args], {
      run: `build-${process.pid}`,
      cwd: programs.moduleDir,
      env: go.env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const end = (): void => void (child.pid !== undefined && signalGroup(child.pid, 'SIGKILL'));
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted) end();
    let errors = '';
    child.stderr?.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4000)));
    child.once('error', reject);
    child.once('exit', (code) => {
      signal?.removeEventListener('abort', end);
      if (code === 0) {
        renameSync(temp, join(dir, name));
        return resolve();
      }
      rmSync(temp, { force: true });
      reject(new Error(`go build ${source} failed (exit ${code ?? 'by signal'}):\n${errors}`));
    });
  });
}

/** The oldest Go that may build the module: the `go` line of its go.mod. */
function neededGo({ moduleDir }: Pick<GoPrograms<string>, 'moduleDir'>): string {
  const [, version] = /^go (\d\S*)$/m.exec(readFileSync(join(moduleDir, 'go.mod'), 'utf8')) ?? [];
  if (version === undefined) throw new Error(`${moduleDir}go.mod has no go line`);
  return version;
}

/** Whether the file exists and this process may run it. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The first program of this name in the folders of the PATH, then in `folders`; undefined if there is none. */
export function findOnPath(program: string, folders: readonly string[] = []): string | undefined {
  const path = (process.env['PATH'] ?? '').split(delimiter);
  return [...path, ...folders].map((folder) => join(folder, program)).find(isExecutable);
}

const seconds = (since: number): string => `${Math.round((Date.now() - since) / 1000)} s`;
