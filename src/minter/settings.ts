import { OperatorError } from '../base/errors.ts';
import type { LogLevel } from '../base/logger.ts';
import type { SettingValues } from '../base/settings.ts';
import { variableOf } from '../base/settings.ts';
import type { minterSettingTable } from './setting-table.ts';

type MinterSettingValues = SettingValues<typeof minterSettingTable>;

/** Validated settings of `minter server run`. Units are in the names. */
export interface MinterSettings {
  bindAddress: string;
  port: number;
  adminPort: number;
  configsDir: string;
  /** Serve /token and /version over TLS with the files of this directory. */
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
  /** Names, in lower case, of the only repositories that tokens may reach; undefined: the rule files decide. */
  repositories: ReadonlySet<string> | undefined;
  appJwtReuseSeconds: number;
  rulesReloadSeconds: number;
  shutdownQuietSeconds: number;
  allowWildcardRepositories: boolean;
  /** The key service that signs. A file key is for development and needs an explicit permission. */
  keyProvider: { kind: 'gcp'; endpoint: { host: string; port: number } | undefined } | { kind: 'file'; path: string };
  logLevel: LogLevel;
}

/**
 * Validates the combination of the values, each of which was valid by itself. Pure.
 * Errors: ERR_CONFIG_INVALID that names the field and the valid values, never the given one.
 */
export function minterSettings(values: MinterSettingValues): MinterSettings {
  const { vcsOrg, vcsAppId, vcsApiBaseUrl, kmsKeyVersion, kmsNextKeyVersion, tlsDir, ...same } = values;
  const { kmsProvider, kmsApiEndpoint, devKeyFile, allowDevKey, ...rest } = same;
  if (kmsNextKeyVersion === kmsKeyVersion) throw invalid('kmsNextKeyVersion', 'must differ from KMS_KEY_VERSION');
  return {
    ...rest,
    org: vcsOrg,
    appId: vcsAppId,
    apiBaseUrl: vcsApiBaseUrl,
    keyVersion: kmsKeyVersion,
    nextKeyVersion: kmsNextKeyVersion || undefined,
    tlsDir: tlsDir || undefined,
    keyProvider: keyProviderOf({ kmsProvider, kmsApiEndpoint, devKeyFile, allowDevKey }),
  };
}

/** The key service that signs, and how to reach it. Errors: ERR_CONFIG_INVALID for an invalid combination. */
export function keyProviderOf(
  values: Pick<MinterSettingValues, 'kmsProvider' | 'kmsApiEndpoint' | 'devKeyFile' | 'allowDevKey'>,
): MinterSettings['keyProvider'] {
  const { kmsProvider: kind, devKeyFile: path } = values;
  if (kind === 'file') {
    if (!values.allowDevKey) throw invalid('allowDevKey', 'must be true to sign with a key from a file');
    if (path === '') throw invalid('devKeyFile', 'is required for KMS_PROVIDER=file');
    return { kind, path };
  }
  if (path !== '') throw invalid('devKeyFile', 'is only for KMS_PROVIDER=file');
  return { kind, endpoint: values.kmsApiEndpoint };
}

function invalid(key: keyof typeof minterSettingTable, problem: string): OperatorError {
  return new OperatorError('ERR_CONFIG_INVALID', `${variableOf(key, '')}: ${problem}`);
}
