/** The shells that `completion` writes a script for. */
export const shells = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof shells)[number];

/** The first word with which a script asks its program for completions; the words typed so far follow. */
export const completeWord = '__complete';

/**
 * A script that asks the program itself for completions on a key press, so the script fits every version of the
 * program. Pure.
 */
export function completionScript(shell: Shell, name: string): string {
  return { bash, zsh, fish }[shell](name);
}

/** Without a completion, bash offers file names, its default. */
function bash(name: string): string {
  return `# bash completion of ${name}: source <(${name} completion bash)
_${name}() {
  local line part i kept= after= rest=$COMP_LINE
  local -a words=()
  COMPREPLY=()
  # Bash breaks words at = and : and replaces only what comes after the last of them; $kept is what comes before.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    rest=\${rest#*"\${COMP_WORDS[i-1]}"} part=\${COMP_WORDS[i]}
    if [[ \${#words[@]} -gt 0 && $rest != [[:space:]]* && ( -n $after || $part == [=:]* ) ]]; then
      kept=\${words[\${#words[@]}-1]}
      words[\${#words[@]}-1]+=$part
    else
      kept=
      words+=("$part")
    fi
    after=
    if [[ $part == [=:]* ]]; then after=1 kept=\${words[\${#words[@]}-1]}; fi
  done
  while IFS= read -r line; do
    [[ $line == :* ]] && continue
    line=\${line%%$'\\t'*}
    COMPREPLY+=("\${line#"$kept"}")
  done < <(${name} ${completeWord} "\${words[@]}" 2>/dev/null)
}
complete -o default -F _${name} ${name}
`;
}

function zsh(name: string): string {
  return `#compdef ${name}
# zsh completion of ${name}: source <(${name} completion zsh)
_${name}() {
  local line
  local -a found
  for line in "\${(@f)$(${name} ${completeWord} "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      (:0) _files; return ;;
      (:*) ;;
      (*) found+=("\${\${line//:/\\\\:}/$'\\t'/:}") ;;
    esac
  done
  _describe completion found
}
compdef _${name} ${name}
`;
}

function fish(name: string): string {
  return `# fish completion of ${name}: ${name} completion fish | source
function __complete_${name}
  set -l words (commandline -opc) (commandline -ct)
  for line in (${name} ${completeWord} $words[2..-1] 2>/dev/null)
    switch $line
      case ':0'
        __fish_complete_path (commandline -ct)
      case ':*'
      case '*'
        printf '%s\\n' $line
    end
  end
end
complete -c ${name} -f -a '(__complete_${name})'
`;
}
