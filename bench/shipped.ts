import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createReport } from '../e2e/demo/report.ts';
import { startStage } from '../e2e/demo/stage.ts';
import { releasedVersions, unpackRelease } from '../e2e/upgrade/released.ts';
import { bench, type Stage } from './run/bench.ts';
import { buildPrograms } from './run/build.ts';
import { allCores } from './run/cores.ts';
import type { Goal } from './run/figure.ts';
import { residentMiB } from './run/process-figures.ts';
import { column, inTurns } from './run/turns.ts';
import { roles, watchStarts, type Role, type Started } from './shipped/starts.ts';

const root = join(import.meta.dirname, '..');
/** The folders of `dist` that each image adds to its base. */
const images = { 'svc-operator': ['svc', 'ui'], 'svc-minter': ['minter'] } as const;
/** What an image may add to its base. Units: MiB. */
const layers: Goal = { of: 'ours', atMost: 30 };

/** One of the two compared versions, as it is installed. */
interface Side {
  /** The folder that holds `dist`. */
  readonly dir: string;
  readonly manifest: string;
  readonly images?: Parameters<typeof startStage>[0]['images'];
}

/** The measurements of each program. */
type Seen = Readonly<Record<Role, { readonly cpuMs: number; readonly wallMs: number; readonly rss: number }>>;

await bench(
  {
    name: 'bench:shipped',
    measures:
      'This version as it is installed, beside the newest release in e2e/upgrade/testdata: the size that an image adds to\n' +
      'its base; and, for each program of the whole product on a process node, CPU time and wall time from the start of\n' +
      'the process until it is ready, and resident memory at rest. Memory includes Node; traffic goes on at 20 requests a\n' +
      'second.',
    options: { 'rest-seconds': { kind: 'number', value: 30, quick: 1, help: 'from Ready until memory is read' } },
  },
  async (stage) => {
    const { runs, say, reporter, folder } = stage;
    const version = releasedVersions.at(-1);
    if (version === undefined) throw new Error('no release is kept in e2e/upgrade/testdata');
    say('building the programs');
    await buildPrograms();
    const dir = folder();
    const release = await unpackRelease(version, dir);
    const ours: Side = { dir: root, manifest: join(root, 'manifests/install.yaml') };
    const peer: Side = { dir, manifest: release.manifest, images: release.images };
    tellSizes(stage, ours);
    const restMs = stage.flags['rest-seconds'] * 1_000;
    const turns = await inTurns(runs, {
      ours: (run) => installed(stage, ours, restMs, `this version, run ${run + 1} of ${runs}`),
      peer: (run) => installed(stage, peer, restMs, `${version}, run ${run + 1} of ${runs}`),
    });
    const report = reporter({
      cores: allCores('control plane, all programs and traffic'),
      caches: `code compiled by an earlier start is on disk; the peer is ${version}`,
    });
    for (const role of roles) {
      const name = `shipped/${role}`;
      report({ name: `${name}/until-ready/cpu`, unit: 'ms', ...column(turns, (seen) => seen[role].cpuMs) });
      report({ name: `${name}/until-ready/wall`, unit: 'ms', ...column(turns, (seen) => seen[role].wallMs) });
      report({ name: `${name}/at-rest/rss`, unit: 'MiB', ...column(turns, (seen) => seen[role].rss) });
    }
  },
);

function tellSizes({ runs, reporter }: Stage, { dir }: Side): void {
  const report = reporter({ cores: 'none', caches: 'none' });
  for (const [image, folders] of Object.entries(images)) {
    const bytes = folders.reduce((sum, folder) => sum + bytesIn(join(dir, 'dist', folder)), 0);
    const ours = Array<number>(runs).fill(bytes / 1024 ** 2);
    report({ name: `shipped/${image}/layers`, unit: 'MiB', ours, goal: layers });
  }
}

function bytesIn(dir: string): number {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** Installs the whole product of one side, and measures it after `restMs` at rest. */
async function installed({ say, atEnd }: Stage, side: Side, restMs: number, what: string): Promise<Seen> {
  say(what);
  const starts = watchStarts(side.dir);
  atEnd(() => starts.stop());
  const report = createReport({ write: () => {}, terminal: false });
  const product = await startStage({ report, nodes: 1, manifest: side.manifest, images: side.images ?? {} });
  atEnd(() => product.stop());
  try {
    await new Promise((resolve) => setTimeout(resolve, restMs));
    const all = starts.stop();
    return Object.fromEntries(roles.map((role) => [role, seen(role, all)])) as unknown as Seen;
  } finally {
    starts.stop();
    await product.stop();
  }
}

/** Measures the first process of a role that became ready and still runs; its replicas do the same work. */
function seen(role: Role, all: readonly Started[]): Seen[Role] {
  const one = all.find((started) => started.role === role && started.ready !== null && started.runs());
  if (!one?.ready) throw new Error(`no ${role} that was seen to become ready still runs`);
  return { ...one.ready, rss: residentMiB(one.pid) };
}
