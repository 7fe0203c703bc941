import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InstrumentVersion } from '../../src/capture/index.ts';
import { toolEnvironment } from '../cluster/processes.ts';

const folder = join(import.meta.dirname, '../../src/capture/testdata');
/** The folder of each version's golden files: v0.12 reads the same files as v0.10. */
const folderOf: Readonly<Record<InstrumentVersion, string>> = { 'v0.9': 'v0.9', 'v0.10': 'v0.10', 'v0.12': 'v0.10' };
/** How long the instrument may take to print its configuration. On an idle machine it takes one second. Units: ms. */
const answerMs = 60_000;

/** The golden configuration files of a version of the instrument, by case and node. */
function goldenFiles(version: InstrumentVersion): Map<string, string> {
  const files = new Map<string, string>();
  const own = join(folder, folderOf[version]);
  for (const name of readdirSync(own)) {
    for (const part of readFileSync(join(own, name), 'utf8').split('\n---\n')) {
      const node = /^# (\S+): the instrument's file\n/.exec(part)?.[1];
      if (node) files.set(`${name} ${node}`, part.slice(part.indexOf('\n') + 1));
    }
  }
  return files;
}

/**
 * Starts the instrument with each golden file. The instrument checks the file, then prints its configuration; then it
 * is ended. Resolves to the number of files, and the instrument's error for each refused file.
 */
export async function refusedFiles(
  binary: string,
  version: InstrumentVersion,
): Promise<{ files: number; refused: string[] }> {
  const dir = mkdtempSync(join(tmpdir(), 'golden-files-'));
  const path = join(dir, 'config.yaml');
  const refused: string[] = [];
  const files = goldenFiles(version);
  if (files.size === 0) throw new Error(`there is no golden file for the instrument ${version}`);
  try {
    for (const [name, text] of files) {
      writeFileSync(path, text.replaceAll('@svc-obi-health', `@svc-golden-${process.pid}`));
      const words = await refusal(binary, path, { KUBECONFIG: join(dir, 'none') });
      if (words !== null) refused.push(`${name}: ${words}`);
    }
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
  return { files: files.size, refused };
}

/** Why the instrument refuses a file; null if it accepts the file. */
function refusal(binary: string, path: string, env: Readonly<Record<string, string>>): Promise<string | null> {
  const child = spawn(binary, ['-config', path], {
    env: toolEnvironment({ OTEL_EBPF_NETWORK_AGENT_IP: '127.0.0.1', OTEL_EBPF_LOG_CONFIG: 'yaml', ...env }),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  let begun = false;
  const hear = (chunk: Buffer): void => {
    said += chunk.toString();
    if (!said.includes('log_config: yaml')) return;
    begun = true;
    child.kill('SIGKILL');
  };
  child.stdout.on('data', hear);
  child.stderr.on('data', hear);
  const limit = setTimeout(() => child.kill('SIGKILL'), answerMs);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => {
      clearTimeout(limit);
      if (begun) return resolve(null);
      const words = said.split('\n').findLast((line) => line.includes('level=ERROR'));
      resolve(`${code === null ? signal : `exit ${code}`}: ${(words ?? said.slice(-300)).slice(0, 300)}`);
    });
  });
}
