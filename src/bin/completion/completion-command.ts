import { Argument, type Command } from 'commander';
import { shapeOf } from './command-shape.ts';
import { completionScript, shells, type Shell } from './scripts.ts';

/**
 * Adds `completion`, which prints a shell's script. `complete` first adds the options of every command: normally only
 * those of the running command are loaded.
 */
export function addCompletion(program: Command, complete: () => Promise<void>): void {
  const name = program.name();
  program
    .command('completion')
    .description('print a script that completes commands and flags in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      `\nFor this session: source <(${name} completion bash)\nFor fish: ${name} completion fish | source`,
    )
    .action(async (shell: Shell) => {
      await complete();
      process.stdout.write(completionScript(shell, shapeOf(program)));
    });
}
