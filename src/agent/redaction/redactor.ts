import { createHash } from 'node:crypto';
import { namingLabels } from '../../api/v1alpha1/index.ts';
import { commonLengths, pathOf, percentDecoded } from '../../base/text/texts.ts';
import { type CaptureRedaction, pathRewriter } from '../../capture/index.ts';
import { copied, truncate, valueText } from '../mapping/label-set.ts';
import { labelName } from '../mapping/names.ts';
import type { AnyValue, Attribute, Span } from '../otlp/model.ts';
import { type LabelAction, mergeRedaction, type Redaction, stricter, strictest } from './merge.ts';

/** How much of a value the action Truncate keeps. Units: characters. */
export const truncatedLength = 16;

/** The attributes whose labels name what a series belongs to: no rule for labels removes these. */
const namingKeys: ReadonlySet<string> = new Set(namingLabels.map((name) => name.replaceAll('_', '.')));
const clientAddress = new Set(['client.address', 'network.peer.address']);
const queryText = new Set(['db.query.text', 'db.statement']);
/** The beginning of the instrument's text for a SQL error, before what the server says, which may quote the query. */
const sqlCodes = /^SQL Server errored(?: for command '\w+')?: error_code=\w+ sql_state=#?\w*(?= message=)/;
const urls = new Set(['url.full', 'url.query', 'http.url', 'http.target']);
const paths = new Set(['url.path', 'http.route']);
/**
 * The attributes whose values stand in names of spans and may be redacted there. Where several have the same value, the
 * first in this list counts.
 */
const nameKeys = [
  ...['http.route', 'rpc.method', 'db.collection.name', 'db.namespace', 'db.operation.name'],
  ...['messaging.destination.name', 'url.path'],
];
/**
 * A span has at most so many phrases to redact unless it repeats keys; of one that has more, the whole name is replaced.
 * URLs and paths count twice: as they are, and decoded.
 */
const mostPhrases = nameKeys.length + 2 * (urls.size + 1);
const header = /^http\.(?:request|response)\.header\.(.+)$/;
/**
 * URLs, paths and names of spans are cut to this length before they are redacted, which takes time and memory in
 * proportion to it. No label or text of a span keeps more than half of it. Units: characters.
 */
const longestRedacted = 8_192;
/**
 * The users of URLs in a text, also of a URL in another one, and where JSON escapes the slashes. A password may have
 * slashes too, but not two in a row, which may begin the next URL, nor one behind what could be a port.
 */
const users =
  /(\/\\?\/)(?:(?:[^\s/?#"<>\\]|\\(?!\/))*@|(?:[^\s/?#"<>@:[\\]|\\(?!\/))*:(?!\d{1,5}(?:[/?#\\\s"'<>()\],;|`]|$))(?:(?!\/\\?\/)[^\s"<>])*@)/g;
/** Go quotes the beginning of a password that has a slash, because it takes it for a port. */
const goPort = /(?<=invalid port ")[^"]*/g;
/**
 * Query parameters in a text, also behind `&` as JSON and HTML escape it. The value of one may be a URL with further
 * ones, and has no punctuation behind it.
 */
const parameters =
  /(?<=[?&;#]|\\u0026)([\w.~%[\]-]{1,128})=(?:(?![?#][\w.~%[\]-]{1,128}=)[^\s"'<>`&;\\])+(?<![.,:)\]}])/g;
/**
 * URLs and paths in a text that quotes them, without punctuation behind them. A quote ends one unless it stands within a
 * word. The next URL of a list ends one, too. What comes before a match decides whether it may begin there, so each part
 * of the text is read for one match at most, and the time is in proportion to the text.
 */
const quoted =
  /(?:[a-z](?<=(?<![a-z\d+.-])[\d+.-]*.)[a-z\d+.-]*:\/|(?<![\w~%./-]))\/(?:(?![,;()|][a-z\d+.-]{1,32}:\/\/)(?:[^\s"'<>`]|'(?=\w)))*[^\s"'<>`.,:;)\]}]/gi;
/** The longest path that is remembered with its rewritten form. Units: characters. */
const longestRewriteKept = 256;
/** Memory of all paths that are remembered for a config, and of one without its texts. Units: bytes, roughly. */
const rewritesBytes = 4 * 1024 * 1024;
const rewriteBytes = 100;
/** How many lists of namespaces are remembered, and the longest of them. Units: lists, characters. */
const namespacesKept = 10_000;
const longestNamespacesKept = 256;
const redacted = 'REDACTED';

/**
 * Redacts labels before they name a series, and spans before they are stored.
 * It works on OTLP attributes, from which both are made, so that one rule holds for both; only the rules for labels
 * use Prometheus' names.
 */
export class Redactor {
  readonly #rules: Redaction;
  readonly #rewriters: readonly ((path: string) => string)[];
  readonly #rewritten: RewrittenPaths;

  constructor(rules: Redaction, rewritten = new RewrittenPaths()) {
    this.#rules = rules;
    this.#rewritten = rewritten;
    this.#rewriters = this.#rules.paths.map(({ pattern, replacement }) => pathRewriter(pattern, replacement));
  }

  /**
   * The attribute's value after redaction, or undefined when it must be dropped. `headers`: the headers that a monitor
   * asked for.
   */
  attribute(key: string, value: AnyValue, headers?: ReadonlySet<string>): AnyValue | undefined {
    const { dropClientAddress, dropDbQueryText } = this.#rules;
    if (dropClientAddress && clientAddress.has(key)) return undefined;
    if (dropDbQueryText && queryText.has(key)) return undefined;
    let kept = value;
    if (key.startsWith('http.')) {
      const name = header.exec(key)?.[1];
      if (name !== undefined) {
        const allowed = this.#header(name, value, headers);
        if (allowed === undefined) return undefined;
        kept = allowed;
      }
    }
    if (typeof kept === 'string') {
      if (urls.has(key)) kept = this.#url(kept, key === 'url.query');
      else if (paths.has(key)) kept = this.#url(kept, false);
    }
    const action = namingKeys.has(key) ? undefined : this.#actionOn(key);
    return action === undefined ? kept : act(action, kept);
  }

  /** The value, after redaction, of a label that does not come from an attribute, such as one of the pod's labels. */
  label(name: string, value: string): string | undefined {
    const action = this.#rules.labels.get(name);
    return action === undefined ? value : act(action, value);
  }

  /** The text, a path or a URL, with its path after all rewrites. */
  path(text: string): string {
    return this.#rewriters.length === 0 ? text : rewritePath(text, this.#rewrite);
  }

  readonly #rewrite = (path: string): string => {
    const known = this.#rewritten.get(this, path);
    if (known !== undefined) return known;
    const isShort = path.length <= longestRewriteKept;
    const own = isShort ? copied(path) : path;
    const made = this.#rewriters.reduce((done, rewrite) => rewrite(done), own);
    if (isShort && made.length <= longestRewriteKept) this.#rewritten.set(this, own, made);
    return made;
  };

  /**
   * The name of a span. A word of it that is the value of one of the span's `attributes`, as they were before their
   * redaction, is treated as that is, and so are several words together, also if they are the path of a URL, decoded or
   * not. Any other word that begins with a slash may be a route or a path. A long name is cut; where words of names are
   * redacted, what the cut goes through, or may go through, is replaced.
   */
  spanName(name: string, attributes: readonly Attribute[] = []): string {
    const text = truncate(name, longestRedacted);
    const hasAction = nameKeys.some((key) => this.#actionOn(key) !== undefined);
    if (this.#rewriters.length === 0 && !hasAction) return text;
    const isCut = text.length < name.length;
    const keys = nameKeysByWord(attributes);
    const values = new Set([...keys.keys(), ...pathsOfUrls(attributes)]);
    const phrases = [...values].filter((value) => /\s/.test(value) && this.#mayChange(value, keys));
    if (phrases.length > mostPhrases) return redacted;
    const phraseAt = phraseFinder(phrases, text, isCut);
    const words = /\S+/g;
    let shown = '';
    let done = 0;
    for (let next; (next = words.exec(text)) !== null; words.lastIndex = done) {
      const { 0: single, index } = next;
      const word = phraseAt(index) ?? single;
      const end = index + word.length;
      const isCutOff = isCut && end >= text.length && (word.startsWith('/') || hasAction);
      shown += text.slice(done, index) + (isCutOff ? markOf(word) : this.#word(word, keys));
      done = end;
    }
    return shown + text.slice(done);
  }

  /**
   * The message of a span's status. Where texts of queries are dropped, that of a database has at most the codes of a
   * SQL error. In others, URLs, paths and query parameters are redacted, and actions on labels hold for URLs and paths,
   * as they do in names; the word that a cut goes through is replaced.
   */
  statusMessage({ statusMessage, attributes }: Pick<Span, 'statusMessage' | 'attributes'>): string {
    if (statusMessage === '') return '';
    if (this.#rules.dropDbQueryText && attributes.some(({ key }) => key.startsWith('db.'))) {
      return sqlCodes.exec(statusMessage)?.[0] ?? '';
    }
    const keys = nameKeysByWord(attributes);
    return wholeWords(statusMessage)
      .replace(users, '$1')
      .replace(goPort, redacted)
      .replace(quoted, (url) => this.#quoted(url, keys))
      .replace(parameters, (pair, name: string) =>
        this.#isSensitive(percentDecoded(name)) ? `${name}=${redacted}` : pair,
      );
  }

  #actionOn(key: string): LabelAction | undefined {
    const { labels } = this.#rules;
    return labels.size === 0 ? undefined : (labels.get(labelName(key)) ?? labels.get(key));
  }

  /** A URL or a path of a message. */
  #quoted(url: string, keys: ReadonlyMap<string, string>): string {
    const action = url.startsWith('/') ? undefined : this.#actionOn('url.full');
    if (action !== undefined) return act(action, this.#url(url, false)) ?? redacted;
    return rewritePath(redactUrl(url, this.#isSensitive), (path) => {
      const kept = this.#word(path, keys);
      // Behind an origin, a hash follows a slash, as the path did.
      return kept.startsWith('/') || url.startsWith('/') ? kept : `/${kept}`;
    });
  }

  /**
   * A word of a name, or a path of a message. `keys` has the attributes that words belong to. A path that belongs to none
   * may be that of a route or of a URL.
   */
  #word(word: string, keys: ReadonlyMap<string, string>): string {
    const key = keys.get(word);
    const isPath = word.startsWith('/');
    const action = this.#wordAction(word, keys);
    // The name must show the same hash as the attribute, and `attribute` rewrites only `http.route` and `url.path`.
    const isRewritten = isPath && (action === undefined || key === undefined || paths.has(key));
    const kept = isRewritten ? this.path(word) : word;
    return action === undefined ? kept : (act(action, kept) ?? markOf(word));
  }

  #wordAction(word: string, keys: ReadonlyMap<string, string>): LabelAction | undefined {
    const key = keys.get(word);
    if (key !== undefined) return this.#actionOn(key);
    return word.startsWith('/') ? stricter(this.#actionOn('http.route'), this.#actionOn('url.path')) : undefined;
  }

  /** Whether such a word is redacted by an action or, as a path, by rewrites. */
  #mayChange(word: string, keys: ReadonlyMap<string, string>): boolean {
    return (this.#rewriters.length > 0 && word.startsWith('/')) || this.#wordAction(word, keys) !== undefined;
  }

  #url(text: string, queryOnly: boolean): string {
    const url = text.length > longestRedacted ? beginningOf(text, this.#rewriters.length > 0) : text;
    return this.path(redactUrl(url, this.#isSensitive, queryOnly));
  }

  #header(name: string, value: AnyValue, asked: ReadonlySet<string> | undefined): AnyValue | undefined {
    const lower = name.toLowerCase();
    if (!this.#rules.allowHeaders.has(lower) || !asked?.has(lower)) return undefined;
    return this.#rules.obfuscateHeaders.has(lower) ? redacted : value;
  }

  readonly #isSensitive = (name: string): boolean => this.#rules.queryParams.has(name.toLowerCase());
}

/** Paths and what redactors made of them. All are forgotten when they take too much memory together. */
class RewrittenPaths {
  readonly #byRedactor = new Map<Redactor, Map<string, string>>();
  #bytes = 0;

  get(redactor: Redactor, path: string): string | undefined {
    return this.#byRedactor.get(redactor)?.get(path);
  }

  set(redactor: Redactor, path: string, made: string): void {
    const bytes = rewriteBytes + path.length + made.length;
    if (this.#bytes + bytes > rewritesBytes) {
      this.#byRedactor.clear();
      this.#bytes = 0;
    }
    this.#bytes += bytes;
    let paths = this.#byRedactor.get(redactor);
    if (!paths) this.#byRedactor.set(redactor, (paths = new Map()));
    paths.set(path, made);
  }
}

/** The redactors of a config, by namespace. Namespaces with equal sets of rules share a redactor. */
export class Redactors {
  readonly #rules: readonly CaptureRedaction[];
  /** For each rule the namespaces that it is restricted to. */
  readonly #within: readonly (ReadonlySet<string> | undefined)[];
  readonly #bySets = new Map<string, Redactor>();
  readonly #rewritten = new RewrittenPaths();
  readonly #byNamespace = new Map<string, Redactor>();

  constructor(rules: readonly CaptureRedaction[] = []) {
    this.#rules = rules;
    this.#within = rules.map(({ namespaces }) => namespaces && new Set(namespaces));
  }

  /**
   * The redactor for data of these namespaces. What the rules of any of them redact is redacted, and only what the
   * rules of all of them permit is permitted. Without names, the namespace is unknown: the data may be of any
   * namespace, or of none, so the rules of all namespaces hold.
   */
  of(...names: readonly string[]): Redactor {
    const namespaces = names.filter(Boolean);
    const key = namespaces.join('/');
    const known = this.#byNamespace.get(key);
    if (known) return known;
    const possible =
      namespaces.length > 0 ? namespaces : ['', ...this.#within.flatMap((within) => [...(within ?? [])])];
    const sets = new Map(new Set(possible).values().map((name) => this.#setOf(name)));
    const setsKey = [...sets.keys()].toSorted().join(';');
    const redactor = this.#bySets.get(setsKey) ?? this.#make([...sets.values()]);
    this.#bySets.set(setsKey, redactor);
    // The far end of a flow has whatever name its sender gives it.
    if (key.length > longestNamespacesKept) return redactor;
    if (this.#byNamespace.size >= namespacesKept) this.#byNamespace.clear();
    this.#byNamespace.set(key, redactor);
    return redactor;
  }

  /** The rules that hold in a namespace, with a key for this set of rules. */
  #setOf(name: string): [key: string, rules: readonly CaptureRedaction[]] {
    const holds = this.#within.map((within) => !within || within.has(name));
    return [holds.join(), this.#rules.filter((_, i) => holds[i])];
  }

  #make(sets: readonly (readonly CaptureRedaction[])[]): Redactor {
    const paths = this.#rules
      .filter((rule) => sets.some((set) => set.includes(rule)))
      .flatMap((rule) => rule.paths ?? []);
    return new Redactor(strictest(sets.map(mergeRedaction), paths), this.#rewritten);
  }
}

/** Keys of the attributes that words of a span's name belong to, by word, or by several words. */
function nameKeysByWord(attributes: readonly Attribute[]): ReadonlyMap<string, string> {
  const named = nameKeys.map((wanted) => attributes.filter(({ key }) => key === wanted));
  return new Map(named.toReversed().flatMap((same) => same.map(({ key, value }) => [valueText(value).trim(), key])));
}

/** The paths of URLs and `url.path`, as they are and decoded: a framework may name a span by either. */
function pathsOfUrls(attributes: readonly Attribute[]): string[] {
  return attributes
    .filter(({ key }) => urls.has(key) || key === 'url.path')
    .map(({ value }) => pathOf(valueText(value)) ?? '')
    .flatMap((path) => [path.trim(), percentDecoded(path).trim()]);
}

/**
 * Finds the longest of the phrases that stands at an index of the text, the beginning of a word, and ends with a word.
 * In a text that was cut, the end may be that of the text.
 */
function phraseFinder(phrases: readonly string[], text: string, isCut: boolean): (index: number) => string | undefined {
  const longestFirst = phrases
    .toSorted((a, b) => b.length - a.length)
    .map((phrase) => ({ length: phrase.length, common: commonLengths(phrase.slice(0, text.length), text) }));
  return (index) => {
    for (const { length, common } of longestFirst) {
      const end = index + common[index]!;
      const isWhole = common[index] === length && !/\S/.test(text.charAt(end));
      if (isWhole || (isCut && end === text.length)) return text.slice(index, end);
    }
    return undefined;
  };
}

/** What replaces a word: a path stays one. */
function markOf(word: string): string {
  return word.startsWith('/') ? `/${redacted}` : redacted;
}

/** A hash is the first 16 hex digits of SHA-256: the same on every node, so that a query can still group by it. */
function act(action: LabelAction, value: AnyValue): string | undefined {
  if (action === 'Drop') return undefined;
  const text = valueText(value);
  if (action === 'Hash') return createHash('sha256').update(text).digest('hex').slice(0, 16);
  return truncate(text, truncatedLength);
}

/** The beginning of a long text. `REDACTED` replaces the word that the cut goes through, which may be a URL. */
function wholeWords(text: string): string {
  const cut = truncate(text, longestRedacted);
  return cut.length === text.length ? text : /^(?:.*\s)?/s.exec(cut)![0] + redacted;
}

/** A URL without its user part, and with `REDACTED` as the value of each query parameter that `isSensitive` names. */
function redactUrl(url: string, isSensitive: (name: string) => boolean, queryOnly = false): string {
  const at = queryOnly ? 0 : url.indexOf('?') + 1;
  if (!queryOnly && at === 0) return withoutUser(url);
  const query = url
    .slice(at)
    .split('&')
    .map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 0) return pair;
      return isSensitive(percentDecoded(pair.slice(0, equals))) ? `${pair.slice(0, equals)}=${redacted}` : pair;
    })
    .join('&');
  return withoutUser(url.slice(0, at)) + query;
}

const originAndPath = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)?[^?#]*/i;

/**
 * The beginning of a long URL, path or query. A user and host of which the end is not seen are replaced, because the
 * end says whether there is a user. So is a path where paths are rewritten, because a rewrite may look at all of it.
 */
function beginningOf(url: string, isRewritten: boolean): string {
  const text = truncate(url, longestRedacted);
  const [whole, origin = ''] = originAndPath.exec(text)!;
  if (origin.length === text.length) return redacted;
  return isRewritten && whole.length === text.length ? `${origin}/${redacted}` : text;
}

/** Rewrites the path of a URL, or of a text that is a path, and leaves its origin, query and fragment alone. */
function rewritePath(url: string, rewrite: (path: string) => string): string {
  const [, origin, path, rest] = /^([a-z][a-z0-9+.-]*:\/\/[^/?#]*)?([^?#]*)(.*)$/is.exec(url)!;
  return path ? `${origin ?? ''}${rewrite(path)}${rest ?? ''}` : url;
}

function withoutUser(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1');
}
