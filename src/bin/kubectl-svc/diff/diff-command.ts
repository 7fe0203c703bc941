import type { CompileInput } from '../../../capture/index.ts';
import { compileInput } from '../cluster/compile-input.ts';
import { operatorEnvironment } from '../cluster/operator-environment.ts';
import { readView } from '../cluster/read-view.ts';
import { unreadError } from '../cluster/view.ts';
import type { Register } from '../command.ts';
import { PluginError, UsageError } from '../errors.ts';
import { outputOption, printed } from '../output/print.ts';
import type { Session } from '../session.ts';
import { askServer } from './ask-server.ts';
import { faultText, isOurs, readDocuments, refOf, type Documents, type Fault } from './documents.ts';
import { objectFaults } from './judge.ts';
import { diffPlan, differs, worldAfter } from './plan.ts';
import { kustomized, readSources } from './read-sources.ts';
import { planText } from './render.ts';

const formats = ['diff', 'json', 'yaml'];

interface DiffFlags {
  filename: string[];
  kustomize?: string;
  recursive: boolean;
  delete: boolean;
  output: string;
}

const help = `
Compares what the operator compiles for each node, now and after the change: the instrument's file and the agent's own
rules. All resources of the cluster count. Nodes with the same changes are shown together. Nothing is written.
Exit code: 0 nothing differs, 1 something does, 2 an error or a file that is refused.

Examples:
  kubectl svc diff -f monitor.yaml                 what applying one file would change on the nodes
  kubectl svc diff -f policies/ -R                 the same for all files of a folder and its subfolders
  kubectl svc diff -k overlays/prod                the same for what kubectl kustomize builds
  kubectl svc diff -f monitor.yaml --delete        what deleting these objects would change
  helm template … | kubectl svc diff -f -          objects of other kinds are left out
`;

export const registerDiff: Register = (command, run) => {
  command
    .description('show what applying TrafficMonitors and ClusterTrafficPolicies would change on the nodes')
    .option('-f, --filename <path>', 'file, folder, or - for the standard input; may be repeated', collect, [])
    .option('-k, --kustomize <folder>', 'a folder with a kustomization')
    .option('-R, --recursive', 'look into the folders below as well', false)
    .option('--delete', 'show what deleting the objects would change', false)
    .addOption(outputOption('how to print', formats).default('diff'))
    .addHelpText('after', help)
    .action(run((session, flags: DiffFlags) => diff(session, flags)));
};

function collect(value: string, before: string[]): string[] {
  return [...before, value];
}

async function diff(session: Session, flags: DiffFlags): Promise<number> {
  if (flags.filename.length === 0 && flags.kustomize === undefined)
    throw new UsageError('name files with -f, or a folder with -k');
  const documents = await read(session, flags);
  if (documents.others > 0) session.warn(`${documents.others} objects of other kinds are left out`);
  const { input, client } = await world(session);
  refuse([...documents.faults, ...documents.objects.flatMap((o) => (isOurs(o.object) ? objectFaults(o, input) : []))]);
  const wanted = documents.objects.map(({ object }) => object);
  if (!wanted.some(isOurs))
    throw new PluginError('ERR_INPUT_INVALID', 'there is no TrafficMonitor and no ClusterTrafficPolicy in these files');
  const options = { delete: flags.delete, now: session.clock.now() };
  if (!flags.delete) await ask(session, client, documents, input, options);
  const plan = diffPlan(input, wanted, options);
  for (const warning of plan.warnings) session.warn(warning);
  session.stdout.write(await printed(flags.output, plan, () => planText(plan, session.style)));
  return differs(plan) ? 1 : 0;
}

async function read(session: Session, flags: DiffFlags): Promise<Documents> {
  const sources = await readSources(flags.filename, {
    recursive: flags.recursive,
    stdin: (maxBytes) => session.readStdin(maxBytes, 'write it to a file, and name that with -f'),
  });
  if (flags.kustomize !== undefined) sources.push(await kustomized(flags.kustomize, session.signal));
  const namespace = session.flags.namespace ?? (await session.namespace()) ?? 'default';
  return readDocuments(sources, namespace);
}

/**
 * Reads the objects and settings from which the operator compiles the config of each node. Warns if the settings are
 * not known, and takes those of a new installation.
 * Errors: PluginError when a list of objects cannot be read, because the difference would then be a guess.
 */
async function world(session: Session): Promise<{ input: CompileInput; client: Awaited<ReturnType<Session['kube']>> }> {
  const client = await session.kube();
  const view = await readView({
    client,
    namespace: session.flags.operatorNamespace,
    now: session.clock.now(),
    without: ['crds', 'minters', 'daemonSets', 'leases', 'secrets', 'apiServices', 'events', 'operatorEvents'],
    signal: session.signal,
  });
  for (const list of [view.monitors, view.policies, view.namespaces, view.nodes, view.pods]) {
    if (list.fault === undefined) continue;
    throw unreadError(list, `an input of the compile cannot be read: ${list.fault}`, [
      'needed: list of trafficmonitors, clustertrafficpolicies, namespaces, nodes and pods of all namespaces',
    ]);
  }
  const { environment, assumed } = operatorEnvironment(view);
  if (assumed !== null)
    session.warn(`the operator's settings are not known (${assumed}); those of a new installation stand for them`);
  return { input: compileInput(view, environment), client };
}

async function ask(
  session: Session,
  client: Awaited<ReturnType<Session['kube']>>,
  { objects }: Documents,
  input: CompileInput,
  options: { delete: boolean; now: number },
): Promise<void> {
  const ours = objects.filter(({ object }) => isOurs(object));
  const present = new Set([...input.monitors, ...input.policies].map(refOf));
  const { stored } = worldAfter(
    input,
    ours.map(({ object }) => object),
    options,
  );
  const asked = ours.map((source, i) => ({ source, stored: stored[i]!, exists: present.has(refOf(source.object)) }));
  const { faults, unasked } = await askServer(client, asked, session.signal);
  refuse(faults);
  for (const text of unasked) session.warn(`the API server could not be asked whether it takes ${text}`);
}

/** Throws a PluginError with all faults, one per line, if there are any. */
function refuse(faults: readonly Fault[]): void {
  const [first, ...more] = faults.map(faultText);
  if (first !== undefined) throw new PluginError('ERR_INPUT_INVALID', first, { hints: more });
}
