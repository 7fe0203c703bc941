import { fileURLToPath } from 'node:url';
import { findGoPrograms } from '../cluster/go-programs.ts';
import type { FindOptions, GoPrograms } from '../cluster/go-programs.ts';

/** The program that installs the chart. */
const helm = {
  moduleDir: fileURLToPath(new URL('./module/', import.meta.url)),
  versionOf: 'helm.sh/helm/v4',
  folder: 'helm',
  packages: { helm: 'helm.sh/helm/v4/cmd/helm' },
  flags: () => ['-ldflags', '-s -w'],
  cold: '~3 min',
} as const satisfies GoPrograms<string>;

/** Absolute path of `helm`, from the cache or built (a few minutes the first time). */
export function findHelm(options: FindOptions<'helm'> = {}): Promise<Readonly<Record<'helm', string>>> {
  return findGoPrograms<'helm'>(helm, options);
}
