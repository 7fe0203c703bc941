import { isIP, isIPv4 } from 'node:net';
import { appIdForm, parseAppId } from '../api/v1alpha1/app-id.ts';
import { keyVersionForm } from '../api/v1alpha1/key-version.ts';
import { serviceUrlForm, serviceUrlPattern } from '../api/v1alpha1/service-url.ts';
import type { LogLevel } from '../base/logger.ts';
import type { Setting } from '../base/settings.ts';
import { foldName, isKeyVersionName, isOrganizationName, isRepositoryName } from './names.ts';

/**
 * Every setting of `minter server run`: the key `vcsAppId` is `--vcs-app-id`, `VCS_APP_ID` and, in a settings file,
 * `vcs-app-id`. Order is the order of `--help`. No message repeats a value.
 */
export const minterSettingTable = {
  vcsOrg: must(
    { help: 'organisation served; rules are read from <CONFIGS_DIR>/<VCS_ORG>/' },
    isOrganizationName,
    'be an organisation name',
  ),
  vcsAppId: appId({ help: "the App's numeric ID" }),
  kmsKeyVersion: must(
    { help: 'full name of one key version: projects/…/cryptoKeyVersions/N' },
    isKeyVersionName,
    `be ${keyVersionForm}`,
  ),
  kmsNextKeyVersion: must(
    { default: '', help: 'the version that is about to take over; it is checked, and signs nothing else' },
    (text) => text === '' || isKeyVersionName(text),
    `be ${keyVersionForm}`,
  ),
  audiences: audienceList({ help: 'accepted audiences, comma list of at most 5, compared byte for byte' }),
  bindAddress: must(
    { default: '::', help: 'address of both listeners' },
    (text) => isIP(text) !== 0,
    'be an IP address',
  ),
  port: integer({ default: '8080', help: 'port of /token and /version' }, 0, 65_535),
  adminPort: integer({ default: '9090', help: 'port of /livez, /readyz and /metrics' }, 0, 65_535),
  tlsDir: absolutePath({ default: '', help: 'directory of tls.crt and tls.key for PORT; absent: plain HTTP' }),
  configsDir: absolutePath({ default: '/etc/minter', help: 'parent directory of the rule files' }),
  vcsApiBaseUrl: baseUrl({ default: 'https://api.github.com', help: 'API root of the hosting platform' }),
  issuerUrl: url({ default: 'https://accounts.google.com', help: 'the one issuer of identity tokens' }),
  jwksUri: url({ default: 'https://www.googleapis.com/oauth2/v3/certs', help: "the issuer's keys; pinned" }),
  rateLimitPerMinute: integer({ default: '30', help: 'mints per caller, minute and pod' }, 1, 60_000),
  maxRepositories: integer({ default: '10', help: 'repositories per request, at most 500' }, 1, 500),
  repositories: repositorySet({
    default: '',
    help: 'comma list of the only repositories that tokens may reach; absent: what the rule files say',
  }),
  appJwtReuseSeconds: integer({ default: '240', help: 'how long one App JWT serves; 0 signs for every mint' }, 0, 480),
  rulesReloadSeconds: integer({ default: '15', help: 'poll of the rule files, on top of watching them' }, 1, 60),
  shutdownQuietSeconds: integer(
    { default: '3', help: 'after SIGTERM serve until no new connection has come for this long, but for 15 s at most' },
    0,
    10,
  ),
  allowWildcardRepositories: boolean({ default: 'false', help: "accept repositories: ['*'] in a rule file" }),
  kmsProvider: oneOf({ default: 'gcp', help: 'gcp, or file: a local key, for development only' }, ['gcp', 'file']),
  kmsApiEndpoint: loopbackSetting({ default: '', help: 'host:port of a key service on loopback, plaintext: tests' }),
  devKeyFile: absolutePath({
    default: '',
    help: 'PEM of the development key (KMS_PROVIDER=file); production builds cannot use one',
  }),
  allowDevKey: boolean({ default: 'false', help: 'must be true for KMS_PROVIDER=file to start at all' }),
  logLevel: oneOf<LogLevel>({ default: 'info', help: 'debug, info, warn or error' }, [
    'debug',
    'info',
    'warn',
    'error',
  ]),
};

const { vcsOrg, vcsAppId, kmsKeyVersion, vcsApiBaseUrl, kmsProvider, kmsApiEndpoint, devKeyFile, allowDevKey } =
  minterSettingTable;

/** Inputs of `minter tools check`: our identity, the signing key, and the platform. */
export const checkSettingTable = {
  vcsOrg,
  vcsAppId,
  kmsKeyVersion,
  vcsApiBaseUrl,
  kmsProvider,
  kmsApiEndpoint,
  devKeyFile,
  allowDevKey,
};

const serviceUrl = new RegExp(serviceUrlPattern);

interface Meaning {
  help: string;
  default?: string;
}

/** `host:port` on this machine, for a key service without TLS. Errors: an Error that describes the expected form. */
export function loopbackEndpoint(text: string): { host: string; port: number } {
  const match = /^(.+):([1-9]\d{0,4})$/.exec(text);
  const port = Number(match?.[2]);
  if (!match || !isLoopbackHost(match[1]!) || port > 65_535) throw new Error('must be host:port on loopback');
  return { host: match[1]!, port };
}

function must(meaning: Meaning, holds: (text: string) => boolean, be: string): Setting<string> {
  return {
    ...meaning,
    parse: (text) => {
      if (!holds(text)) throw new Error(`must ${be}`);
      return text;
    },
  };
}

function absolutePath(meaning: Meaning & { default: string }): Setting<string> {
  return must(meaning, (text) => text === meaning.default || text.startsWith('/'), 'be an absolute path');
}

function loopbackSetting(meaning: Meaning): Setting<{ host: string; port: number } | undefined> {
  return { ...meaning, parse: (text) => (text === '' ? undefined : loopbackEndpoint(text)) };
}

function appId(meaning: Meaning): Setting<number> {
  return {
    ...meaning,
    parse: (text) => {
      const id = parseAppId(text);
      if (id === undefined) throw new Error(`must be ${appIdForm}`);
      return id;
    },
  };
}

function integer(meaning: Meaning, min: number, max: number): Setting<number> {
  return {
    ...meaning,
    parse: (text) => {
      const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
      if (!(value >= min && value <= max)) throw new Error(`must be a whole number from ${min} to ${max}`);
      return value;
    },
  };
}

function boolean(meaning: Meaning): Setting<boolean> {
  const choice = oneOf(meaning, ['true', 'false']);
  return { ...meaning, parse: (text) => choice.parse(text) === 'true' };
}

function oneOf<const T extends string>(meaning: Meaning, words: readonly T[]): Setting<T> {
  return {
    ...meaning,
    parse: (text) => {
      const found = words.find((word) => word === text);
      if (found === undefined) throw new Error(`must be one of ${words.join(', ')}`);
      return found;
    },
  };
}

function audienceList(meaning: Meaning): Setting<readonly string[]> {
  return {
    ...meaning,
    parse: (text) => {
      const list = text.split(',').filter((part) => part !== '');
      if (list.length < 1 || list.length > 5 || !list.every((audience) => /^[!-~]{1,256}$/.test(audience))) {
        throw new Error('must be a comma list of 1 to 5 audiences of at most 256 printable characters');
      }
      return [...new Set(list)];
    },
  };
}

/** The repository names in one case, for comparison; undefined if none is given. */
function repositorySet(meaning: Meaning): Setting<ReadonlySet<string> | undefined> {
  return {
    ...meaning,
    parse: (text) => {
      if (text === '') return undefined;
      const list = text.split(',');
      if (!list.every(isRepositoryName)) throw new Error('must be a comma list of plain repository names');
      return new Set(list.map(foldName));
    },
  };
}

function url(meaning: Meaning): Setting<string> {
  return must(meaning, isServiceUrl, `be an https URL (http only to loopback) with ${serviceUrlForm}`);
}

/** A URL that paths are appended to. */
function baseUrl(meaning: Meaning): Setting<string> {
  const isBase = (text: string): boolean => isServiceUrl(text) && !text.endsWith('/');
  return must(meaning, isBase, `be an https URL (http only to loopback) with ${serviceUrlForm}, nor a final slash`);
}

function isServiceUrl(text: string): boolean {
  const parsed = text.length <= 256 && serviceUrl.test(text) ? URL.parse(text) : null;
  return parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopbackHost(parsed.hostname));
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || (isIPv4(host) && host.startsWith('127.'));
}
