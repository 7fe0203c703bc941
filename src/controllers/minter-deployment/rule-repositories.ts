import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Node } from 'yaml';
import { foldName, isRepositoryName } from '../../api/v1alpha1/repository-name.ts';
import { maxRuleFileBytes } from '../../api/v1alpha1/rule-file-size.ts';

/** All files that are read at once, if more than one: parsing blocks the operator. Units: characters. */
const maxFiles = 128 * 1024;

/**
 * The first repository that a ConfigMap of rules names although the spec does not declare it, as a sentence with file
 * and line; undefined when there is none. Pure.
 * Shape: `files` is the ConfigMap's data: `<repository>.yaml`, or `.yaml` for all repositories → text of the rules.
 * Caveats: text that is not YAML, and a name that no repository can have, give nobody a token; the pods report both.
 * Files are read in the order of their names, up to 128 KiB together, the first whatever its size. The pods read no file
 * above `maxRuleFileBytes` and report it.
 */
export function repositoryOutsideSpec(
  files: Readonly<Record<string, string>>,
  declared: readonly string[],
): string | undefined {
  const known = new Set(declared.map(foldName));
  const isOutside = (name: string): boolean => isRepositoryName(name) && !known.has(foldName(name));
  let read = 0;
  for (const [file, text] of Object.entries(files).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (!file.endsWith('.yaml')) continue;
    const own = file.slice(0, -'.yaml'.length);
    if (isOutside(own)) return `${file}: ${advice(own)}`;
    if (Buffer.byteLength(text) > maxRuleFileBytes || (read > 0 && read + text.length > maxFiles)) continue;
    read += text.length;
    const lines = new LineCounter();
    // The library compares each key with all before it. The pods report a repeated one.
    const document = parseDocument(text, { lineCounter: lines, uniqueKeys: false, prettyErrors: false });
    for (const node of repositoryNodes(document.contents)) {
      const name = isScalar(node) ? String(node.value) : '';
      if (isOutside(name)) return `${file}, line ${lines.linePos(node.range?.[0] ?? 0).line}: ${advice(name)}`;
    }
  }
  return undefined;
}

const advice = (name: string): string =>
  `repository ${name} is not declared; add it to vcs.extraRepositories, or take it out of the rules`;

function* repositoryNodes(root: unknown): Generator<Node> {
  if (!isMap(root)) return;
  const scopes = root.get('scope', true);
  if (!isMap(scopes)) return;
  for (const { value } of scopes.items) {
    const repositories = isMap(value) ? value.get('repositories', true) : undefined;
    if (isSeq(repositories)) yield* repositories.items as Node[];
  }
}
