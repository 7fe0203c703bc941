import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toolEnvironment } from '../cluster/processes.ts';

const folder = join(import.meta.dirname, '../../src/capture/testdata');
/** A file that is refused is refused before anything else is done. Units: ms. */
const refusalMs = 2_000;

/** Files that the golden tests hold for a version of the instrument, by name of the case and node. */
function goldenFiles(version: string): Map<string, string> {
  const files = new Map<string, string>();
  for (const name of readdirSync(join(folder, version))) {
    for (const part of readFileSync(join(folder, version, name), 'utf8').split('\n---\n')) {
      const node = /^# (\S+): the instrument's file\n/.exec(part)?.[1];
      if (node) files.set(`${name} ${node}`, part.slice(part.indexOf('\n') + 1));
    }
  }
  return files;
}

/**
 * Starts the instrument with each golden file and ends it again. It takes a file if it is still there after a while.
 * Resolves with how many there are and, for those it has refused, its words.
 */
export function refusedFiles(binary: string, version: string): { files: number; refused: string[] } {
  const dir = mkdtempSync(join(tmpdir(), 'golden-files-'));
  const path = join(dir, 'config.yaml');
  const refused: string[] = [];
  const files = goldenFiles(version);
  try {
    for (const [name, text] of files) {
      writeFileSync(path, text.replaceAll('@svc-obi-health', `@svc-golden-${process.pid}`));
      const run = spawnSync(binary, ['-config', path], {
        env: toolEnvironment({ OTEL_EBPF_NETWORK_AGENT_IP: '127.0.0.1', KUBECONFIG: join(dir, 'none') }),
        timeout: refusalMs,
        killSignal: 'SIGKILL',
        encoding: 'utf8',
      });
      if (run.status === null) continue;
      const words = `${run.stdout}${run.stderr}`.split('\n').findLast((line) => line.includes('level=ERROR'));
      refused.push(`${name} (exit ${run.status}): ${words?.slice(0, 300) ?? ''}`);
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  return { files: files.size, refused };
}
