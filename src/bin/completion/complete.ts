import { optionOf, type CommandShape, type OptionShape } from './command-shape.ts';

/** Completions that the tree of commands and flags does not hold, such as names of objects. */
export interface MoreCompletions {
  /** Values of a flag that has no fixed ones; undefined when the shell is to offer files. */
  readonly valuesOf: (flag: string) => Promise<readonly string[]> | undefined;
  /** Arguments of a command, where `operands` were typed before `word`. */
  readonly argumentsOf: (command: string, word: string, operands: readonly string[]) => Promise<readonly string[]>;
}

/** Instructions to the shell in addition to the completions. Source: cobra's `ShellCompDirective`. */
const directives = { files: 0, noFiles: 4 } as const;
const files = `:${directives.files}\n`;

/**
 * The completions of the last word, which may be incomplete. `words` are those after the program's name. Returns one
 * completion per line, its description after a tab, and a directive at the end, as cobra's `__complete` does.
 */
export async function complete(root: CommandShape, words: readonly string[], more?: MoreCompletions): Promise<string> {
  const word = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const { command, operands } = walk(root, before);
  const value = flagOfValue(command, before.at(-1), word);
  if (value) {
    const { option, text } = value;
    if (option.choices.length > 0) return answer(option.choices, text);
    const values = more?.valuesOf(option.flag);
    return values ? answer(await values, text) : files;
  }
  if (word.startsWith('-')) return answer(command.options.map(described), word);
  if (command.commands.length > 0) return answer(command.commands.map(described), word);
  const fixed = operands.length === 0 ? command.values : [];
  if (more) return answer([...fixed, ...(await more.argumentsOf(command.name, word, operands))], word);
  return fixed.length > 0 ? answer(fixed, word) : files;
}

/** The command that the words lead to, and its arguments so far. */
function walk(root: CommandShape, words: readonly string[]): { command: CommandShape; operands: string[] } {
  let command = root;
  const operands: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word.startsWith('-')) {
      if (optionOf(command, word)?.takesValue) i++;
      continue;
    }
    const next = command.commands.find(({ name }) => name === word);
    if (next) command = next;
    else operands.push(word);
  }
  return { command, operands };
}

/** The flag whose value is being typed, as the next word or after its `=`. */
function flagOfValue(
  command: CommandShape,
  previous: string | undefined,
  word: string,
): { option: OptionShape; text: string } | undefined {
  const [flag, text] = /^(--[^=]+)=(.*)$/s.exec(word)?.slice(1) ?? [previous, word];
  const option = flag === undefined ? undefined : optionOf(command, flag);
  return option?.takesValue ? { option, text: text ?? '' } : undefined;
}

interface Described {
  readonly word: string;
  readonly description: string;
}

const described = (one: CommandShape | OptionShape): Described => ({
  word: 'flag' in one ? one.flag : one.name,
  description: one.description,
});

function answer(words: readonly (string | Described)[], prefix: string): string {
  const lines = words
    .map((one) => (typeof one === 'string' ? { word: one, description: '' } : one))
    .filter(({ word }) => word.startsWith(prefix))
    .map(({ word, description }) => (description === '' ? word : `${word}\t${description}`));
  return [...lines, `:${directives.noFiles}`, ''].join('\n');
}
