import { paths, type CommandShape, type OptionShape } from './command-shape.ts';

/** The shells that `completion` writes a script for. */
export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/**
 * A script that completes commands, flags and the values of flags with a fixed set. It calls no program on a key press:
 * it contains all words, so it has to be generated anew for each version. Pure.
 */
export function completionScript(shell: Shell, root: CommandShape): string {
  return { bash, zsh, fish }[shell](root);
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
const flags = (options: readonly OptionShape[]): string => options.map((o) => o.flag).join(' ');

/** The patterns by which the script descends into subcommands while it walks over the words typed so far. */
function steps(root: CommandShape): string {
  const below = paths(root).filter(({ path }) => path.length > 1);
  return below.map(({ path }) => quoted(path.join(' '))).join(' | ');
}

function bash(root: CommandShape): string {
  const { name } = root;
  const choices = choicesOf(root).map(
    ([where, values]) => `    ${where}) COMPREPLY=($(compgen -W ${quoted(values)} -- "$word")); return ;;`,
  );
  const cases = paths(root).map(
    ({ path, command }) =>
      `    ${quoted(path.join(' '))}) commands=${quoted(
        wordsOf(command)
          .map((w) => w.word)
          .join(' '),
      )}; options=${quoted(flags(command.options))} ;;`,
  );
  return `# bash completion of ${name}: source <(${name} completion bash)
_${name}() {
  local word=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} at=${name} i commands options
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${steps(root)}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at $previous" in
${choices.join('\n')}
  esac
  case $at in
${cases.join('\n')}
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  elif [[ $previous != --* && -n $commands ]]; then
    COMPREPLY=($(compgen -W "$commands" -- "$word"))
  fi
}
complete -o default -F _${name} ${name}
`;
}

function zsh(root: CommandShape): string {
  const { name } = root;
  const described = (entries: readonly { word: string; description: string }[]): string =>
    entries.map((e) => quoted(`${e.word.replaceAll(':', String.raw`\:`)}:${e.description}`)).join(' ');
  const choices = choicesOf(root).map(([where, values]) => `    (${where}) compadd -- ${values}; return ;;`);
  const cases = paths(root).map(({ path, command }) => {
    const options = command.options.map((o) => ({ word: o.flag, description: o.description }));
    return `    (${quoted(path.join(' '))}) commands=(${described(wordsOf(command))}); options=(${described(options)}) ;;`;
  });
  return `#compdef ${name}
# zsh completion of ${name}: source <(${name} completion zsh)
_${name}() {
  local at=${name} i
  local -a commands options
  for ((i = 2; i < CURRENT; i++)); do
    case "$at $words[i]" in
      (${steps(root)}) at="$at $words[i]" ;;
    esac
  done
  case "$at $words[CURRENT-1]" in
${choices.join('\n')}
  esac
  case $at in
${cases.join('\n')}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    _describe -o option options
  elif [[ $words[CURRENT-1] != --* ]] && (( $#commands )); then
    _describe command commands
  else
    _files
  fi
}
compdef _${name} ${name}
`;
}

function fish(root: CommandShape): string {
  const { name } = root;
  const lines = paths(root).flatMap(({ path, command }) => {
    const condition = quoted(seen(path.slice(1), command));
    return [
      ...wordsOf(command).map((w) => `complete -c ${name} -f -n ${condition} -a ${w.word} -d ${quoted(w.description)}`),
      ...command.options.map((o) => {
        const value = o.choices.length > 0 ? ` -x -a ${quoted(o.choices.join(' '))}` : o.takesValue ? ' -r' : '';
        return `complete -c ${name} -n ${condition} -l ${o.flag.slice(2)}${value} -d ${quoted(o.description)}`;
      }),
    ];
  });
  return [`# fish completion of ${name}: ${name} completion fish | source`, ...lines, ''].join('\n');
}

/** The words of a command were typed, and none of its own subcommands yet. */
function seen(words: readonly string[], command: CommandShape): string {
  const below = command.commands.map((c) => c.name).join(' ');
  return [
    ...words.map((word) => `__fish_seen_subcommand_from ${word}`),
    ...(below ? [`not __fish_seen_subcommand_from ${below}`] : []),
  ].join('; and ');
}

/** The words that may follow a command: its subcommands, or the fixed values of its argument. */
function wordsOf(command: CommandShape): { word: string; description: string }[] {
  const values = command.values.map((word) => ({ word, description: word }));
  return [...command.commands.map((c) => ({ word: c.name, description: c.description })), ...values];
}

/** Flags with a fixed set of values: patterns of command and flag, and the values separated by blanks. */
function choicesOf(root: CommandShape): [where: string, values: string][] {
  const groups = new Map<string, string[]>();
  for (const { path, command } of paths(root)) {
    for (const { flag, choices } of command.options) {
      if (choices.length === 0) continue;
      const values = choices.join(' ');
      groups.set(values, [...(groups.get(values) ?? []), quoted(`${path.join(' ')} ${flag}`)]);
    }
  }
  return [...groups].map(([values, where]) => [where.join(' | '), values]);
}
