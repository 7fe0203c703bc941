import { type CommandShape, type OptionShape, paths, shapeOf } from '../../completion/command-shape.ts';
import type { PluginCommand } from '../command.ts';
import { commands as allCommands } from '../commands.ts';
import type { CommonFlags } from '../flags.ts';
import type { Host } from '../host.ts';
import { programFor } from '../program.ts';
import { Session } from '../session.ts';

/** Flags whose values come from the cluster, or from the kubeconfig. */
const flagValues: ReadonlyMap<string, (session: Session) => Promise<readonly string[]>> = new Map([
  ['--namespace', namespaces],
  ['--operator-namespace', namespaces],
  ['--not-namespace', namespaces],
  ['--context', contexts],
]);

async function namespaces(session: Session): Promise<string[]> {
  const { coreResources } = await import('../../../api/core-resources.ts');
  return session.names(coreResources.namespaces).finally(() => session.close());
}

async function contexts({ flags }: Session): Promise<string[]> {
  const { loadKubeSettings } = await import('../../../kube/kubeconfig.ts');
  return loadKubeSettings({ path: flags.kubeconfig }).contexts.map(({ name }) => name);
}

/** Instructions to the shell beside the words. Source: cobra's `ShellCompDirective`. */
const directives = { files: 0, noFiles: 4 } as const;

/**
 * Answers kubectl, which calls `kubectl_complete-svc` for completions: `args` are the words after `kubectl svc`; the
 * last of them may be incomplete. One word a line, with its description after a tab, and a directive at the end.
 * Never fails: a completion that cannot be found is silently left out, because the user is still typing.
 */
export async function complete(
  args: readonly string[],
  host: Host,
  commands: readonly PluginCommand[] = allCommands,
): Promise<string> {
  const word = args.at(-1) ?? '';
  const before = args.slice(0, -1);
  const program = await programFor(before, host, commands);
  const { command, operands } = walk(shapeOf(program), before);
  const value = flagOfValue(command, before.at(-1), word);
  if (value) {
    const { option, text } = value;
    if (option.choices.length > 0) return answer(option.choices, text);
    const ask = flagValues.get(option.flag);
    return ask ? answer(await ask(sessionOf(before, host)).catch(() => []), text) : `:${directives.files}\n`;
  }
  if (word.startsWith('-')) return answer(command.options.map(described), word);
  if (command.commands.length > 0) return answer(command.commands.map(described), word);
  const dynamic = commands.find(({ name }) => name === command.name)?.complete;
  const fixed = operands.length === 0 ? command.values : [];
  return answer([...fixed, ...(dynamic ? await found(dynamic, before, operands, word, host) : [])], word);
}

async function found(
  dynamic: NonNullable<PluginCommand['complete']>,
  before: readonly string[],
  operands: readonly string[],
  word: string,
  host: Host,
): Promise<readonly string[]> {
  const session = sessionOf(before, host);
  try {
    return await (
      await dynamic()
    )(session, word, operands);
  } catch {
    return [];
  } finally {
    await session.close();
  }
}

/** The command that the words lead to, and its arguments so far. */
function walk(root: CommandShape, words: readonly string[]): { command: CommandShape; operands: string[] } {
  const known = paths(root);
  let command = root;
  const operands: string[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word.startsWith('-')) {
      if (optionOf(command, word)?.takesValue) i++;
      continue;
    }
    const next = known.find(({ command: one }) => command.commands.includes(one) && one.name === word)?.command;
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

function optionOf(command: CommandShape, word: string): OptionShape | undefined {
  return command.options.find(({ flag, short }) => flag === word || (short !== undefined && short === word));
}

/** A session with the flags of the cluster that were typed so far. */
function sessionOf(words: readonly string[], host: Host): Session {
  const flags: Record<string, string> = {};
  for (const [i, word] of words.entries()) {
    const [, long, text] = /^(--[a-z-]+)(?:=(.*))?$/s.exec(word === '-n' ? '--namespace' : word) ?? [];
    const name = long?.slice(2).replace(/-(.)/g, (_, c: string) => c.toUpperCase());
    const value = text ?? words[i + 1];
    if (name !== undefined && connectionFlags.has(name) && value !== undefined) flags[name] = value;
  }
  const { SVC_NAMESPACE: operatorNamespace = 'svc-system', SVC_SERVER: server, SVC_TOKEN: token } = host.env;
  const env = { operatorNamespace, ...(server ? { server } : {}), ...(token ? { token } : {}) };
  const common: CommonFlags = { allNamespaces: false, insecureSkipTlsVerify: false, ...env, ...flags };
  return new Session(common, host);
}

const connectionFlags = new Set([
  'namespace',
  'kubeconfig',
  'context',
  'as',
  'operatorNamespace',
  'server',
  'token',
  'certificateAuthority',
  'tlsServerName',
]);

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
