import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sha256Hex } from '../../src/base/canonical-json.ts';
import type { Need } from '../../src/testing/needs.ts';
import { nameServer } from '../kubelet/programs.ts';
import { defaultCacheDir } from '../../src/testing/cache-dir.ts';
import { findGoPrograms, pinnedVersion, programsIn, type GoPrograms } from '../cluster/go-programs.ts';

/** Other products that clusters run beside ours, each built at the release that its go.mod pins. */
const peers = {
  coredns: nameServer,
  kstatus: ofOurs('kstatus', 'sigs.k8s.io/cli-utils', '~1 min'),
  'argo-cd': ofOurs('argo-cd', 'github.com/argoproj/gitops-engine', '~4 min'),
  'prometheus-adapter': {
    moduleDir: moduleDir('prometheus-adapter/module'),
    versionOf: 'sigs.k8s.io/prometheus-adapter',
    folder: 'peer-prometheus-adapter',
    packages: { 'prometheus-adapter': 'sigs.k8s.io/prometheus-adapter/cmd/adapter' },
    flags: () => ['-ldflags', '-s -w'],
    cold: '~4 min',
  },
  'kustomize-controller': {
    moduleDir: moduleDir('flux/module'),
    versionOf: 'github.com/fluxcd/kustomize-controller',
    folder: 'peer-kustomize-controller',
    packages: { 'kustomize-controller': 'github.com/fluxcd/kustomize-controller' },
    flags: () => ['-ldflags', '-s -w'],
    cold: '~6 min',
  },
  thanos: {
    moduleDir: moduleDir('thanos/module'),
    versionOf: 'github.com/thanos-io/thanos',
    folder: 'peer-thanos',
    packages: { thanos: 'github.com/thanos-io/thanos/cmd/thanos' },
    flags: () => ['-ldflags', '-s -w'],
    cold: '~8 min',
  },
} as const satisfies Record<string, GoPrograms<string>>;

export type PeerName = keyof typeof peers;
export const peerNames = Object.keys(peers) as PeerName[];

/** Absolute path of a peer's program, from the cache or built. Errors: a failed build, with its output. */
export async function findPeer(name: PeerName): Promise<string> {
  const programs: GoPrograms<string> = peers[name];
  return (await findGoPrograms(programs))[name]!;
}

/** What a test of a peer needs: its program in the cache, where `make e2e-peers` puts it. */
export function peerNeed(name: PeerName): Need {
  const programs: GoPrograms<string> = peers[name];
  const built = programsIn([join(defaultCacheDir(), programs.folder, pinnedVersion(programs))], [name]);
  return { name, missing: built === undefined ? `${name} is not built: make e2e-peers builds it, with Go` : undefined };
}

function moduleDir(folder: string): string {
  return fileURLToPath(new URL(`./${folder}/`, import.meta.url));
}

/** A program of ours around a library. The hash of its sources names its cache folder: a change builds it again. */
function ofOurs(name: string, versionOf: string, cold: string): GoPrograms<string> {
  const dir = moduleDir(name);
  const sources = ['go.mod', 'main.go'].map((file) => readFileSync(`${dir}${file}`, 'utf8'));
  return {
    moduleDir: dir,
    versionOf,
    folder: `peer-${name}-${sha256Hex(sources.join()).slice(0, 12)}`,
    packages: { [name]: '.' },
    flags: () => ['-ldflags', '-s -w'],
    cold,
  };
}
