import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findGoPrograms } from '../../e2e/cluster/go-programs.ts';
import { sha256Hex } from '../../src/base/canonical-json.ts';
import type { Stage } from '../run/bench.ts';

/** How much work one part of bench:tsdb does, and in which folder. */
export interface StoreWork {
  /** A folder for this part alone, which does not exist yet. */
  readonly dir: string;
  readonly series: number;
  readonly scrapes: number;
}

const moduleDir = fileURLToPath(new URL('peer/', import.meta.url));
const sources = ['go.mod', 'main.go', 'ingest/main.go'];

/**
 * The path of a program with Prometheus' chunk codec (`chunk-codec`) or with its storage as a library (`tsdb-ingest`).
 * Builds the program if there is none yet.
 */
export async function peerProgram(name: 'chunk-codec' | 'tsdb-ingest', { say }: Pick<Stage, 'say'>): Promise<string> {
  const text = sources.map((file) => readFileSync(join(moduleDir, file), 'utf8')).join('\n');
  const programs = await findGoPrograms(
    {
      moduleDir,
      versionOf: 'github.com/prometheus/prometheus',
      // The module has code of its own, so its text is part of the version.
      folder: `tsdb-peer-${sha256Hex(text).slice(0, 12)}`,
      packages: { 'chunk-codec': '.', 'tsdb-ingest': './ingest' },
      flags: () => ['-ldflags', '-s -w'],
      cold: 'three minutes',
    },
    { log: say, only: [name] },
  );
  return programs[name]!;
}

/** The command of one of our programs in this folder. */
export function ownProgram(file: string): string[] {
  return [process.execPath, fileURLToPath(new URL(file, import.meta.url))];
}
