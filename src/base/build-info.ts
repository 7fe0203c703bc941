import { readFileSync } from 'node:fs';

/** What `--version`, `/version` and the metrics tell about the build. */
export interface BuildInfo {
  version: string;
  /** The commit that was built, `unknown` for sources that run unbuilt. `SVC_COMMIT` goes before the build's own. */
  commit: string;
  /** When that commit was made, RFC 3339, or `unknown`. */
  date: string;
}

/** What a build puts in place of this name (`scripts/build/bundle.ts`); sources that run unbuilt have none. */
declare const SVC_BUILD_IDENTITY: { commit: string; date: string } | undefined;

/** The version is package.json's, which lies beside the sources and beside the built files alike. */
export function readBuildInfo(env: Readonly<Record<string, string | undefined>>): BuildInfo {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  const identity = typeof SVC_BUILD_IDENTITY === 'undefined' ? undefined : SVC_BUILD_IDENTITY;
  return {
    version: manifest.version,
    commit: env.SVC_COMMIT ?? identity?.commit ?? 'unknown',
    date: identity?.date ?? 'unknown',
  };
}

/** What `--version` prints: `0.1.0 (commit 1a2b3c…, 2026-01-31T12:00:00Z)`. */
export function versionText({ version, commit, date }: BuildInfo): string {
  return `${version} (commit ${commit}, ${date})`;
}
