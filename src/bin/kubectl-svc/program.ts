import { Command, CommanderError, Help } from 'commander';
import { readBuildInfo, versionText } from '../../base/build-info.ts';
import { commands as allCommands } from './commands.ts';
import type { PluginCommand, Run } from './command.ts';
import { ClosedOutputError, errorLines, exitCodes, UsageError } from './errors.ts';
import { addCommonFlags, commonFlags } from './flags.ts';
import type { Host } from './host.ts';
import { Session } from './session.ts';

/**
 * Runs the plugin with the arguments after its name.
 * Resolves with the exit code: 0 success, 1 error, 2 wrong usage, 130 interrupted, 141 when the reader of stdout left
 * before the end; errors go to stderr.
 */
export async function runPlugin(
  args: readonly string[],
  host: Host,
  commands: readonly PluginCommand[] = allCommands,
): Promise<number> {
  let code: number = exitCodes.fine;
  const program = createProgram(host, commands);
  const called = calledCommand(args, host, commands);
  try {
    if (called) await register(program, called, args, host, (result) => (code = result));
    if (args.length === 0) program.help();
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? exitCodes.fine : (called?.errorCode ?? exitCodes.usage);
    if (host.signal.aborted)
      return host.signal.reason instanceof ClosedOutputError ? exitCodes.unread : exitCodes.interrupted;
    host.stderr.write(errorLines(error));
    return called?.errorCode ?? (error instanceof UsageError ? exitCodes.usage : exitCodes.error);
  }
}

/** The program with the flags of the command that the arguments name. */
export async function programFor(
  args: readonly string[],
  host: Host,
  commands: readonly PluginCommand[] = allCommands,
): Promise<Command> {
  const program = createProgram(host, commands);
  const called = calledCommand(args, host, commands);
  if (called) await register(program, called, args, host, () => {});
  return program;
}

/** A program with the names of the commands and the common flags. No command is loaded. */
function createProgram(host: Host, commands: readonly PluginCommand[]): Command {
  const program = new Command('kubectl svc')
    .description('traffic of every workload, asked of all nodes: see docs/guides/kubectl-svc.md')
    .version(versionText(readBuildInfo(host.env)))
    .exitOverride()
    .configureHelp({
      showGlobalOptions: true,
      formatHelp: (command, help) => commandsFirst(Help.prototype.formatHelp.call(help, command, help)),
    })
    .configureOutput({
      writeOut: (text) => host.stdout.write(text),
      writeErr: (text) => host.stderr.write(text),
      getOutHelpWidth: () => host.stdout.columns,
      getErrHelpWidth: () => host.stderr.columns,
    })
    .showHelpAfterError('see --help');
  addCommonFlags(program);
  for (const { name, summary } of commands) program.command(name).description(summary);
  return program;
}

/** In the help, the list of commands comes right after usage and description, before all flags. Pure. */
function commandsFirst(help: string): string {
  const sections = help.trimEnd().split('\n\n');
  const at = sections.findIndex((section) => section.startsWith('Commands:'));
  if (at < 0) return help;
  const [commands] = sections.splice(at, 1);
  return `${[...sections.slice(0, 2), commands, ...sections.slice(2)].join('\n\n')}\n`;
}

/** The command that the arguments name. Its flags have to be added before the arguments are parsed. */
function calledCommand(
  args: readonly string[],
  host: Host,
  commands: readonly PluginCommand[],
): PluginCommand | undefined {
  const nowhere = { write: () => {} };
  const silent: Host = { ...host, stdout: { ...host.stdout, ...nowhere }, stderr: { ...host.stderr, ...nowhere } };
  try {
    const [name, argument] = createProgram(silent, []).parseOptions([...args]).operands;
    return commands.find((command) => command.name === (name === 'help' ? argument : name));
  } catch {
    // A flag without its value: the command's parser reports it.
    return undefined;
  }
}

/** Adds a command's flags and action. */
async function register(
  program: Command,
  { name, load }: PluginCommand,
  words: readonly string[],
  host: Host,
  result: (code: number) => void,
): Promise<void> {
  const run: Run =
    (work) =>
    async (...args) => {
      const session = new Session(commonFlags(program.opts()), host, words);
      try {
        result((await work(session, ...args)) ?? exitCodes.fine);
      } finally {
        await session.close();
      }
    };
  const command = program.commands.find((c) => c.name() === name)!;
  (await load())(command, run);
}
