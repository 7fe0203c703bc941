#!/usr/bin/env node
import { join } from 'node:path';
import { Command } from 'commander';
import { readBuildInfo, versionText } from '../base/build-info.ts';
import { collectEarly, preferMemoryToSpeed } from '../runtime/memory.ts';
import { addCompletion, printCompletions } from './completion/completion-command.ts';
import { completeWord } from './completion/scripts.ts';
import { compileCache } from './compile-cache.ts';
import { endProcess } from './end-process.ts';
import { endAtSigterm, runMain } from './main.ts';
import { settingsCommand, svcNames } from './settings-command.ts';

endAtSigterm();

/** Each subcommand loads its own modules on demand: an agent should not load the libraries of the operator. */
const program = new Command('svc')
  .enablePositionalOptions()
  .description('traffic capture and cluster-wide PromQL for Kubernetes, without a central store')
  .version(versionText(readBuildInfo(process.env)));

program
  .command('operator')
  .description('reconcile the custom resources, render everything, push capture configs to the agents');
program.command('agent').description("hold one node's data: OTLP in, scrape, remote read and span stream out");
program.command('query').description('answer PromQL over all agents');
program.command('install').description('install or upgrade the operator in a cluster; shows what changes');
program.command('uninstall').description('remove everything that an installation made');

addCompletion(program);

const [first, ...words] = process.argv.slice(2);
await register(first === completeWord ? words[0] : first);
if (first === completeWord) await printCompletions(program, words);
else
  program.parseAsync().catch((error: unknown) => {
    console.error(`svc: ${error instanceof Error ? error.message : String(error)}`);
    return endProcess(1);
  });

/** Adds the flags of the one subcommand that runs; its implementation is loaded after its settings are valid. */
async function register(name: string | undefined): Promise<void> {
  const command = program.commands.find((c) => c.name() === name);
  if (!command) return;
  if (name === 'operator') {
    preferMemoryToSpeed();
    const { operatorSettingTable } = await import('../controllers/operator-settings.ts');
    settingsCommand(command, operatorSettingTable, svcNames, async (settings) => {
      const { runOperator } = await import('../controllers/index.ts');
      await runMain(settings.logLevel, (context) => runOperator(settings, context));
    });
  } else if (name === 'query') {
    const { querySettingTable } = await import('../query/settings.ts');
    settingsCommand(command, querySettingTable, svcNames, async (settings) => {
      const { runQuery } = await import('../query/index.ts');
      await runMain(settings.logLevel, (context) => runQuery(settings, context));
    });
  } else if (name === 'agent') {
    const { agentSettingTable, initConfigSettingTable } = await import('../agent/settings.ts');
    command.enablePositionalOptions();
    settingsCommand(command, agentSettingTable, svcNames, async (settings) => {
      collectEarly();
      const compiled = compileCache(join(settings.dataDir, 'compiled'), readBuildInfo(process.env));
      const { runAgent } = await import('../agent/index.ts');
      await runMain(settings.logLevel, (context) =>
        runAgent(settings, { ...context, onReady: () => compiled.keep(context.clock) }),
      );
    });
    const init = command
      .command('init-config')
      .description('write the instrument file before the first start, then exit');
    settingsCommand(init, initConfigSettingTable, svcNames, async (settings) => {
      const { initConfig } = await import('../agent/init-config.ts');
      await runMain(settings.logLevel, (context) => initConfig(settings, context));
    });
    const { removeData, removeDataSettingTable } = await import('../agent/remove-data.ts');
    const remove = command.command('remove-data').description('empty the folder of the store: part of an uninstall');
    settingsCommand(remove, removeDataSettingTable, svcNames, async (settings) => {
      await runMain(settings.logLevel, (context) => removeData(settings, context));
    });
  } else if (name === 'install') {
    const { installCommand } = await import('./install/install-command.ts');
    installCommand(command);
  } else if (name === 'uninstall') {
    const { uninstallCommand } = await import('./install/uninstall-command.ts');
    uninstallCommand(command);
  }
}
