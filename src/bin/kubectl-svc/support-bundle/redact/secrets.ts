/** The name of each kind of hidden text in the index of a bundle. */
export type Hidden = 'token' | 'privateKey' | 'credential' | 'url' | 'environment' | 'annotation';

interface Rule {
  readonly pattern: RegExp;
  readonly kind: Hidden;
  /** The replacement of a match; the match itself when it is harmless. Gets the match and its groups. */
  readonly put: (...match: string[]) => string;
}

/** Words in names of members and settings whose value is a credential. */
const words =
  'passw(?:or)?d|passphrase|secret|token|credential|api[-_]?key|private[-_]?key|access[-_]?key|client[-_]?key|authorization|cookie';
const sensitive = new RegExp(words, 'i');
/** Names with such a word that only refer to a credential, or give its lifetime. */
const pointing =
  /(?:ref|refs|name|names|seconds|path|file|dir|expir\w*|url|uri|type|count|total|reviews?|audiences?)$/i;

/** Whether the value of a member or setting of this name is a credential. */
export function isCredentialName(name: string): boolean {
  return sensitive.test(name) && !pointing.test(name);
}

/** Names that have rules of their own, because their values span several words. */
const hasOwnRule = /^(?:(?:proxy-)?authorization|(?:set-)?cookie)$/i;
const harmlessValue = /^(?:true|false|null|none|unknown|undefined|-?\d{1,7}|[a-z]{1,15}|\[\w+\]|\[)$/;

/**
 * Applied in this order to every text of a bundle. Repetitions before the first fixed word are bounded, because
 * unbounded ones would take quadratic time on a long line, and a log may hold a line of a megabyte.
 */
const rules: readonly Rule[] = [
  {
    // Without an end marker, everything after the start may be the key.
    pattern: /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[^]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$(?![^]))/g,
    kind: 'privateKey',
    put: () => '[private key]',
  },
  { pattern: /\beyJ[\w-]{4,}\.[\w-]{4,}(?:\.[\w-]*)?/g, kind: 'token', put: () => '[token]' },
  {
    pattern:
      /(?<![A-Za-z0-9])(?:gh[a-z]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|ya29\.[\w-]{16,})/g,
    kind: 'token',
    put: () => '[token]',
  },
  { pattern: /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}/g, kind: 'credential', put: () => '[credential]' },
  {
    pattern: /\b(bearer|basic)(\s+|%20)([\w.~+/=-]{6,})/gi,
    kind: 'token',
    put: (all, scheme, space, value) => (/[^a-z]|.{20}/.test(value!) ? `${scheme}${space}[token]` : all!),
  },
  {
    pattern: /\b((?:set-)?cookie)(["']?\s{0,8}[:=]\s{0,8}["']?)([^\r\n"']+)/gi,
    kind: 'credential',
    put: (all, name, between, value) => (harmlessValue.test(value!.trim()) ? all! : `${name}${between}[credential]`),
  },
  {
    // With a known scheme (bearer, basic), an earlier rule has already hidden the token.
    pattern: /\b((?:proxy-)?authorization)(["']?\s{0,8}[:=]\s{0,8}["']?)([^\r\n"',;]+)/gi,
    kind: 'credential',
    put: (all, name, between, value) =>
      harmlessValue.test(value!.trim()) || /^\w+\s+\[token\]/.test(value!) ? all! : `${name}${between}[credential]`,
  },
  {
    pattern: /([a-z][a-z0-9+.-]{0,20}:\/\/)[^\s/@"'<>]{1,512}@/gi,
    kind: 'url',
    put: (_all, scheme) => `${scheme}[user]@`,
  },
  {
    pattern: /(?<=\/[^\s"'<>?\\]{0,2000})\?(?!\[)[^\s"'<>\\]+/g,
    kind: 'url',
    put: () => '?[query]',
  },
  {
    // The name, the possible separators in text, JSON, escaped JSON, YAML and flags, and a value that may be quoted.
    pattern: new RegExp(
      `([\\w.-]{0,64}(?:${words})[\\w.-]{0,64})(\\\\?["']?\\s{0,8}(?:=>|[:=])\\s{0,8}\\\\?|\\s{1,8}(?<=--[\\w-]{1,64}\\s{1,8})(?!-))` +
        `("(?:[^"\\\\]|\\\\.)*"?|'[^']*'?|[^\\s,;&"'(){}<>\\\\]+)`,
      'gi',
    ),
    kind: 'credential',
    put: (all, name, between, value) => {
      if (hasOwnRule.test(name!)) return all!;
      const bare = value!.replace(/^["']|["']$/g, '');
      const always = /passw(?:or)?d|passphrase/i.test(name!) && !/^\[/.test(bare) && bare !== '';
      if (!isCredentialName(name!) || (!always && harmlessValue.test(bare)) || bare === '') return all!;
      return `${name}${between}[credential]`;
    },
  },
  {
    pattern: /[A-Za-z0-9+/_=-]{40,}/g,
    kind: 'credential',
    put: (run) => (looksRandom(run!) ? '[credential]' : run!),
  },
];

/**
 * Whether a run of letters and digits is more likely a key than a name: hexadecimal hashes, metric names, object names
 * and paths do not count as keys.
 */
function looksRandom(run: string): boolean {
  const count = (pattern: RegExp): number => run.match(pattern)?.length ?? 0;
  return count(/[A-Z]/g) >= 5 && count(/[a-z]/g) >= 5 && count(/[0-9]/g) >= 3 && count(/\//g) <= run.length / 12;
}

/** The text with every match of a secret's pattern replaced; `seen` is called for each match. */
export function hideSecrets(text: string, seen: (kind: Hidden) => void): string {
  let shown = text;
  for (const { pattern, kind, put } of rules) {
    shown = shown.replace(pattern, (...match: string[]) => {
      const instead = put(...match);
      if (instead !== match[0]) seen(kind);
      return instead;
    });
  }
  return shown;
}
