import { fileURLToPath } from 'node:url';

/** As the product starts its agents. */
export const agentFlags = ['--max-semi-space-size=4'];

/** Prometheus' chunk codec, and its storage as a library. */
export const peerPrograms = {
  moduleDir: fileURLToPath(new URL('peer/', import.meta.url)),
  versionOf: 'github.com/prometheus/prometheus',
  folder: 'tsdb-peer',
  packages: { 'chunk-codec': '.', 'tsdb-ingest': './ingest' },
  flags: () => ['-ldflags', '-s -w'],
  cold: 'three minutes',
};
