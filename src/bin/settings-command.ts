import { Option, type Command } from 'commander';
import { flagOf, readSettings, variableOf, type SettingTable, type SettingValues } from '../base/settings.ts';
import { readSettingsFile } from './settings-file.ts';

export interface SettingsNames {
  /** Prefix of the environment variables, `SVC_`. */
  prefix: string;
  /** The variable that names a settings file. */
  file: string;
}

/** Names of the settings of every `svc` command. */
export const svcNames: SettingsNames = { prefix: 'SVC_', file: 'SVC_SETTINGS_FILE' };

/** Gives a command one option per row of a settings table, with its default and variable in `--help`. */
export function addSettings(command: Command, table: SettingTable, prefix: string): void {
  for (const [key, row] of Object.entries(table)) {
    const value = row.default === undefined ? 'required' : row.default === '' ? 'unset' : `default ${row.default}`;
    const option = new Option(`${flagOf(key)} <value>`, `${row.help} [${variableOf(key, prefix)}; ${value}]`);
    // For help and completion. Not `choices()`: the table checks the values, and reports all errors together.
    if (row.choices) option.argChoices = [...row.choices];
    command.addOption(option);
  }
}

/** Gives a command the options of a settings table and a settings file, and hands the checked values to `action`. */
export function settingsCommand<T extends SettingTable>(
  command: Command,
  table: T,
  names: SettingsNames,
  action: (settings: SettingValues<T>) => Promise<void>,
): Command {
  addSettings(command, table, names.prefix);
  const help = `YAML file of settings, keys as the flags; flags and variables win over it [${names.file}; unset]`;
  command.addOption(new Option('--settings-file <path>', help));
  // An argument may be a misplaced secret: only the name of a flag is repeated.
  command.configureOutput({ outputError: (text, write) => write(text.replace(/(--?[a-z-]+)=[^']*/, '$1')) });
  return command.action(async () => {
    const { settingsFile, ...flags } = command.opts<Record<string, string>>();
    const path = settingsFile ?? process.env[names.file];
    const file = path ? readSettingsFile(path, table) : undefined;
    await action(readSettings(table, { flags, env: process.env, file, prefix: names.prefix }));
  });
}
