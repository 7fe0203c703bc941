import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');

/** Identifies the sources of a build. */
export interface BuildIdentity {
  /** The full commit, with `-dirty` where the tree differs from it; `unknown` outside a repository. */
  readonly commit: string;
  /** When the commit was made, RFC 3339 in UTC; never the time of the build, so that two builds are the same bytes. */
  readonly date: string;
}

/**
 * Takes `SVC_COMMIT` and `SOURCE_DATE_EPOCH` (seconds) if they are set, as in an image's build. A value that is not set
 * comes from the repository.
 * Errors: SOURCE_DATE_EPOCH is not a whole number of seconds.
 */
export function buildIdentity(env: Readonly<Record<string, string | undefined>> = process.env): BuildIdentity {
  const epoch = env['SOURCE_DATE_EPOCH'] || git('show', '-s', '--format=%ct', 'HEAD');
  if (epoch !== undefined && !/^\d{1,11}$/.test(epoch)) {
    throw new Error(`SOURCE_DATE_EPOCH=${epoch}: it takes whole seconds since 1970`);
  }
  const date = epoch === undefined ? 'unknown' : new Date(Number(epoch) * 1000).toISOString().replace('.000', '');
  return { commit: env['SVC_COMMIT'] || commitOfTree(), date };
}

function commitOfTree(): string {
  const commit = git('rev-parse', 'HEAD');
  if (commit === undefined) return 'unknown';
  return git('status', '--porcelain', '--untracked-files=no') === '' ? commit : `${commit}-dirty`;
}

function git(...args: string[]): string | undefined {
  try {
    return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}
