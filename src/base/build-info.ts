import { readFileSync } from 'node:fs';

/** What `--version`, `/version` and the metrics tell about the build. The environment of an image has the commit. */
export interface BuildInfo {
  version: string;
  commit: string;
}

/** The version is package.json's, which lies beside the sources and beside the built files alike. */
export function readBuildInfo(env: Readonly<Record<string, string | undefined>>): BuildInfo {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return { version: manifest.version, commit: env.SVC_COMMIT ?? 'unknown' };
}
