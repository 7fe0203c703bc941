import { Pseudonyms, type IsOurs } from './addresses.ts';
import { hideSecrets, isCredentialName, type Hidden } from './secrets.ts';

/** Number of hidden texts, by kind. */
export type HiddenCounts = Readonly<Record<Hidden | 'outsideAddresses', number>>;

/**
 * Removes from a bundle the data that must not leave the cluster: tokens, keys, credentials, user parts and queries of
 * URLs, addresses of outside peers.
 * Guarantees: every leaf and every member name is checked in unescaped form, so no escape hides a secret; one outside
 * address has one name in all files of a bundle.
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
    const inner = parsed(text);
    if (inner !== undefined) return JSON.stringify(this.value(inner));
    return this.#pseudonyms.replace(hideSecrets(text, (kind) => this.hid(kind)));
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
    if (typeof value === 'string') return this.text(value);
    if (Array.isArray(value)) return value.map((item) => this.value(item, strict));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [this.#name(name), this.#member(name, member, strict)]),
    );
  }

  #member(name: string, member: unknown, strict: boolean): unknown {
    const hide = isCredentialName(name) || (strict && /headers?$/i.test(name));
    if (hide && (strict || typeof member === 'string')) return this.#hideLeaves(member);
    return this.value(member, strict || name === 'extraConfig');
  }

  #hideLeaves(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#hideLeaves(item));
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, v]) => [this.#name(name), this.#hideLeaves(v)]));
    if (typeof value !== 'string' || value === '') return typeof value === 'number' ? 0 : value;
    this.hid('credential');
    return '[credential]';
  }

  /** Redacts the name of a member, which may hold a secret too. The bare word `token` is only a name, and stays. */
  #name(name: string): string {
    return this.#pseudonyms.replace(hideSecrets(name, (kind) => this.hid(kind)));
  }
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
