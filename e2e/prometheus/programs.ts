import { fileURLToPath } from 'node:url';
import { findGoPrograms } from '../cluster/go-programs.ts';
import type { FindOptions, GoPrograms } from '../cluster/go-programs.ts';

/**
 * The Prometheus 3 that tests talk to and compare answers with, in the version that a Go module of ours pins. Its cloud
 * discovery is left out: that would be most of the build.
 */
const prometheus = {
  moduleDir: fileURLToPath(new URL('./module/', import.meta.url)),
  versionOf: 'github.com/prometheus/prometheus',
  folder: 'prometheus',
  packages: {
    prometheus: 'github.com/prometheus/prometheus/cmd/prometheus',
    promtool: 'github.com/prometheus/prometheus/cmd/promtool',
  },
  flags: () => ['-tags', 'netgo,remove_all_sd', '-ldflags', '-s -w'],
  cold: '~3 min',
} as const satisfies GoPrograms<string>;

export type PrometheusProgram = keyof typeof prometheus.packages;

/** Absolute paths of `prometheus` and `promtool`, from the cache or built (a few minutes the first time). */
export function findPrometheus(
  options: FindOptions<PrometheusProgram> = {},
): Promise<Readonly<Record<PrometheusProgram, string>>> {
  return findGoPrograms<PrometheusProgram>(prometheus, options);
}
