import { LineCounter, parseAllDocuments, type Document, type ScalarTag, type Tags } from 'yaml';
import type { KubeObject } from '../../../api/meta.ts';
import { groupVersion } from '../../../api/v1alpha1/index.ts';
import { errorText } from '../../../base/errors.ts';

/** One YAML or JSON text, as read. */
export interface Source {
  /** Its name in messages; `-` for the standard input. */
  readonly file: string;
  readonly text: string;
}

/** One object of a source. */
export interface SourceObject {
  readonly file: string;
  /** The number of its document in the source, from 1; members of a list belong to the list's document. */
  readonly document: number;
  readonly object: KubeObject;
}

/** One fault of a document: the field, and why it is refused. */
export interface Fault {
  readonly file: string;
  readonly document: number;
  /** The object, as `TrafficMonitor shop/checkout`; empty when the document could not be parsed that far. */
  readonly object: string;
  /** A path such as `spec.ports[0].port`; empty when there is no such field. */
  readonly field: string;
  readonly reason: string;
}

export interface Documents {
  /** TrafficMonitors, ClusterTrafficPolicies, and Namespaces, whose labels matter to them. */
  readonly objects: readonly SourceObject[];
  readonly faults: readonly Fault[];
  /** Objects of other kinds, which do not affect capture. */
  readonly others: number;
}

const ours = new Set(['TrafficMonitor', 'ClusterTrafficPolicy']);

/** Whether an object is of a kind and version whose effect on the nodes is shown. */
export function isOurs({ apiVersion, kind }: KubeObject): boolean {
  return apiVersion === groupVersion && ours.has(kind);
}

/** The booleans of YAML 1.1, which kubectl reads beside those of YAML 1.2. */
const booleans: ScalarTag = {
  tag: 'tag:yaml.org,2002:bool',
  default: true,
  test: /^(?:y|Y|yes|Yes|YES|on|On|ON|n|N|no|No|NO|off|Off|OFF)$/,
  resolve: (text) => /^(?:y|yes|on)$/i.test(text),
};

/** The whole numbers that kubectl reads and YAML 1.2 does not: `010` (octal), `0b101`, `50_000`, signed hexadecimal. */
const wholeNumbers: ScalarTag = {
  tag: 'tag:yaml.org,2002:int',
  default: true,
  test: /^[-+]?(?:0[0-7_]+|0[xX]_*[\da-fA-F][\da-fA-F_]*|0[oO]_*[0-7][0-7_]*|0[bB]_*[01][01_]*|[1-9]\d*_[\d_]*)$/,
  resolve: (text) => {
    const digits = text.replace(/^[-+]/, '').replaceAll('_', '');
    return (text.startsWith('-') ? -1 : 1) * Number(digits.replace(/^0(?=\d)/, '0o'));
  },
};

const kubectlRules = {
  schema: 'core',
  merge: true,
  customTags: (tags: Tags): Tags => [booleans, wholeNumbers, ...tags],
} as const;

/**
 * Reads YAML or JSON with any number of documents and lists. `namespace` is the default for monitors without one. Pure.
 */
export function readDocuments(sources: readonly Source[], namespace: string): Documents {
  const objects: SourceObject[] = [];
  const faults: Fault[] = [];
  let others = 0;
  for (const { file, text } of sources) {
    const lineCounter = new LineCounter();
    const documents = parseAllDocuments(text, { ...kubectlRules, lineCounter });
    for (const [i, parsed] of (Array.isArray(documents) ? documents : []).entries()) {
      const at = { file, document: i + 1 };
      const fault = (field: string, reason: string): void => void faults.push({ ...at, object: '', field, reason });
      const { value, wrong: unread } = contentOf(parsed, lineCounter);
      if (unread !== undefined) fault('', unread);
      if (value === null || value === undefined) continue;
      for (const member of membersOf(value)) {
        const object = member as KubeObject;
        const wrong = shapeFault(object);
        if (wrong) fault(wrong.field, wrong.reason);
        else if (isOurs(object)) objects.push({ ...at, object: inNamespace(object, namespace) });
        else if (object.apiVersion === 'v1' && object.kind === 'Namespace') objects.push({ ...at, object });
        else if (object.apiVersion.startsWith('svc.dev/') && ours.has(object.kind))
          fault('apiVersion', `is ${object.apiVersion}; served is ${groupVersion}`);
        else others++;
      }
    }
  }
  return { objects, faults, others };
}

/** What a document holds, or what is wrong with its YAML. */
function contentOf(document: Document, lines: LineCounter): { value?: unknown; wrong?: string } {
  const [error] = document.errors;
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    return { wrong: `line ${line}, column ${col}: ${error.message.split('\n')[0]!.replace(/ at line .*$/, '')}` };
  }
  try {
    return { value: document.toJS() };
  } catch (error) {
    // Aliases and merge keys are followed only now.
    return { wrong: errorText(error) };
  }
}

function membersOf(value: unknown): readonly unknown[] {
  const { kind, items } = value as { kind?: unknown; items?: unknown };
  return typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items) ? items : [value];
}

function shapeFault(object: KubeObject): { field: string; reason: string } | null {
  if (typeof object !== 'object' || object === null || Array.isArray(object))
    return { field: '', reason: 'is no object' };
  if (typeof object.apiVersion !== 'string') return { field: 'apiVersion', reason: 'is missing' };
  if (typeof object.kind !== 'string') return { field: 'kind', reason: 'is missing' };
  if (typeof object.metadata?.name !== 'string' || object.metadata.name === '')
    return { field: 'metadata.name', reason: 'is missing' };
  return null;
}

/** The object with the namespace that it is stored in: the API server ignores that of a cluster-scoped object. */
function inNamespace(object: KubeObject, namespace: string): KubeObject {
  const { namespace: own, ...metadata } = object.metadata;
  if (object.kind !== 'TrafficMonitor') return { ...object, metadata };
  return { ...object, metadata: { ...metadata, namespace: own || namespace } };
}

/** An object as text, such as `TrafficMonitor shop/checkout`. */
export function refOf({ kind, metadata }: Pick<KubeObject, 'kind' | 'metadata'>): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;
}

/** A fault as `file.yaml document 2, TrafficMonitor shop/checkout: spec.ports[0].port: 0 is less than 1`. */
export function faultText({ file, document, object, field, reason }: Fault): string {
  const where = `${file} document ${document}${object === '' ? '' : `, ${object}`}`;
  return [where, ...(field === '' ? [] : [field]), reason].join(': ');
}
