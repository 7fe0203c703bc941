import { Pseudonyms, type IsOurs } from './addresses.ts';
import { hideSecrets, isCredentialName, type Hidden } from './secrets.ts';

/** Number of hidden texts, by kind. */
export type HiddenCounts = Readonly<Record<Hidden | 'outsideAddresses', number>>;

/** What happens to the leaves of a value: `hidden` hides them all; see `Redactor.value` for `strict`. */
type Rule = 'plain' | 'strict' | 'hidden';

/**
 * Values that are nested deeper, counting JSON inside of texts, are left out. No object of ours comes near it, and
 * recursion without a limit would overflow the stack.
 */
const maxDepth = 100;

/**
 * Removes from a bundle the data that must not leave the cluster: tokens, keys, credentials, user parts and queries of
 * URLs, addresses of outside peers.
 * Guarantees: every leaf and every member name is checked in unescaped form, so no escape hides a secret; one outside
 * address has one name in all files of a bundle. No value, however deep, makes it fail.
 * Caveats: it recognises patterns and names; a password in a sentence looks like an ordinary word.
 */
export class Redactor {
  readonly #counts: Record<Hidden, number> = {
    token: 0,
    privateKey: 0,
    credential: 0,
    url: 0,
    environment: 0,
    annotation: 0,
  };
  readonly #pseudonyms: Pseudonyms;

  constructor(isOurs: IsOurs) {
    this.#pseudonyms = new Pseudonyms(isOurs);
  }

  get counts(): HiddenCounts {
    return { ...this.#counts, outsideAddresses: this.#pseudonyms.count };
  }

  /** Counts a hidden text, also one that code outside of this class has hidden. */
  hid(kind: Hidden): void {
    this.#counts[kind]++;
  }

  /** Redacts a text of any kind, such as a message. A text that is JSON is parsed first. */
  text(text: string): string {
    return this.#text(text, 0);
  }

  /**
   * Redacts the lines of a log, some of which may be JSON. The lines between JSON ones are treated as one text, because
   * a private key spans several lines.
   */
  lines(text: string): string {
    const shown: string[] = [];
    let plain: string[] = [];
    const flush = (): void => {
      if (plain.length > 0) shown.push(this.text(plain.join('\n')));
      plain = [];
    };
    for (const line of text.split('\n')) {
      if (parsed(line) === undefined) plain.push(line);
      else {
        flush();
        shown.push(this.text(line));
      }
    }
    flush();
    return shown.join('\n');
  }

  /**
   * Redacts any JSON value. `strict` hides every leaf below a member whose name is that of a credential or of headers:
   * it is for members whose schema is not ours.
   */
  value(value: unknown, strict = false): unknown {
    return this.#value(value, strict ? 'strict' : 'plain', 0);
  }

  #text(text: string, depth: number): string {
    const inner = parsed(text);
    if (inner !== undefined) return JSON.stringify(this.#value(inner, 'plain', depth));
    return this.#pseudonyms.replace(hideSecrets(text, (kind) => this.hid(kind)));
  }

  #value(value: unknown, rule: Rule, depth: number): unknown {
    if (typeof value !== 'object' || value === null) return this.#leaf(value, rule, depth);
    if (depth >= maxDepth) return '[too deep]';
    if (Array.isArray(value))
      return value.map((item, at) =>
        this.#value(item, isFlagOfCredential(value[at - 1], item) ? 'hidden' : rule, depth + 1),
      );
    const ofCredential = isPairOfCredential(value);
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => {
        const hide = (ofCredential && name === 'value') || isCredentialName(name) || isHeaders(name, rule);
        const below = hide && (rule === 'strict' || typeof member === 'string') ? 'hidden' : ruleBelow(name, rule);
        return [this.#name(name), this.#value(member, below, depth + 1)];
      }),
    );
  }

  #leaf(value: unknown, rule: Rule, depth: number): unknown {
    if (rule !== 'hidden') return typeof value === 'string' ? this.#text(value, depth) : value;
    if (typeof value !== 'string' || value === '') return typeof value === 'number' ? 0 : value;
    this.hid('credential');
    return '[credential]';
  }

  /** Redacts the name of a member, which may hold a secret too. The bare word `token` is only a name, and stays. */
  #name(name: string): string {
    return this.#pseudonyms.replace(hideSecrets(name, (kind) => this.hid(kind)));
  }
}

const isHeaders = (name: string, rule: Rule): boolean => rule === 'strict' && /headers?$/i.test(name);
const ruleBelow = (name: string, rule: Rule): Rule => (rule === 'plain' && name === 'extraConfig' ? 'strict' : rule);

/** Whether an item of a list is the value of the flag before it, and a credential: `--api-token`, `abc`. */
function isFlagOfCredential(before: unknown, item: unknown): boolean {
  if (typeof before !== 'string' || typeof item !== 'string') return false;
  return /^--?[\w.-]+$/.test(before) && isCredentialName(before) && !item.startsWith('--');
}

/** Whether an object is a pair of name and value, such as a variable or a header, with the name of a credential. */
function isPairOfCredential(value: object): boolean {
  const { name, key } = value as { name?: unknown; key?: unknown };
  return [name, key].some((text) => typeof text === 'string' && isCredentialName(text));
}

/** The object or list that a text encodes; undefined for any other text. */
function parsed(text: string): unknown {
  const start = text.trimStart()[0];
  if (start !== '{' && start !== '[') return undefined;
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
