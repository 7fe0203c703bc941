import { readFileSync } from 'node:fs';

/** The build information in `--version`, `/version` and the metrics. */
export interface BuildInfo {
  version: string;
  /** The commit that was built; `unknown` for sources that run unbuilt. `SVC_COMMIT` overrides the build's own. */
  commit: string;
  /** The time of that commit, RFC 3339, or `unknown`. */
  date: string;
}

/**
 * The value that a build substitutes for this name (`scripts/build/bundle.ts`); undefined for sources that run unbuilt.
 */
declare const SVC_BUILD_IDENTITY: { commit: string; date: string } | undefined;

/** The version is that of package.json, which is beside the sources and also beside the built files. */
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
