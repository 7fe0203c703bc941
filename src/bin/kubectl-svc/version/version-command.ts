import { readBuildInfo } from '../../../base/build-info.ts';
import type { Register } from '../command.ts';
import { errorLines, exitCodes } from '../errors.ts';
import { outputOption, printed } from '../output/print.ts';
import { table } from '../output/table.ts';
import type { Session } from '../session.ts';
import { clusterVersions, type PartVersion } from './cluster-versions.ts';

const formats = ['table', 'json', 'yaml'];

interface Flags {
  client: boolean;
  output: string;
}

/** `kubectl svc version`. */
export const registerVersion: Register = (command, run) => {
  command
    .option('--client', "only the plugin's version, without asking the cluster", false)
    .addOption(outputOption('how to show it', formats).default('table'))
    .action(run(version));
};

async function version(session: Session, { client, output }: Flags): Promise<number> {
  const own: PartVersion = { part: 'client', version: readBuildInfo(session.host.env).version, where: 'this machine' };
  const { parts, faults } = client ? { parts: [], faults: [] } : await clusterVersions(session);
  const all = [own, ...parts];
  const columns = [{ title: 'PART' }, { title: 'VERSION' }, { title: 'WHERE' }];
  const rows = all.map(({ part, version, where }) => [part, version, where]);
  session.stdout.write(await printed(output, { versions: all }, () => table(columns, rows)));
  for (const { part, version, where } of parts.filter((one) => one.version !== own.version))
    session.warn(`${part} ${version} (${where}) is not of the plugin's version ${own.version}`);
  for (const fault of faults) session.stderr.write(errorLines(fault));
  return faults.length > 0 ? exitCodes.error : exitCodes.fine;
}
