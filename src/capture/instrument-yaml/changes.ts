/** The difference between two configuration files of the instrument. */
export interface FileChanges {
  /** A change that affects every process of a node. */
  general: boolean;
  /** Namespaces whose own entries differ, or the entries that name them. */
  namespaces: ReadonlySet<string>;
}

/**
 * Where two files differ: in entries that select processes of named namespaces only, or anywhere else. Pure. It relies on
 * the style of `emitYaml`: such an entry begins with `k8s_namespace` and one name or a list of names in braces, and the
 * lists of `discovery` are indented by four spaces. An entry of several names counts as one entry of each. The order of
 * the entries of one namespace counts, and so does their place among general entries; the order of namespaces does not.
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

/** The names in the first line of an entry; a pattern has other characters. */
const ownEntry = /^ {4}- k8s_namespace: "?\{?([-a-z0-9,]+)\}?"?$/;

function parts(file: string): Parts {
  const namespaces = new Map<string, string[]>();
  const general: string[] = [];
  const ownLines = (name: string): string[] => {
    const known = namespaces.get(name) ?? [];
    namespaces.set(name, known);
    return known;
  };
  let list = '';
  let generalEntries = 0;
  let into = [general];
  for (const line of file.split('\n')) {
    const names = ownEntry.exec(line)?.[1]?.split(',');
    if (names) {
      into = names.map(ownLines);
      for (const lines of into) lines.push(`${list} after ${generalEntries}`);
      continue;
    }
    if (!line.startsWith('    ')) [list, generalEntries, into] = [line, 0, [general]];
    else if (line.startsWith('    - ')) [generalEntries, into] = [generalEntries + 1, [general]];
    for (const lines of into) lines.push(line);
  }
  return {
    general: general.join('\n'),
    namespaces: new Map([...namespaces].map(([name, lines]) => [name, lines.join('\n')])),
  };
}
