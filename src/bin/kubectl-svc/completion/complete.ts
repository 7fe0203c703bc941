import { within } from '../../../base/time-limit.ts';
import { optionOf, shapeOf, type CommandShape } from '../../completion/command-shape.ts';
import { complete as completionsOf } from '../../completion/complete.ts';
import { commands } from '../commands.ts';
import { commonFlags } from '../flags.ts';
import type { Host } from '../host.ts';
import { programFor } from '../program.ts';
import { Session } from '../session.ts';

/** How long a key press may wait for the cluster: the limit of kubectl's own completion. Units: ms. */
const deadlineMs = 5_000;

/** Flags whose values come from the cluster, or from the kubeconfig. */
const flagValues: ReadonlyMap<string, (session: Session) => Promise<readonly string[]>> = new Map([
  ['--namespace', namespaces],
  ['--operator-namespace', namespaces],
  ['--not-namespace', namespaces],
  ['--context', contexts],
]);

async function namespaces(session: Session): Promise<string[]> {
  const { coreResources } = await import('../../../api/core-resources.ts');
  return session.names(coreResources.namespaces);
}

async function contexts({ flags }: Session): Promise<string[]> {
  const { loadKubeSettings } = await import('../../../kube/kubeconfig.ts');
  return loadKubeSettings({ path: flags.kubeconfig }).contexts.map(({ name }) => name);
}

/**
 * The completions for the words after `kubectl svc`, as kubectl reads them from `kubectl_complete-svc`.
 * Never fails: a completion that cannot be found is silently left out, because the user is still typing.
 */
export function complete(args: readonly string[], host: Host): Promise<string> {
  return within(host.clock, deadlineMs, (signal) => completedBy(args, { ...host, signal }), host.signal);
}

async function completedBy(args: readonly string[], host: Host): Promise<string> {
  const before = args.slice(0, -1);
  const root = shapeOf(await programFor(before, host));
  const session = sessionOf(root, before, host);
  try {
    return await completionsOf(root, args, {
      valuesOf: (flag) =>
        flagValues
          .get(flag)?.(session)
          .catch(() => []),
      async argumentsOf(name, word, operands) {
        const load = commands.find((command) => command.name === name)?.complete;
        return load
          ? load()
              .then((found) => found(session, word, operands))
              .catch(() => [])
          : [];
      },
    });
  } finally {
    await session.close();
  }
}

/** A session with the common flags that were typed so far. For other flags the values of the environment count. */
function sessionOf(root: CommandShape, words: readonly string[], host: Host): Session {
  const flags: Record<string, string> = {};
  for (const [i, word] of words.entries()) {
    const [, name = word, text = words[i + 1]] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
    const option = optionOf(root, name);
    if (!option?.takesValue || text === undefined) continue;
    flags[option.flag.slice(2).replace(/-(.)/g, (_, c: string) => c.toUpperCase())] = text;
  }
  const { SVC_NAMESPACE: operatorNamespace, SVC_SERVER: server, SVC_TOKEN: token } = host.env;
  return new Session(commonFlags({ operatorNamespace, server, token, ...flags }), host, words);
}
