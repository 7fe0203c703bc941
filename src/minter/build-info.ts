import { readFileSync } from 'node:fs';

/** What `/version` and the metrics tell about the build. The commit is baked into images by the environment. */
export interface BuildInfo {
  version: string;
  commit: string;
}

export function readBuildInfo(env: Readonly<Record<string, string | undefined>>): BuildInfo {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  return { version: manifest.version, commit: env.SVC_COMMIT ?? 'unknown' };
}
