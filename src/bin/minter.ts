#!/usr/bin/env node
import { Command, Option } from 'commander';
import { readBuildInfo, versionText } from '../base/build-info.ts';
import { systemClock } from '../base/clock.ts';
import { addCompletion, printCompletions } from './completion/completion-command.ts';
import { completeWord } from './completion/scripts.ts';
import { endProcess } from './end-process.ts';
import { readSecret } from './read-secret.ts';
import { endAtSigterm, runMain } from './main.ts';
import { settingsCommand, type SettingsNames } from './settings-command.ts';
import type { ImportOptions, ToolIo, ValidateRulesOptions } from '../minter/index.ts';

endAtSigterm();

// Older installations write flags with one dash (`-key-ring x`): the second one is added.
const argv = process.argv.map((arg, i) => (i > 1 && /^-[a-z][a-z-]+(=|$)/.test(arg) ? `-${arg}` : arg));
const names: SettingsNames = { prefix: '', file: 'MINTER_SETTINGS_FILE' };

const program = new Command('minter')
  .description('mints 1-hour, repository-scoped tokens from a key that never leaves the key service')
  .version(versionText(readBuildInfo(process.env)));

const run = program
  .command('server')
  .description('the HTTP service')
  .command('run', { isDefault: true })
  .description('serve POST /token and GET /version until SIGTERM');

const tools = program.command('tools').description('what an installer needs');

tools
  .command('import-pk')
  .description("bring the App's private key (PEM, PKCS#1 or PKCS#8) into the key service, wrapped on this machine")
  .requiredOption('--project-id <id>', 'cloud project')
  .option('--location <name>', 'location of the key ring', 'global')
  .requiredOption('--key-ring <name>', 'key ring; made if absent')
  .requiredOption('--key <name>', 'key; made import-only if absent')
  .option('--import-job-prefix <prefix>', 'prefix of the import job', 'app-signing-key')
  .option('--private-key <source>', '@FILE, - for standard input; asked for without echo where absent')
  .option('--force', 'import although a version is enabled already: a rotation', false)
  .addOption(new Option('--skip-if-enabled', 'the default; kept for older scripts').hideHelp())
  .option('--dry-run', 'look and say, change nothing', false)
  .action(async (options: Omit<ImportOptions, 'privateKey'> & { privateKey?: string }) => {
    const { createKmsClient, importPrivateKey, loopbackEndpoint } = await import('../minter/index.ts');
    const endpoint = process.env['KMS_API_ENDPOINT'];
    const client = createKmsClient(endpoint ? loopbackEndpoint(endpoint) : undefined);
    const privateKey = await readSecret(options.privateKey, 'private key (PEM), end with Ctrl-D: ');
    const result = await importPrivateKey(
      { ...options, privateKey },
      { client, clock: systemClock, progress: (line) => console.error(line) },
    );
    await client.close();
    if (result.version) console.log(result.version);
    if (result.outcome === 'imported')
      console.error(`set KMS_KEY_VERSION (spec.kms.keyVersion) to this version and apply`);
  });

tools
  .command('validate-rules')
  .description('check rule files as the server would load them, and explain what they decide about a caller')
  .argument('<directory>', 'the rule files: <repository>.yaml, or .yaml for every other')
  .option('--allow-wildcard', "accept repositories: ['*']", false)
  .option('--token <file>', 'claims of a caller (JSON); then the decision for the request is explained')
  .option('--org <name>', 'the request: organisation', '')
  .option('--repo <name...>', 'the request: repository, may be given several times', [])
  .option('--scope <name>', 'the request: scope', '')
  .option('--issuer <url>', 'value of issuers.google', 'https://accounts.google.com')
  .addHelpText('after', '\nExit code: 0 without a fault (and the request is admitted), 1 otherwise.')
  .action(async (directory: string, options: ValidateRulesOptions) => {
    const { validateRules } = await import('../minter/index.ts');
    await endProcess(await validateRules(directory, options, toolIo()));
  });

const check = tools
  .command('check')
  .alias('verify-app')
  .description('sign once, ask the platform who we are, and list the installation and missing permissions');

addCompletion(program);

const asksCompletions = argv[2] === completeWord;
await register(asksCompletions);
if (asksCompletions) await printCompletions(program, argv.slice(3));
else
  program.parseAsync(argv).catch((error: unknown) => {
    console.error(`minter: ${error instanceof Error ? error.message : String(error)}`);
    return endProcess(1);
  });

/** Adds the settings to the two commands that have some. Their table is loaded only for these commands. */
async function register(all: boolean): Promise<void> {
  if (all || argv[2] === 'server') {
    const { minterSettingTable } = await import('../minter/setting-table.ts');
    settingsCommand(run, minterSettingTable, names, async (values) => {
      await runMain(values.logLevel, async (context) => {
        const { minterSettings, runMinterServer } = await import('../minter/index.ts');
        await runMinterServer(minterSettings(values), context);
      });
    });
  }
  if (all || argv[3] === 'check' || argv[3] === 'verify-app') {
    const { checkSettingTable } = await import('../minter/setting-table.ts');
    settingsCommand(check, checkSettingTable, names, async (values) => {
      const { checkApp } = await import('../minter/index.ts');
      await endProcess(await checkApp(values, toolIo()));
    });
  }
}

function toolIo(): ToolIo {
  const text = (stream: NodeJS.WriteStream) => (line: string) => void stream.write(line);
  return { env: process.env, stdout: text(process.stdout), stderr: text(process.stderr), clock: systemClock };
}
