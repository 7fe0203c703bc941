#!/usr/bin/env node
import { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { readSecret } from './read-secret.ts';
import { runMain } from './main.ts';

const program = new Command('minter').description(
  'mints 1-hour, repository-scoped tokens from a key that never leaves the key service',
);

program
  .command('server')
  .description('the HTTP service')
  .command('run', { isDefault: true })
  .description('serve POST /token and GET /version until SIGTERM')
  .allowUnknownOption()
  .allowExcessArguments()
  .helpOption(false)
  .action(async (_options, command: Command) => {
    const { minterSettings, settingsHelp, runMinterServer } = await import('../minter/index.ts');
    if (command.args.includes('--help') || command.args.includes('-h')) {
      console.log(
        `Usage: minter server run [flags]\n\nEvery flag is also an environment variable.\n\n${settingsHelp()}`,
      );
      return;
    }
    await runMain('info', async (context) => runMinterServer(minterSettings(command.args, process.env), context));
  });

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
  .option('--skip-if-enabled', 'do nothing where a version is enabled already', false)
  .option('--dry-run', 'look and say, change nothing', false)
  .action(async (options: ImportFlags) => {
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

for (const [name, description] of [
  ['validate-rules', 'check rule files, and explain what they decide about a caller'],
  ['verify-app', 'sign, ask the platform who we are, and list the installation and missing permissions'],
] as const) {
  tools
    .command(name)
    .description(description)
    .allowUnknownOption()
    .allowExcessArguments()
    .helpOption(false)
    .action(async (_options, command: Command) => {
      const { settingsHelp, validateRulesCommand, validateRulesHelp, verifyAppCommand } =
        await import('../minter/index.ts');
      if (command.args.includes('--help') || command.args.includes('-h')) {
        console.log(
          name === 'validate-rules'
            ? validateRulesHelp
            : `${description}\n\nFlags, as of server run:\n${settingsHelp()}`,
        );
        return;
      }
      const run = name === 'validate-rules' ? validateRulesCommand : verifyAppCommand;
      const { env, stdout, stderr } = process;
      const text = (stream: NodeJS.WriteStream) => (line: string) => void stream.write(line);
      process.exit(await run(command.args, { env, stdout: text(stdout), stderr: text(stderr), clock: systemClock }));
    });
}

interface ImportFlags {
  projectId: string;
  location: string;
  keyRing: string;
  key: string;
  importJobPrefix: string;
  privateKey?: string;
  skipIfEnabled: boolean;
  dryRun: boolean;
}

// Flags of older installations carry one dash (`-key-ring x`).
const argv = process.argv.map((arg, i) => (i > 1 && /^-[a-z][a-z-]+(=|$)/.test(arg) ? `-${arg}` : arg));
program.parseAsync(argv).catch((error: unknown) => {
  console.error(`minter: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});
