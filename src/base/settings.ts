import { isIP } from 'node:net';
import { formatDuration, parseDuration } from './duration.ts';
import { OperatorError } from './errors.ts';

/**
 * Settings of a process as a table: one row gives the flag, the environment variable, the default, the help text and
 * the check. A flag beats its variable, which beats the settings file, which beats the default; empty text in a
 * variable counts as unset. Shape: the key `scrapePort` is `--scrape-port`, `scrape-port` in a file and, with the
 * prefix `SVC_`, `SVC_SCRAPE_PORT`.
 */
export interface Setting<T> {
  readonly help: string;
  /** The text used when no source has one. Absent: the setting is required. */
  readonly default?: string;
  /** The only accepted texts, if they are a fixed set. */
  readonly choices?: readonly string[];
  /** Converts text to the value; throws an Error with the reason, which does not repeat the name. */
  readonly parse: (text: string) => T;
}

export type SettingTable = Readonly<Record<string, Setting<unknown>>>;
export type SettingValues<T extends SettingTable> = {
  -readonly [K in keyof T]: T[K] extends Setting<infer V> ? V : never;
};

export interface SettingSources {
  /** The values of the command line, by key of the table. */
  flags: Readonly<Record<string, string | undefined>>;
  env: Readonly<Record<string, string | undefined>>;
  /** The values of a settings file, by key of the table, and the file's name for messages. */
  file?: { name: string; values: Readonly<Record<string, string | undefined>> } | undefined;
  /** Prefix of the environment variables, e.g. `SVC_`. */
  prefix: string;
}

/**
 * Reads and checks every row, and reports all errors at once.
 * Errors: ERR_CONFIG_INVALID; it names the flag or variable and the reason.
 */
export function readSettings<T extends SettingTable>(table: T, sources: SettingSources): SettingValues<T> {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [key, row] of Object.entries(table)) {
    const { text, name } = sourceOf(key, row, sources);
    if (text === undefined) {
      problems.push(`${flagOf(key)} (or ${variableOf(key, sources.prefix)}) is required: ${row.help}`);
      continue;
    }
    try {
      values[key] = row.parse(text);
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new OperatorError('ERR_CONFIG_INVALID', problems.join('; '));
  return values as SettingValues<T>;
}

/** The first source that has the setting, and the name that a user would look for. */
function sourceOf(
  key: string,
  row: Setting<unknown>,
  { flags, env, file, prefix }: SettingSources,
): { text: string | undefined; name: string } {
  const variable = variableOf(key, prefix);
  if (flags[key] !== undefined) return { text: flags[key], name: flagOf(key) };
  if (env[variable]) return { text: env[variable], name: variable };
  const text = file?.values[key];
  if (file && text !== undefined) return { text, name: `${fileKeyOf(key)} in ${file.name}` };
  return { text: row.default, name: flagOf(key) };
}

/** `scrapePort` → `--scrape-port`. */
export function flagOf(key: string): string {
  return `--${fileKeyOf(key)}`;
}

/** `scrapePort` → `scrape-port`: the key of a settings file. */
export function fileKeyOf(key: string): string {
  return key.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);
}

/** `scrapePort` → `SVC_SCRAPE_PORT`. */
export function variableOf(key: string, prefix: string): string {
  return prefix + key.replace(/[A-Z]/g, (c) => `_${c}`).toUpperCase();
}

interface Meaning {
  help: string;
  default?: string;
}

/** Any text; with `pattern`, only text that it matches. */
export function textSetting(
  meaning: Meaning,
  pattern?: RegExp,
  expected = 'text of the documented form',
): Setting<string> {
  return checked(meaning, (text) => !pattern || pattern.test(text), expected);
}

function checked(meaning: Meaning, holds: (text: string) => boolean, expected: string): Setting<string> {
  return {
    ...meaning,
    parse: (text) => {
      if (!holds(text)) throw new Error(`${JSON.stringify(text)} is not ${expected}`);
      return text;
    },
  };
}

/** An IPv4 or IPv6 address to bind. */
export function addressSetting(meaning: Meaning): Setting<string> {
  return checked(meaning, (text) => isIP(text) !== 0, 'an IP address');
}

/** The name of a namespace. */
export function namespaceSetting(meaning: Meaning): Setting<string> {
  return textSetting(meaning, /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'a namespace name');
}

/** The form of the URLs that a setting accepts; user info is always refused. */
export interface UrlShape {
  readonly protocols: readonly ('http' | 'https')[];
  /** Only `PROTOCOL://HOST:PORT`. Default: a path may follow. */
  readonly bare?: boolean;
}

/**
 * A URL without user info, query and fragment, or empty text when that is the default. Credentials belong in files and
 * Secrets: settings are shown by `status/config`, by `ps` and in manifests.
 * Errors: the reason alone, never the text, which may hold a password.
 */
export function urlSetting(meaning: Meaning, { protocols, bare = false }: UrlShape): Setting<string> {
  const schemes = protocols.join(' or ');
  return {
    ...meaning,
    parse: (text) => {
      if (text === '' && meaning.default === '') return text;
      const url = URL.parse(text);
      if (!url || /[\s\\]/.test(text) || !protocols.some((protocol) => text.startsWith(`${protocol}://`))) {
        throw new Error(`is not an ${schemes} address`);
      }
      if (url.username !== '' || url.password !== '' || /^[^/]+\/\/[^/?#]*@/.test(text)) {
        throw new Error('must not hold a user or a password: they belong in a file or a Secret');
      }
      if (/[?#]/.test(text)) throw new Error('must have no query and no fragment');
      if (bare && !/^[^/]+\/\/[^/]+$/.test(text)) throw new Error('must have no path');
      return text;
    },
  };
}

export function integerSetting(meaning: Meaning, min: number, max: number): Setting<number> {
  return {
    ...meaning,
    parse: (text) => {
      const value = Number(text);
      if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value) || value < min || value > max) {
        throw new Error(`${JSON.stringify(text)} is not a whole number from ${min} to ${max}`);
      }
      return value;
    },
  };
}

/** `a,b` → `['a', 'b']`; empty text is the empty list. */
export function listSetting(meaning: Meaning, entry: RegExp, expected: string): Setting<string[]> {
  return {
    ...meaning,
    parse: (text) => {
      const list = text === '' ? [] : text.split(',').map((item) => item.trim());
      for (const item of list) if (!entry.test(item)) throw new Error(`${JSON.stringify(item)} is not ${expected}`);
      return list;
    },
  };
}

/** A TCP port; 0 lets the system choose. */
export function portSetting(meaning: Meaning): Setting<number> {
  return integerSetting(meaning, 0, 65_535);
}

/** Ports and ranges of them such as `80,443,8000-8100`. The value is the text. */
export function portListSetting(meaning: Meaning): Setting<string> {
  const isRange = (part: string): boolean => {
    const match = /^([0-9]{1,5})(?:-([0-9]{1,5}))?$/.exec(part);
    const [from, to] = [Number(match?.[1]), Number(match?.[2] ?? match?.[1])];
    return from >= 1 && from <= to && to <= 65_535;
  };
  return checked(meaning, (text) => text.split(',').every(isRange), 'a list of ports such as 80,443,8000-8100');
}

export function booleanSetting(meaning: Meaning): Setting<boolean> {
  return {
    ...meaning,
    choices: ['true', 'false'],
    parse: (text) => {
      if (text !== 'true' && text !== 'false') throw new Error(`${JSON.stringify(text)} is neither true nor false`);
      return text === 'true';
    },
  };
}

/** A duration such as `30s`, of at least `minMs`. Units of the value: milliseconds. */
export function durationSetting(meaning: Meaning, minMs = 0): Setting<number> {
  return {
    ...meaning,
    parse: (text) => {
      const ms = parseDuration(text, 'value');
      if (ms < minMs) throw new Error(`${JSON.stringify(text)} is shorter than ${formatDuration(minMs)}`);
      return ms;
    },
  };
}

export function choiceSetting<const T extends string>(meaning: Meaning, choices: readonly T[]): Setting<T> {
  return {
    ...meaning,
    choices,
    parse: (text) => {
      if (!(choices as readonly string[]).includes(text))
        throw new Error(`${JSON.stringify(text)} is not one of ${choices.join(', ')}`);
      return text as T;
    },
  };
}

export const logLevelSetting = choiceSetting({ help: 'least severe level that is logged', default: 'info' }, [
  'debug',
  'info',
  'warn',
  'error',
]);
