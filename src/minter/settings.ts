import { isAbsolute } from 'node:path';
import { OperatorError } from '../base/errors.ts';
import type { LogLevel } from '../base/logger.ts';
import { parseFlags } from './flags.ts';
import { isKeyVersionName, isOrganizationName } from './names.ts';
import { flagOf, minterSettingRows, type SettingName, type SettingRow } from './setting-table.ts';

/** Validated settings of `minter server run`. Units are in the names. */
export interface MinterSettings {
  bindAddress: string;
  port: number;
  adminPort: number;
  configsDir: string;
  /** Serve /token and /version over TLS with what is in this directory. */
  tlsDir: string | undefined;
  org: string;
  appId: number;
  keyVersion: string;
  nextKeyVersion: string | undefined;
  /** API root without a trailing slash; https, or http to loopback. */
  apiBaseUrl: string;
  audiences: readonly string[];
  issuerUrl: string;
  jwksUri: string;
  rateLimitPerMinute: number;
  maxRepositories: number;
  appJwtReuseSeconds: number;
  rulesReloadSeconds: number;
  allowWildcardRepositories: boolean;
  /** Which key service signs. A file key exists for development and never without an explicit permission. */
  keyProvider: { kind: 'gcp'; endpoint: { host: string; port: number } | undefined } | { kind: 'file'; path: string };
  logLevel: LogLevel;
}

/**
 * Settings from flags and environment; a flag wins over its variable. Empty text counts as unset.
 * Shape: `argv` holds the flags after `server run` (`--port 8080`, `--port=8080`, or with one dash).
 * Errors: ERR_CONFIG_INVALID that names the field and what it must be, never the value it had.
 */
export function minterSettings(
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): MinterSettings {
  const flags = readFlags(argv);
  const rows: readonly SettingRow[] = minterSettingRows;
  const get = (name: SettingName): string => {
    const row = rows.find((r) => r.env === name)!;
    const value = flags.get(name) ?? (env[name] || undefined) ?? row.default;
    if (value === undefined) throw invalid(name, 'is required');
    return value;
  };
  const appId = integer(get, 'VCS_APP_ID', 1, Number.MAX_SAFE_INTEGER);
  const org = get('VCS_ORG');
  if (!isOrganizationName(org)) throw invalid('VCS_ORG', 'must be an organisation name');
  const keyProvider = readKeyProvider(get);
  const keyVersion = get('KMS_KEY_VERSION');
  const nextKeyVersion = get('KMS_NEXT_KEY_VERSION') || undefined;
  if (!isKeyVersionName(keyVersion)) throw invalid('KMS_KEY_VERSION', versionShape);
  if (nextKeyVersion !== undefined && (!isKeyVersionName(nextKeyVersion) || nextKeyVersion === keyVersion)) {
    throw invalid('KMS_NEXT_KEY_VERSION', `${versionShape} and differ from KMS_KEY_VERSION`);
  }
  const configsDir = get('CONFIGS_DIR');
  if (!isAbsolute(configsDir)) throw invalid('CONFIGS_DIR', 'must be an absolute path');
  const tlsDir = get('TLS_DIR') || undefined;
  if (tlsDir !== undefined && !isAbsolute(tlsDir)) throw invalid('TLS_DIR', 'must be an absolute path');
  return {
    bindAddress: get('BIND_ADDRESS'),
    port: integer(get, 'PORT', 0, 65_535),
    adminPort: integer(get, 'ADMIN_PORT', 0, 65_535),
    configsDir,
    tlsDir,
    org,
    appId,
    keyVersion,
    nextKeyVersion,
    apiBaseUrl: url(get, 'VCS_API_BASE_URL'),
    audiences: audienceList(get('AUDIENCES')),
    issuerUrl: url(get, 'ISSUER_URL'),
    jwksUri: url(get, 'JWKS_URI'),
    rateLimitPerMinute: integer(get, 'RATE_LIMIT_PER_MINUTE', 1, 60_000),
    maxRepositories: integer(get, 'MAX_REPOSITORIES', 1, 500),
    appJwtReuseSeconds: integer(get, 'APP_JWT_REUSE_SECONDS', 0, 480),
    rulesReloadSeconds: integer(get, 'RULES_RELOAD_SECONDS', 1, 60),
    allowWildcardRepositories: boolean(get, 'ALLOW_WILDCARD_REPOSITORIES'),
    keyProvider,
    logLevel: oneOf(get, 'LOG_LEVEL', ['debug', 'info', 'warn', 'error']),
  };
}

const versionShape = 'must be projects/*/locations/*/keyRings/*/cryptoKeys/*/cryptoKeyVersions/N';

type Get = (name: SettingName) => string;

function readFlags(argv: readonly string[]): Map<string, string> {
  const options = Object.fromEntries(minterSettingRows.map((row) => [flagOf(row.env), { type: 'string' as const }]));
  const { values, positionals } = parseFlags(argv, options);
  if (positionals.length > 0) throw new OperatorError('ERR_CONFIG_INVALID', 'only flags are expected');
  const found = new Map<string, string>();
  for (const row of minterSettingRows) {
    const value = values[flagOf(row.env)];
    if (typeof value === 'string') found.set(row.env, value);
  }
  return found;
}

function readKeyProvider(get: Get): MinterSettings['keyProvider'] {
  const kind = oneOf(get, 'KMS_PROVIDER', ['gcp', 'file']);
  const path = get('DEV_KEY_FILE');
  if (kind === 'file') {
    if (!boolean(get, 'ALLOW_DEV_KEY')) throw invalid('ALLOW_DEV_KEY', 'must be true to sign with a key from a file');
    if (!isAbsolute(path)) throw invalid('DEV_KEY_FILE', 'must be an absolute path');
    return { kind, path };
  }
  if (path !== '') throw invalid('DEV_KEY_FILE', 'is only for KMS_PROVIDER=file');
  const endpoint = get('KMS_API_ENDPOINT');
  return { kind, endpoint: endpoint === '' ? undefined : loopbackEndpoint(endpoint) };
}

/** `host:port` on this machine, for a key service reached in plaintext. */
export function loopbackEndpoint(text: string): { host: string; port: number } {
  const match = /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|\[::1\]):([1-9]\d{0,4})$/.exec(text);
  const port = Number(match?.[2]);
  if (!match || port > 65_535) throw invalid('KMS_API_ENDPOINT', 'must be host:port on loopback');
  return { host: match[1]!, port };
}

function audienceList(text: string): readonly string[] {
  const list = text.split(',').filter((part) => part !== '');
  const ok = list.length >= 1 && list.length <= 5 && list.every((a) => /^[!-~]{1,256}$/.test(a));
  if (!ok) throw invalid('AUDIENCES', 'must be a comma list of 1 to 5 audiences of at most 256 printable characters');
  return [...new Set(list)];
}

function url(get: Get, name: SettingName): string {
  const text = get(name);
  const parsed = URL.parse(text);
  const plain =
    parsed !== null &&
    parsed.username === '' &&
    parsed.password === '' &&
    !/[?#\s]/.test(text) &&
    !text.endsWith('/') &&
    text.length <= 256;
  const secure = parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopbackHost(parsed.hostname));
  if (!plain || !secure) {
    throw invalid(name, 'must be an https URL (http only to loopback) without user, query, fragment or trailing slash');
  }
  return text;
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

function integer(get: Get, name: SettingName, min: number, max: number): number {
  const text = get(name);
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw invalid(name, `must be a whole number from ${min} to ${max}`);
  return value;
}

function boolean(get: Get, name: SettingName): boolean {
  return oneOf(get, name, ['true', 'false']) === 'true';
}

function oneOf<const T extends string>(get: Get, name: SettingName, words: readonly T[]): T {
  const found = words.find((word) => word === get(name));
  if (found === undefined) throw invalid(name, `must be one of ${words.join(', ')}`);
  return found;
}

function invalid(name: SettingName, problem: string): OperatorError {
  return new OperatorError('ERR_CONFIG_INVALID', `${name} ${problem}`);
}
