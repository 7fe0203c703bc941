import { Argument, type Command } from 'commander';
import { shapeOf } from './command-shape.ts';
import { completionScript, shells, type Shell } from './scripts.ts';

/**
 * Adds `completion`, which prints a shell's script. `complete` first adds the options of every command: normally only
 * those of the running command are loaded.
 */
export function addCompletion(program: Command, complete: () => Promise<void>): void {
  const command = program
    .command('completion')
    .description('print a script that completes commands and flags in a shell');
  describeCompletion(command, program.name()).action(async (shell: Shell) => {
    await complete();
    process.stdout.write(completionScript(shell, shapeOf(program)));
  });
}

/** Adds the argument of a `completion` command, and its help after `first`. */
export function describeCompletion(command: Command, name: string, first = ''): Command {
  return command
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      `${first}\nFor this session: source <(${name} completion bash)\nFor fish: ${name} completion fish | source`,
    );
}
