import { Argument, type Command } from 'commander';
import { shapeOf } from './command-shape.ts';
import { complete } from './complete.ts';
import { completionScript, shells, type Shell } from './scripts.ts';

/** Adds the command `completion`, which prints the script that completes words in a shell. */
export function addCompletion(program: Command): void {
  const name = program.name();
  const command = program.command('completion');
  command.description('print a script that completes commands and flags in a shell');
  describeCompletion(command, name).action((shell: Shell) => void process.stdout.write(completionScript(shell, name)));
}

/** Prints the completions of the words that were typed after the program's name, for the shell's script. */
export async function printCompletions(program: Command, words: readonly string[]): Promise<void> {
  process.stdout.write(await complete(shapeOf(program), words));
}

/** Adds the argument of a `completion` command, and a help text that begins with `first`. */
export function describeCompletion(command: Command, name: string, first = ''): Command {
  return command
    .addArgument(new Argument('<shell>', 'the shell').choices(shells))
    .addHelpText(
      'after',
      `${first}\nFor this session: source <(${name} completion bash)\nFor fish: ${name} completion fish | source`,
    );
}
