/** One row per setting: the only place that knows its names, default and help. Flags and help are made from it. */
export interface SettingRow {
  env: string;
  /** Absent: required. */
  default?: string;
  help: string;
}

/** Order is the order of `--help`. The flag of `VCS_APP_ID` is `--vcs-app-id`. */
export const minterSettingRows = [
  { env: 'VCS_ORG', help: 'organisation served; rules are read from <CONFIGS_DIR>/<VCS_ORG>/' },
  { env: 'VCS_APP_ID', help: "the App's numeric ID" },
  { env: 'KMS_KEY_VERSION', help: 'full name of one key version: projects/…/cryptoKeyVersions/N' },
  {
    env: 'KMS_NEXT_KEY_VERSION',
    default: '',
    help: 'a version to check beside it before a rotation; it mints nothing',
  },
  { env: 'AUDIENCES', help: 'accepted audiences, comma list of at most 5, compared byte for byte' },
  { env: 'BIND_ADDRESS', default: '0.0.0.0', help: 'address of both listeners' },
  { env: 'PORT', default: '8080', help: 'port of /token and /version' },
  { env: 'ADMIN_PORT', default: '9090', help: 'port of /livez, /readyz and /metrics' },
  { env: 'TLS_DIR', default: '', help: 'directory of tls.crt and tls.key for PORT; absent: plain HTTP' },
  { env: 'CONFIGS_DIR', default: '/etc/minter', help: 'parent directory of the rule files' },
  { env: 'VCS_API_BASE_URL', default: 'https://api.github.com', help: 'API root of the hosting platform' },
  { env: 'ISSUER_URL', default: 'https://accounts.google.com', help: 'the one issuer of identity tokens' },
  { env: 'JWKS_URI', default: 'https://www.googleapis.com/oauth2/v3/certs', help: "the issuer's keys; pinned" },
  { env: 'RATE_LIMIT_PER_MINUTE', default: '30', help: 'mints per caller, minute and pod' },
  { env: 'MAX_REPOSITORIES', default: '10', help: 'repositories per request, at most 500' },
  { env: 'APP_JWT_REUSE_SECONDS', default: '240', help: 'how long one App JWT serves; 0 signs for every mint' },
  { env: 'RULES_RELOAD_SECONDS', default: '15', help: 'poll of the rule files, on top of watching them' },
  { env: 'ALLOW_WILDCARD_REPOSITORIES', default: 'false', help: "accept repositories: ['*'] in a rule file" },
  { env: 'KMS_PROVIDER', default: 'gcp', help: 'gcp, or file: a local key, for development only' },
  { env: 'KMS_API_ENDPOINT', default: '', help: 'host:port of a key service on loopback, plaintext: tests' },
  { env: 'DEV_KEY_FILE', default: '', help: 'PEM of the development key (KMS_PROVIDER=file)' },
  { env: 'ALLOW_DEV_KEY', default: 'false', help: 'must be true for KMS_PROVIDER=file to start at all' },
  { env: 'LOG_LEVEL', default: 'info', help: 'debug, info, warn or error' },
] as const satisfies readonly SettingRow[];

export type SettingName = (typeof minterSettingRows)[number]['env'];

export function flagOf(env: string): string {
  return env.toLowerCase().replaceAll('_', '-');
}

/** The settings part of `minter server run --help`. */
export function settingsHelp(): string {
  const rows: readonly SettingRow[] = minterSettingRows;
  return rows
    .map((row) => {
      const value = row.default === undefined ? 'required' : row.default === '' ? 'unset' : row.default;
      return `  --${flagOf(row.env).padEnd(29)} ${row.help} [${row.env}; ${value}]`;
    })
    .join('\n');
}
