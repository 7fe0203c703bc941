import { Option, type Command } from 'commander';
import { flagOf, readSettings, variableOf, type SettingTable, type SettingValues } from '../base/settings.ts';

/**
 * Gives a command one option per row of a settings table, with its default and variable in `--help`,
 * and hands the checked values to `action`.
 */
export function settingsCommand<T extends SettingTable>(
  command: Command,
  table: T,
  prefix: string,
  action: (settings: SettingValues<T>) => Promise<void>,
): Command {
  for (const [key, row] of Object.entries(table)) {
    const value = row.default === undefined ? 'required' : row.default === '' ? 'unset' : `default ${row.default}`;
    command.addOption(new Option(`${flagOf(key)} <value>`, `${row.help} [${variableOf(key, prefix)}; ${value}]`));
  }
  return command.action(async () => {
    await action(readSettings(table, { flags: command.opts<Record<string, string>>(), env: process.env, prefix }));
  });
}
