/** The difference between two configuration files of the instrument. */
export interface FileChanges {
  /** A change that affects every process of a node. */
  general: boolean;
  /** Namespaces whose own entries differ. */
  namespaces: ReadonlySet<string>;
}

/**
 * Where two files differ: in entries that select processes of only one namespace, or anywhere else. Pure. It relies on
 * the style of `emitYaml`: an entry of one namespace begins with `k8s_namespace`, and the lists of `discovery` are
 * indented by four spaces. The order of the entries of one namespace counts. The order of namespaces counts only among
 * entries that come before a general entry of the same list.
 */
export function fileChanges(a: string, b: string): FileChanges {
  const [x, y] = [parts(a), parts(b)];
  const names = new Set([...x.namespaces.keys(), ...y.namespaces.keys()]);
  return {
    general: x.general !== y.general,
    namespaces: new Set([...names].filter((n) => x.namespaces.get(n) !== y.namespaces.get(n))),
  };
}

interface Parts {
  general: string;
  namespaces: ReadonlyMap<string, string>;
}

const ownEntry = /^ {4}- k8s_namespace: "?([a-z0-9]([-a-z0-9]*[a-z0-9])?)"?$/;

function parts(file: string): Parts {
  const namespaces = new Map<string, string[]>();
  const general: string[] = [];
  let list = '';
  let before: string[] = [];
  let own: string[] | null = null;
  for (const line of file.split('\n')) {
    if (!line.startsWith('    ')) {
      [list, before, own] = [line, [], null];
    } else if (line.startsWith('    - ')) {
      const name = ownEntry.exec(line)?.[1];
      own = null;
      if (name === undefined) general.push(...before.splice(0));
      else {
        before.push(name);
        own = namespaces.get(name) ?? [];
        namespaces.set(name, own);
        own.push(list);
      }
    }
    (own ?? general).push(line);
  }
  return {
    general: general.join('\n'),
    namespaces: new Map([...namespaces].map(([name, lines]) => [name, lines.join('\n')])),
  };
}
