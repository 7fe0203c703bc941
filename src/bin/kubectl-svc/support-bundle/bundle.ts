import { stringify } from 'yaml';
import type { HiddenCounts } from './redact/redactor.ts';

/** One file of a bundle. */
export interface BundleFile {
  readonly path: string;
  /** Its description in the index. */
  readonly about: string;
  readonly content: Buffer;
}

/** Data that is missing from the bundle, and why. */
export interface Absence {
  readonly what: string;
  readonly why: string;
}

/** The index's facts about the whole bundle. */
export interface BundleFacts {
  /** RFC 3339. */
  readonly created: string;
  readonly plugin: string;
  readonly operatorNamespace: string;
  /** Namespace of the monitors and minters, `*` for all. */
  readonly namespace: string;
  /** How far back logs and events go. */
  readonly since: string;
}

/**
 * Gathers files up to a size. Texts are redacted before they are added.
 * Guarantees: a file that does not fit is listed as absent, and so is data that could not be read; the README and the
 * index are always included.
 */
export class Bundle {
  readonly #files: BundleFile[] = [];
  readonly #absent: Absence[] = [];
  #left: number;

  /** `maxBytes` limits the size of all files before compression. */
  constructor(maxBytes: number) {
    this.#left = maxBytes;
  }

  get absent(): readonly Absence[] {
    return this.#absent;
  }

  get files(): readonly BundleFile[] {
    return this.#files;
  }

  /** Adds a file. */
  add(path: string, about: string, text: string): void {
    const content = Buffer.from(text);
    if (content.length > this.#left) return this.lacks(path, `the bundle has reached its size (${about})`);
    this.#left -= content.length;
    this.#files.push({ path: path.split('/').map(fileName).join('/'), about, content });
  }

  addJson(path: string, about: string, value: unknown): void {
    this.add(path, about, `${JSON.stringify(value, null, 2)}\n`);
  }

  addYaml(path: string, about: string, values: readonly unknown[]): void {
    this.add(
      path,
      about,
      values.map((value) => `---\n${stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })}`).join(''),
    );
  }

  /** Whether no room is left. */
  get full(): boolean {
    return this.#left <= 0;
  }

  /** Lists data as absent. */
  lacks(what: string, why: string): void {
    this.#absent.push({ what, why });
  }

  /** All files, with the README and the index in front. */
  finish(facts: BundleFacts, hidden: HiddenCounts): readonly BundleFile[] {
    const files = this.#files.map(({ path, about, content }) => ({ path, bytes: content.length, about }));
    const index = { ...facts, files, absent: this.#absent, hidden };
    return [
      { path: 'README.md', about: 'what this is', content: Buffer.from(readme(facts, this.#absent, hidden)) },
      { path: 'index.json', about: 'this list', content: Buffer.from(`${JSON.stringify(index, null, 2)}\n`) },
      ...this.#files,
    ];
  }
}

/** A name that is a valid path component on every system. */
function fileName(part: string): string {
  return part.replaceAll(/[^\w.-]/g, '_').replace(/^\.+$/, '_');
}

function readme(facts: BundleFacts, absent: readonly Absence[], hidden: HiddenCounts): string {
  const hid = Object.entries(hidden).map(([kind, count]) => `| ${kind} | ${count} |`);
  return `# Support bundle of svc-operator

Made at ${facts.created} by kubectl svc ${facts.plugin}; operator in ${facts.operatorNamespace}, monitors and minters of ${facts.namespace === '*' ? 'all namespaces' : `namespace ${facts.namespace}`}, logs and events of the last ${facts.since}.
Begin with \`status.txt\`, then \`explain/\`. \`index.json\` lists every file.

## Not in it

${absent.length === 0 ? 'Nothing is missing.' : absent.map(({ what, why }) => `- ${what}: ${why}`).join('\n')}

## Hidden

No Secret was read. \`outside-N\` stands for an address that is none of a node, pod or Service of the cluster; it is the same in every file.

| what | times |
| --- | --- |
${hid.join('\n')}
`;
}
