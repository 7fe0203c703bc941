import type { FilterField, FilterValues } from '../../../stream/index.ts';
import { UsageError } from '../errors.ts';

/** A flag that filters: its declaration (names, and the name of its value), the field that it filters, its help. */
interface FilterFlag {
  readonly flags: string;
  readonly field: FilterField;
  readonly help: string;
}

/** Flags that filter. Each may be given several times; `--not` before one inverts it. */
export const filterFlags: readonly FilterFlag[] = [
  { flags: '--pod <[namespace/]prefix>', field: 'pod', help: 'pods whose names begin with this prefix' },
  { flags: '--workload <[[namespace/]kind/]name>', field: 'workload', help: 'the pods of this workload' },
  { flags: '-l, --label <selector>', field: 'labelSelector', help: 'pods with these labels' },
  { flags: '--service <name>', field: 'service', help: 'spans of this service' },
  { flags: '--node <name>', field: 'node', help: 'spans and flows of this node; no other node is asked' },
  { flags: '--protocol <name>', field: 'protocol', help: 'HTTP, GRPC, SQL, … of spans; TCP, UDP' },
  { flags: '--direction <name>', field: 'direction', help: 'ingress or egress of spans; request or response of flows' },
  { flags: '--method <name>', field: 'method', help: 'requests with this method' },
  { flags: '--path <pattern>', field: 'path', help: 'requests whose whole path matches this RE2 pattern' },
  { flags: '--status <status>', field: 'status', help: '404, 5+ (500 and above), 500-599, ok, error or unset' },
  { flags: '--min-duration <duration>', field: 'minDuration', help: 'spans that took at least this, such as 500ms' },
  { flags: '--trace-id <id>', field: 'traceId', help: 'spans of this trace' },
  { flags: '--ip <address>', field: 'ip', help: 'an address or CIDR at one end' },
  { flags: '--port <number>', field: 'port', help: 'a port at one end' },
  { flags: '--not-namespace <name>', field: 'namespace', help: 'leave out spans and flows of this namespace' },
];

/** What is meant by `--not` before a flag about namespaces. */
const meant: Readonly<Record<string, string>> = {
  '-n': '--not-namespace leaves out a namespace',
  '--namespace': '--not-namespace leaves out a namespace',
  '--not-namespace': '-n shows one namespace alone',
};

/**
 * Checks that each `--not` stands directly before a filter that it can invert. `words` is the whole command line: the
 * program's own flags, such as `-n`, are taken out of it before the command's are parsed.
 * Errors: UsageError.
 */
export function checkNots(words: readonly string[]): void {
  const inverted = filterFlags.flatMap(({ flags }) => flags.match(/(?<![^ ])-[^ ,]+/g)!);
  for (const [i, word] of words.entries()) {
    if (word !== '--not') continue;
    // The value may be in the same word: `--port=80`, `-lapp=web`.
    const [next = ''] = /^(--[^=]+|-[^-])/.exec(words[i + 1] ?? '') ?? [];
    if (!inverted.includes(next) || next in meant)
      throw new UsageError('--not needs a filter after it', meant[next] ?? 'it inverts the filter that follows');
  }
}

/** The filters of a command line, in the order of its flags. */
export class FilterLine {
  readonly #include: Partial<Record<FilterField, string[]>> = {};
  readonly #exclude: FilterValues[] = [];
  #not = false;

  /** `--not`: the next filter excludes its matches. */
  not(): void {
    this.#not = true;
  }

  add(field: FilterField, value: string): void {
    if (this.#not) this.leaveOut(field, value);
    else (this.#include[field] ??= []).push(value);
    this.#not = false;
  }

  leaveOut(field: FilterField, value: string): void {
    this.#exclude.push({ [field]: [value] });
  }

  /** The filters, restricted to a namespace if there is one. */
  within(namespace: string | undefined): { include: FilterValues[]; exclude: FilterValues[] } {
    const include = { ...this.#include, ...(namespace === undefined ? {} : { namespace: [namespace] }) };
    return { include: Object.keys(include).length > 0 ? [include] : [], exclude: this.#exclude };
  }

  /** True when pods or workloads are requested, and each of their names includes a namespace. */
  get namesNamespaces(): boolean {
    const { pod = [], workload = [] } = this.#include;
    const named = [...pod.map((text) => text.includes('/')), ...workload.map((text) => text.split('/').length > 2)];
    return named.length > 0 && named.every(Boolean);
  }
}
