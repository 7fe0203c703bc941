import type { Command } from 'commander';
import { stringify } from 'yaml';
import type { KubeObject } from '../../api/meta.ts';
import { systemClock } from '../../base/clock.ts';
import { parseDuration } from '../../base/duration.ts';
import { readSettings } from '../../base/settings.ts';
import { renderInstallation, type MinterInstallation } from '../../render/index.ts';
import { addSettings } from '../settings-command.ts';
import { applyInstallation, planInstallation, toApply, type ObjectChange } from './installer.ts';
import { clusterOptions, onCluster, outliveReaders, say, type ClusterFlags } from './on-cluster.ts';
import { importedKeyVersion, type ImportRequest } from './private-key.ts';
import { nameOfObject } from './resources.ts';
import { untilRolledOut } from './rollout.ts';
import {
  asksForMinter,
  installationInput,
  installSettingTable,
  minterOf,
  minterSettingTable,
  runSettingTable,
  withLegacyNames,
  type MinterSettings,
} from './settings.ts';

const enforcedLevel = 'pod-security.kubernetes.io/enforce';

interface RunFlags extends ClusterFlags {
  wait: boolean;
  timeout: string;
  forceConflicts: boolean;
  diff: boolean;
}

/**
 * `svc install`: shows what changes, applies it and, with `--wait`, waits until the installation runs.
 * Progress goes to stderr; stdout has the diff, or with `--dry-run=client` the manifest.
 */
export function installCommand(command: Command): Command {
  clusterOptions(command);
  command
    .option('--wait', 'wait until operator, agents and query servers run', false)
    .option('--timeout <duration>', 'how long --wait may take', '5m')
    .option('--force-conflicts', 'take over fields that others own', false)
    .option('--no-diff', 'say only which objects change');
  addSettings(command.optionsGroup('How:'), runSettingTable, 'SVC_INSTALL_');
  addSettings(command.optionsGroup('The operator:'), installSettingTable, 'SVC_');
  addSettings(command.optionsGroup('A minter (with an organization):'), minterSettingTable, '');
  return command.action(async () => install(command.opts()));
}

async function install(options: RunFlags & Record<string, unknown>): Promise<void> {
  outliveReaders();
  const { env, warnings } = withLegacyNames(process.env);
  for (const warning of warnings) say(`warning: ${warning}`);
  const flags = options as unknown as Record<string, string | undefined>;
  const { dryRun } = readSettings(runSettingTable, { flags, env, prefix: 'SVC_INSTALL_' });
  const settings = readSettings(installSettingTable, { flags, env, prefix: 'SVC_' });
  const minterSettings = readSettings(minterSettingTable, { flags, env, prefix: '' });

  const withMinter = asksForMinter(minterSettings);
  const timeoutMs = parseDuration(options.timeout, '--timeout');
  const rendered = async (mode: ImportRequest['dryRun'], progress = say): Promise<KubeObject[]> => {
    const wanted = withMinter ? await minter(minterSettings, mode, { env, progress }) : undefined;
    return renderInstallation(installationInput(settings, wanted));
  };
  if (dryRun === 'client') {
    const manifest = await rendered('client');
    process.stdout.write(
      manifest.map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false })).join('---\n'),
    );
    return;
  }
  const { namespace } = settings;
  await onCluster(options, { userAgent: 'svc-install', namespace }, async (deps) => {
    const planned = async (mode: ImportRequest['dryRun'], progress = say): Promise<ObjectChange[]> =>
      planInstallation(await rendered(mode, progress), deps, { namespace, force: options.forceConflicts });
    // The import of a key cannot be undone, so the API server is asked before whether it takes the installation, with
    // the version that signs already, if there is one.
    if (withMinter && minterSettings.vcsPemPath !== '' && dryRun === 'none') await planned('server', () => {});
    const changes = await planned(dryRun);
    for (const change of changes) print(change, options.diff, dryRun === 'server');
    say(summary(changes, dryRun === 'server'));
    for (const { object, live } of changes) if (live) say(leftAlone(object, live));
    if (dryRun === 'server') return;
    const open = toApply(changes);
    let done = 0;
    await applyInstallation(open, deps, {
      force: options.forceConflicts,
      onDone: (object) => say(`[${++done}/${open.length}] ${nameOfObject(object)} applied`),
    });
    if (withMinter && minterSettings.vcsPemPath === '')
      say('the minter becomes ready once the App key is imported: minter tools import-pk --help');
    if (options.wait) await untilRolledOut(namespace, timeoutMs, deps, say);
    say(`installed; next: kubectl -n ${namespace} get pods -o wide`);
  });
}

/** The minter that the settings ask for, after the import of the App's private key, if they name one. */
async function minter(
  settings: MinterSettings,
  dryRun: ImportRequest['dryRun'],
  deps: Pick<Parameters<typeof importedKeyVersion>[1], 'env' | 'progress'>,
): Promise<MinterInstallation> {
  const { vcsPemPath: pemPath, kmsKeyVersion: key } = settings;
  if (pemPath === '') return minterOf(settings, key);
  return minterOf(settings, await importedKeyVersion({ pemPath, key, dryRun }, { clock: systemClock, ...deps }));
}

function print({ object, change, diff }: ObjectChange, withDiff: boolean, dryRun: boolean): void {
  if (change === 'unchanged' || change === 'foreign') return;
  process.stdout.write(`${nameOfObject(object)} ${change}${dryRun ? ' (server dry run)' : ''}\n`);
  // A CRD has thousands of lines; for a new one the line above is enough.
  const lines = object.kind === 'CustomResourceDefinition' && change === 'created' ? [] : diff;
  if (withDiff) for (const line of lines) process.stdout.write(`${line}\n`);
}

/** What is said of a namespace that others made, with the label that agents need there, if it lacks it. */
function leftAlone(namespace: KubeObject, live: KubeObject): string {
  const stays = `${nameOfObject(namespace)} stays as it is: others made it`;
  const level = namespace.metadata.labels?.[enforcedLevel];
  if (level === undefined || live.metadata.labels?.[enforcedLevel] === level) return stays;
  const command = `kubectl label namespace ${namespace.metadata.name} ${enforcedLevel}=${level} --overwrite`;
  return `${stays}. Agents need it to admit privileged pods: ${command}`;
}

function summary(changes: readonly ObjectChange[], dryRun: boolean): string {
  const count = (wanted: ObjectChange['change']) => changes.filter(({ change }) => change === wanted).length;
  const verb = dryRun ? 'would be ' : '';
  return `${count('created')} ${verb}created, ${count('configured')} ${verb}configured, ${count('unchanged')} unchanged`;
}
