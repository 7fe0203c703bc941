import type { Command } from 'commander';

/** A command as a shell's completion needs it. */
export interface CommandShape {
  name: string;
  /** Its help text, on one line. */
  description: string;
  options: OptionShape[];
  commands: CommandShape[];
  /** The values of its first argument, if only certain values are possible; else empty. */
  values: readonly string[];
}

export interface OptionShape {
  /** With its dashes: `--log-level`. */
  flag: string;
  /** With its dash: `-n`; undefined when it has none. */
  short?: string;
  description: string;
  takesValue: boolean;
  /** The values that it accepts, if it accepts only certain values; else empty. */
  choices: readonly string[];
}

/** The shape of a command and of everything below it; hidden options stay hidden. */
export function shapeOf(command: Command): CommandShape {
  const help = command.createHelp();
  return {
    name: command.name(),
    description: oneLine(command.description()),
    // Global options belong to the commands that show them in their help.
    options: [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].flatMap((option) => {
      const { long, short, required, optional, argChoices } = option;
      if (!long) return [];
      const takesValue = required || optional;
      return [
        {
          flag: long,
          ...(short ? { short } : {}),
          description: oneLine(option.description),
          takesValue,
          choices: (argChoices ?? []).filter((c) => c !== ''),
        },
      ];
    }),
    commands: help
      .visibleCommands(command)
      .filter((child) => child.name() !== 'help')
      .map(shapeOf),
    values: command.registeredArguments[0]?.argChoices ?? [],
  };
}

/** The option of a command that a word names. */
export function optionOf(command: CommandShape, word: string): OptionShape | undefined {
  return command.options.find(({ flag, short }) => flag === word || (short !== undefined && short === word));
}

/** The text without the variable and default in brackets at its end: a completion has one short line. */
function oneLine(text: string): string {
  return text.replace(/ \[[^\]]*\]$/, '').replace(/\s+/g, ' ');
}
