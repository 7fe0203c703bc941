import { keyVersionForm, maybeKeyPattern } from '../../api/v1alpha1/key-version.ts';
import { repositoryName } from '../../api/v1alpha1/repository-name.ts';
import {
  choiceSetting,
  integerSetting,
  listSetting,
  namespaceSetting,
  textSetting,
  type SettingTable,
  type SettingValues,
} from '../../base/settings.ts';
import { operatorSettingTable as operator, sharedInput } from '../../controllers/operator-settings.ts';
import {
  controllerDefaults,
  queryOptionTable,
  type InstallationInput,
  type MinterInstallation,
} from '../../render/index.ts';

/** The operator's settings that `svc install` sets. */
export const installSettingTable = {
  namespace: operator.namespace,
  svcImage: operator.svcImage,
  instrumentImage: operator.instrumentImage,
  instrumentVersion: operator.instrumentVersion,
  instrumentProgram: operator.instrumentProgram,
  instrumentPrivileges: operator.instrumentPrivileges,
  imagePullPolicy: operator.imagePullPolicy,
  imagePullSecrets: operator.imagePullSecrets,
  obiInstrumentPorts: operator.obiInstrumentPorts,
  agentDataHostPath: operator.agentDataHostPath,
  collector: operator.collector,
  customMetrics: operator.customMetrics,
  externalMetrics: operator.externalMetrics,
  apiServerCidrs: operator.apiServerCidrs,
  admission: operator.admission,
  allowExtraConfig: operator.allowExtraConfig,
  replicas: integerSetting(
    { help: 'replicas of the operator: one works, the others stand by', default: String(controllerDefaults.replicas) },
    1,
    5,
  ),
  queryReplicas: operator.queryReplicas,
  ...queryOptionTable,
  minterNamespaces: listSetting(
    {
      help: 'namespaces in which the operator gets the rights that minters need, with commas between; that of --minter-namespace is given with a minter',
      default: '',
    },
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
    'a namespace name',
  ),
  otlpEndpoint: operator.otlpEndpoint,
  logLevel: operator.logLevel,
};

const name = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?';
const optional = (pattern: string): RegExp => new RegExp(`^(${pattern})?$`);

/**
 * The settings of `svc install` for a minter, which issues tokens for a GitOps repository; without a minter, none of
 * them is needed. Their environment variables have no prefix, because installers of platform agents set these names.
 */
export const minterSettingTable = {
  vcsAppId: textSetting(
    { help: 'numeric App ID; kept in Secret vcs-app-credentials', default: '' },
    /^([1-9][0-9]{0,15})?$/,
    'a whole number from 1 on',
  ),
  gitopsOrg: textSetting(
    { help: 'organization that hosts the repository; asks for a minter. A user name does not work', default: '' },
    optional(name),
    'the name of an organization',
  ),
  gitopsRepo: textSetting(
    { help: 'repository in that organization', default: '' },
    new RegExp(`^$|${repositoryName.source}`, repositoryName.flags),
    'the name of a repository, without its owner',
  ),
  vcsPemPath: textSetting(
    {
      help: "absolute path of the App's private key (PEM): it is imported unless the key has an enabled version",
      default: '',
    },
    /^(\/.*)?$/,
    'an absolute path',
  ),
  kmsKeyVersion: textSetting(
    { help: 'key version that signs, by its full name; with a PEM the name of the key is enough', default: '' },
    new RegExp(maybeKeyPattern),
    keyVersionForm,
  ),
  minterImage: textSetting(
    { help: 'image of the minter', default: 'svc-minter:0.1.0' },
    /^\S{1,512}$/,
    'an image reference',
  ),
  minterNamespace: namespaceSetting({
    help: 'namespace of the platform agents, and of the minter',
    default: 'platform-agent',
  }),
  minterCallers: textSetting(
    { help: 'emails of the service accounts that may ask for tokens, with commas between', default: '' },
    /^([a-z0-9-]+@[a-z0-9.:-]+\.iam\.gserviceaccount\.com(,(?!$)|$))*$/,
    'emails of service accounts (…@….iam.gserviceaccount.com) with commas between',
  ),
  minterServiceAccount: textSetting(
    { help: 'email of the cloud service account that may sign with the key', default: '' },
    /^(\S+@\S+)?$/,
    'an email',
  ),
} satisfies SettingTable;

/** How `svc install` proceeds: whether it changes the cluster, or only shows what it would change. */
export const runSettingTable = {
  dryRun: choiceSetting(
    {
      help: 'none, client (print what would be applied) or server (let the API server judge it, change nothing)',
      default: 'none',
    },
    ['none', 'client', 'server'],
  ),
};

/** Earlier names of settings, and their present names. The earlier ones work for one more release. */
const legacyVariables = { VCS_ORG: 'GITOPS_ORG', VCS_REPO: 'GITOPS_REPO' } as const;

/** The environment with earlier names mapped to the present ones, and a sentence for each that was used. Pure. */
export function withLegacyNames(env: Readonly<Record<string, string | undefined>>): {
  env: Record<string, string | undefined>;
  warnings: string[];
} {
  const result = { ...env };
  const warnings: string[] = [];
  for (const [old, current] of Object.entries(legacyVariables)) {
    if (!env[old]) continue;
    const ignored = env[current] ? `; it is ignored, because ${current} is set` : '';
    warnings.push(`${old} is deprecated and will go with the next release: use ${current}${ignored}`);
    if (!env[current]) result[current] = env[old];
  }
  return { env: result, warnings };
}

export type InstallSettings = SettingValues<typeof installSettingTable>;
export type MinterSettings = SettingValues<typeof minterSettingTable>;

/**
 * Whether the settings ask for a minter, and have what it needs. Without a private key to import, that includes the key
 * version that signs. Pure.
 * Errors: throws an Error that names the missing setting.
 */
export function asksForMinter(settings: MinterSettings): boolean {
  if (settings.gitopsOrg === '') {
    const set = (['vcsAppId', 'gitopsRepo', 'vcsPemPath'] as const).filter((key) => settings[key] !== '');
    if (set.length > 0) throw new Error('GITOPS_ORG (--gitops-org) is needed for a minter');
    return false;
  }
  if (settings.gitopsRepo === '') throw new Error('GITOPS_REPO (--gitops-repo) is needed for a minter');
  if (settings.minterCallers === '')
    throw new Error('MINTER_CALLERS (--minter-callers) is needed for a minter: who may ask for tokens');
  if (settings.vcsPemPath === '' && !settings.kmsKeyVersion.includes('/cryptoKeyVersions/'))
    throw new Error('KMS_KEY_VERSION (--kms-key-version) is needed for a minter: a key version, not a key');
  return true;
}

/** The minter of settings that ask for one; `keyVersion` signs. Pure. */
export function minterOf(settings: MinterSettings, keyVersion: string): MinterInstallation {
  return {
    name: 'minter',
    namespace: settings.minterNamespace,
    image: settings.minterImage,
    replicas: 2,
    ...(settings.vcsAppId === '' ? {} : { appId: settings.vcsAppId }),
    org: settings.gitopsOrg,
    repository: settings.gitopsRepo,
    extraRepositories: [],
    keyVersion,
    callers: settings.minterCallers.split(','),
    serviceAccountAnnotations:
      settings.minterServiceAccount === '' ? {} : { 'iam.gke.io/gcp-service-account': settings.minterServiceAccount },
  };
}

/** The inputs of the rendered installation, from the settings. */
export function installationInput(
  settings: InstallSettings,
  minter: MinterInstallation | undefined,
): InstallationInput {
  return {
    controller: {
      ...sharedInput(settings),
      replicas: settings.replicas,
      customMetrics: settings.customMetrics,
      externalMetrics: settings.externalMetrics,
      admission: settings.admission,
      otlpEndpoint: settings.otlpEndpoint,
    },
    ...(minter ? { minter } : {}),
    ...(settings.minterNamespaces.length > 0 ? { minterNamespaces: settings.minterNamespaces } : {}),
  };
}
