import { readBuildInfo } from '../../../base/build-info.ts';
import { errorText } from '../../../base/errors.ts';
import { parseQuantity } from '../../../base/quantity.ts';
import { coreResources } from '../../../kube/index.ts';
import { readView, readWidest } from '../cluster/read-view.ts';
import { itemsOf } from '../cluster/view.ts';
import type { Register } from '../command.ts';
import { UsageError, PluginError } from '../errors.ts';
import { durationFlag, timeText } from '../query/times.ts';
import type { Session } from '../session.ts';
import { clusterVersions } from '../version/cluster-versions.ts';
import { Bundle, type BundleFile } from './bundle.ts';
import { addCapture } from './collect-capture.ts';
import { addLogs } from './collect-logs.ts';
import { addMetrics, addQueries } from './collect-metrics.ts';
import { addEvents, addObjects, addStatus } from './collect-objects.ts';
import { ownPods } from './own-pods.ts';
import { clusterAddresses } from './redact/addresses.ts';
import { Redactor } from './redact/redactor.ts';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { pack } from 'tar-stream';

interface Flags {
  output?: string;
  since: string;
  maxSize: string;
}

const help = `
It holds the state of the product as status and explain tell it, monitors, policies and minters with their statuses,
Deployments, DaemonSets and pods of the product, nodes (kernel, image, kubelet), events, the newest lines of every
container's log and of the container before, the product's own metrics, and what each node should capture. It holds no
traffic. Monitors and minters are those of all namespaces, or of the one that -n names; the instrument's file of a node,
which is one for all, has what monitors of other namespaces select, too.

Before anything is written these are taken out: tokens, keys, credentials, user parts and queries of URLs, values of
variables that are not ours, and addresses of what is no node, pod or Service of the cluster (outside-1, outside-2, …).
No Secret is read. Look through it all the same before you send it: names of namespaces, workloads and nodes are in it.

What you may not read, and what does not fit into the size, is named in README.md and index.json of the archive.
Exit code: 0 when an archive was written, 1 when none was.

Examples:
  kubectl svc support-bundle                                all there is, of the last day
  kubectl svc support-bundle -n shop --since 2h             monitors of one namespace; logs and events of two hours
  kubectl svc support-bundle -o /tmp/bundle.tar.gz
  tar -xzOf svc-support-*.tar.gz --wildcards '*/README.md'  what is in it, and what is not
`;

/** `kubectl svc support-bundle`: one archive with the data that a maintainer needs. */
export const registerSupportBundle: Register = (command, run) => {
  command
    .description('write an archive with everything that a maintainer asks for, redacted')
    .option('-o, --output <file>', 'where to write it (default: svc-support-TIME.tar.gz in this folder)')
    .option('--since <duration>', 'how far back logs and events go', '24h')
    .option('--max-size <size>', 'most that it may hold before compression: 20Mi, 500Ki', '100Mi')
    .addHelpText('after', help)
    .action(run((session, flags: Flags) => supportBundle(session, flags)));
};

async function supportBundle(session: Session, flags: Flags): Promise<void> {
  const { clock, signal } = session;
  const namespace = session.flags.operatorNamespace;
  const sinceMs = durationFlag(flags.since, '--since');
  const bundle = new Bundle(sizeFlag(flags.maxSize));
  const now = clock.now();
  const name = `svc-support-${timeText(now).replace(/\.\d+/, '').replaceAll(/[-:]/g, '')}`;
  const file = flags.output ?? `${name}.tar.gz`;
  if (flags.output === '') throw new UsageError('--output must name a file');

  const progress = (text: string): void => session.stderr.write(`${text}\n`);
  progress('reading objects');
  const client = await session.kube();
  const view = await readView({
    client,
    namespace,
    objectNamespace: session.flags.namespace,
    atLeast: await session.namespace(),
    now,
    without: ['secrets'],
    signal,
  });
  const services = await readWidest(client, coreResources.services, namespace, signal);
  if (services.fault !== undefined) bundle.lacks('addresses of Services, which are hidden now', services.fault);
  for (const [what, { fault }] of [['nodes', view.nodes] as const, ['pods', view.pods] as const])
    if (fault !== undefined) bundle.lacks(`addresses of ${what}, which are hidden now`, fault);
  const allPods = [...itemsOf(view.pods), ...itemsOf(view.ownPods)];
  const redactor = new Redactor(
    clusterAddresses({ nodes: itemsOf(view.nodes), pods: allPods, services: itemsOf(services) }),
  );

  const pods = ownPods(view);
  /** One strange object must not cost the whole bundle. */
  const part = async (what: string, add: () => void | Promise<void>): Promise<void> => {
    try {
      await add();
    } catch (error) {
      if (signal.aborted) throw error;
      bundle.lacks(`${what}, or part of it`, redactor.text(`it failed: ${errorText(error)}`));
    }
  };
  await part('status', () => addStatus(bundle, view, redactor));
  await part('objects/, cluster/, parts/', () => addObjects(bundle, view, pods, redactor));
  await part('versions.json', () => addVersions(bundle, session, redactor));
  await part('events.yaml', () => addEvents(bundle, client, view, { redactor, since: now - sinceMs, signal }));
  progress('compiling and explaining what is captured');
  await part('explain/, capture/', () => addCapture(bundle, session, view, redactor));
  progress('asking the query server');
  await part('queries/', () => addQueries(bundle, session, redactor));
  progress(`reading metrics of ${pods.length} pods`);
  await part('metrics/', () => addMetrics(bundle, client, pods, { clock, redactor, signal }));
  progress(`reading logs of ${pods.length} pods`);
  const sinceSeconds = Math.ceil(sinceMs / 1000);
  await part('logs/', () => addLogs(bundle, client, pods, { redactor, sinceSeconds, signal }));

  const facts = {
    created: timeText(now),
    plugin: readBuildInfo(session.host.env).version,
    operatorNamespace: namespace,
    namespace: session.flags.namespace ?? '*',
    since: flags.since,
  };
  await writeArchive(bundle.finish(facts, redactor.counts), { file, folder: name, now, signal });
  tellAbsent(session, bundle);
  progress('no secret was read; look through it before you send it');
  session.stdout.write(`${file}\n`);
}

async function addVersions(bundle: Bundle, session: Session, redactor: Redactor): Promise<void> {
  const { parts, faults } = await clusterVersions(session);
  for (const fault of faults) bundle.lacks('versions.json, in part', redactor.text(errorText(fault)));
  const kubernetes = await (await session.kube()).getPath('/version', { signal: session.signal }).catch(errorText);
  const plugin = { ...readBuildInfo(session.host.env), node: process.version, platform: process.platform };
  bundle.addJson('versions.json', 'versions of everything', redactor.value({ plugin, parts, kubernetes }));
}

/** Lists some of the absent data on stderr; the archive has the complete list. */
function tellAbsent(session: Session, { absent }: Bundle): void {
  const shown = 10;
  for (const { what, why } of absent.slice(0, shown)) session.warn(`not in it: ${what}: ${why}`);
  if (absent.length > shown) session.warn(`and ${absent.length - shown} more, which README.md of the archive names`);
}

/** Units: bytes. Errors: UsageError. */
function sizeFlag(text: string): number {
  const bytes = /^\d{1,9}(Ki|Mi|Gi)?$/.test(text) ? parseQuantity(text) : undefined;
  if (!bytes) throw new UsageError(`--max-size ${JSON.stringify(text)} is no size such as 20Mi`);
  return bytes;
}

interface ArchiveOptions {
  readonly file: string;
  /** The top-level folder of the archive. */
  readonly folder: string;
  /** Wall time of every entry, ms since the epoch. */
  readonly now: number;
  readonly signal: AbortSignal;
}

/**
 * Writes files as a gzipped tar that only its owner may read.
 * Errors: PluginError when the file already exists or cannot be written; then no partial file is left.
 */
async function writeArchive(files: readonly BundleFile[], options: ArchiveOptions): Promise<void> {
  const { file, folder, now, signal } = options;
  const tar = pack();
  for (const { path, content } of files) {
    tar.entry({ name: `${folder}/${path}`, mode: 0o600, mtime: new Date(now), size: content.length }, content);
  }
  tar.finalize();
  let began = false;
  try {
    const target = createWriteStream(file, { flags: 'wx', mode: 0o600 }).on('open', () => (began = true));
    await pipeline(tar, createGzip(), target, { signal });
  } catch (cause) {
    if (began) await rm(file, { force: true });
    if (signal.aborted) throw cause;
    const exists = (cause as NodeJS.ErrnoException).code === 'EEXIST';
    const hints = exists ? ['name another file with --output, or move that one away'] : [];
    throw new PluginError('ERR_INPUT_INVALID', `${file}: ${exists ? 'is there already' : errorText(cause)}`, {
      hints,
      cause,
    });
  }
}
