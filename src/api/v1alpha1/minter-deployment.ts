import type { Static } from '@sinclair/typebox';
import type { ObjectMeta } from '../meta.ts';
import { choice, flag, integer, list, map, object, optional, rules, text } from '../schema/build.ts';
import { conditions, count, observedGeneration, hash, patterns, timestamp } from '../schema/common.ts';
import type { KindDefinition } from '../schema/kind.ts';
import type { groupVersion } from './group.ts';
import { category, product, minterDeployments } from './group.ts';
import {
  exactUrl,
  keyVersion,
  organizationPattern,
  peer,
  repositoryName,
  resources,
  scope,
  serviceUrl,
  tolerations,
} from './minter-fields.ts';

/** Visible ASCII without quotes and backslash: the value needs no escaping in a rule file. */
const printable = '^[!#-&(-\\[\\]-~]+$';

const vcs = object(
  'The hosting platform and what of it this minter serves.',
  {
    apiBaseURL: serviceUrl('The API of the hosting platform, https and without a slash at the end.', printable, {
      default: 'https://api.github.com',
    }),
    org: text('The organization in which the App is installed. Cannot be changed.', {
      minLength: 1,
      maxLength: 39,
      pattern: organizationPattern,
      ...rules({ rule: 'self == oldSelf', message: 'org is immutable; create a second MinterDeployment' }),
    }),
    repository: repositoryName('The main repository, without the organization.'),
    extraRepositories: optional(
      list('Further repositories of the same organization.', repositoryName('A repository name.'), {
        maxItems: 50,
        type: 'set',
      }),
    ),
    trustGitOpsState: optional(
      flag(
        'Treat the repositories that ConfigMap gitops-state of this namespace registers as declared too. Whoever may write that ConfigMap then decides which repositories tokens reach. False unless set.',
      ),
    ),
    appIdSecretRef: object(
      'Where the numeric App ID is. The Secret is in this namespace.',
      {
        name: text('The name of the Secret.', {
          minLength: 1,
          maxLength: 253,
          pattern: patterns.dnsSubdomain,
          default: 'vcs-app-credentials',
        }),
        key: text('The key in its data.', {
          minLength: 1,
          maxLength: 253,
          pattern: '^[-._a-zA-Z0-9]+$',
          default: 'app-id',
        }),
      },
      { default: { name: 'vcs-app-credentials', key: 'app-id' } },
    ),
  },
  rules(
    {
      rule: "self.apiBaseURL.startsWith('https://') && !self.apiBaseURL.endsWith('/')",
      message: 'apiBaseURL starts with https:// and does not end with /',
    },
    {
      rule: '!has(self.extraRepositories) || !(self.repository in self.extraRepositories)',
      message: 'extraRepositories repeats repository; list it once',
    },
  ),
);

const kms = object(
  'The signing key. The private key is never part of this API.',
  {
    provider: choice('The key service.', ['gcp'], { default: 'gcp' }),
    keyVersion: keyVersion('The key version that signs.'),
    nextKeyVersion: optional(
      keyVersion('A version of the same key that is about to take over: it is checked, and signs nothing else.'),
    ),
  },
  rules({
    rule: "!has(self.nextKeyVersion) || (self.nextKeyVersion != self.keyVersion && self.nextKeyVersion.split('/cryptoKeyVersions/')[0] == self.keyVersion.split('/cryptoKeyVersions/')[0])",
    message: 'nextKeyVersion is another version of the same key as keyVersion',
  }),
);

const ruleSource = object('Who may have which token. Exactly one source.', {
  inline: optional(
    object('Rules as part of this object.', {
      scopes: list('The scopes that requests can name.', scope, {
        minItems: 1,
        maxItems: 16,
        type: 'map',
        keys: ['name'],
      }),
    }),
  ),
  configMapRef: optional(
    object('A ConfigMap in this namespace. Its keys are <repository>.yaml, or .yaml for all repositories.', {
      name: text('The name of the ConfigMap.', { minLength: 1, maxLength: 253, pattern: patterns.dnsSubdomain }),
    }),
  ),
  undeclaredRepositories: optional(
    choice(
      'What happens when the rules grant a repository that vcs does not declare. RulesValid reports it in both cases; with Refuse the minter mints no token for it. Allow unless set.',
      ['Allow', 'Refuse'],
    ),
  ),
});

const audience = object('The audiences that an identity token may have. Compared byte for byte.', {
  url: optional(
    exactUrl(
      'The URL of the service; http://<name>.<namespace>.svc.cluster.local:8080 unless set (https with tls).',
      '^https?://[!-+.-~-]+$',
    ),
  ),
  additional: optional(
    list('Further audiences, exactly as callers ask for them.', exactUrl('An audience.', '^[!-+.-~-]+$'), {
      maxItems: 4,
      type: 'set',
    }),
  ),
});

const defaultIssuer = { url: 'https://accounts.google.com', jwksURI: 'https://www.googleapis.com/oauth2/v3/certs' };

const issuer = object(
  'Who issues the identity tokens of the callers. Both addresses are pinned; nothing is discovered.',
  {
    url: serviceUrl('The issuer, byte for byte.', printable, { default: defaultIssuer.url }),
    jwksURI: serviceUrl('Where its keys are.', printable, { default: defaultIssuer.jwksURI }),
  },
  {
    default: defaultIssuer,
    ...rules({
      rule: "self.url.startsWith('https://') && self.jwksURI.startsWith('https://')",
      message: 'issuer.url and issuer.jwksURI start with https://',
    }),
  },
);

export const minterDeploymentSpec = object(
  'One token minter: for one organization, with one signing key.',
  {
    image: text('The minter image, with a digest or a tag other than latest.', {
      minLength: 1,
      maxLength: 512,
      ...rules({
        rule: "self.contains('@sha256:') || (self.matches(':[^/:]+$') && !self.endsWith(':latest'))",
        message: 'pin the image: a digest, or a tag other than latest',
      }),
    }),
    replicas: integer('Pods. The rate limit counts for each.', { minimum: 1, maximum: 5, default: 2 }),
    vcs,
    kms,
    rules: ruleSource,
    audience: optional(audience),
    issuer,
    serviceAccount: object(
      'The identity of the pods.',
      {
        create: flag(
          'Create the service account; false uses an existing one. Of the minters that share a service account, only one may create it.',
          { default: true },
        ),
        name: optional(
          text('Its name; that of this object unless set.', {
            minLength: 1,
            maxLength: 253,
            pattern: patterns.dnsSubdomain,
          }),
        ),
        annotations: optional(
          map('Annotations, such as the one that binds a cloud identity.', text('The value.', { maxLength: 1024 }), {
            maxProperties: 16,
          }),
        ),
      },
      {
        default: { create: true },
        ...rules({
          rule: '!has(self.annotations) || self.create',
          message:
            'annotations are for a service account that is created; with create: false annotate the existing one',
        }),
      },
    ),
    allowedCallers: peer('The pods that may ask for tokens.', {
      default: { podSelector: { matchLabels: { app: 'platform-agent' } } },
    }),
    limits: object(
      'Ceilings for callers.',
      {
        requestsPerMinutePerCaller: integer('Mints each minute for one caller and pod.', {
          minimum: 1,
          maximum: 6000,
          default: 30,
        }),
        maxRepositoriesPerRequest: integer('Repositories in one request.', { minimum: 1, maximum: 500, default: 10 }),
      },
      { default: { requestsPerMinutePerCaller: 30, maxRepositoriesPerRequest: 10 } },
    ),
    tls: optional(
      object('Serve https. The Secret is read again when it changes.', {
        secretName: text('A Secret of type kubernetes.io/tls in this namespace.', {
          minLength: 1,
          maxLength: 253,
          pattern: patterns.dnsSubdomain,
        }),
      }),
    ),
    metrics: optional(
      object('Who may read the metrics.', { allowedScrapers: optional(peer('Pods that may connect to port 9090.')) }),
    ),
    resources,
    nodeSelector: optional(
      map('Labels that a node must have, beside kubernetes.io/os: linux.', text('The value.', { maxLength: 63 }), {
        maxProperties: 16,
      }),
    ),
    tolerations: optional(tolerations),
    podDisruptionBudget: flag('Keep one pod up during node maintenance. Has an effect from 2 replicas.', {
      default: true,
    }),
  },
  rules(
    {
      rule: 'has(self.rules.inline) != has(self.rules.configMapRef)',
      message: 'exactly one rule source: rules.inline or rules.configMapRef',
    },
    {
      rule: '!has(self.rules.inline) || self.rules.inline.scopes.all(s, !has(s.repositories) || s.repositories.all(r, r == self.vcs.repository || (has(self.vcs.extraRepositories) && r in self.vcs.extraRepositories)))',
      message: 'a scope names a repository that vcs does not declare; add it to vcs.extraRepositories',
    },
    {
      rule: "!has(self.tls) || !has(self.audience) || !has(self.audience.url) || self.audience.url.startsWith('https://')",
      message: 'with tls the audience.url starts with https://',
    },
  ),
);
export type MinterDeploymentSpec = Static<typeof minterDeploymentSpec>;

const status = object('What the controller has found out.', {
  observedGeneration: optional(observedGeneration),
  url: optional(text('Where callers reach the service.', { maxLength: 256 })),
  keyVersion: optional(text('The key version in use.', { maxLength: 512 })),
  replicas: optional(count('Pods that exist.')),
  readyReplicas: optional(count('Pods that are ready.')),
  rulesHash: optional(hash('The hash of the rules in force.')),
  scopes: optional(count('Usable scopes.')),
  installationId: optional(count('The installation of the App in the organization.')),
  lastMintTime: optional(timestamp('When the last token was made.')),
  lastMintError: optional(
    object('The last mint that failed.', {
      reason: text('Why, as one word.', { maxLength: 128 }),
      time: timestamp('When.'),
    }),
  ),
  conditions: optional(conditions),
});
export type MinterDeploymentStatus = Static<typeof status>;

/** A MinterDeployment as the API server returns it: defaults are filled in. */
export interface MinterDeployment {
  apiVersion: typeof groupVersion;
  kind: 'MinterDeployment';
  metadata: ObjectMeta;
  spec: MinterDeploymentSpec;
  status?: MinterDeploymentStatus;
}

export const minterDeploymentKind: KindDefinition = {
  resource: minterDeployments,
  listKind: 'MinterDeploymentList',
  singular: 'minterdeployment',
  shortNames: ['md'],
  categories: [category],
  product,
  description: 'MinterDeployment runs a service that gives out short-lived, repository-scoped tokens.',
  spec: minterDeploymentSpec,
  status,
  rules: [
    {
      rule: "self.metadata.name.matches('^[a-z]([-a-z0-9]{0,50}[a-z0-9])?$')",
      message: 'the name becomes that of a Service: at most 52 lower-case letters, digits and dashes, a letter first',
    },
  ],
  columns: [
    { name: 'Org', type: 'string', path: '.spec.vcs.org' },
    { name: 'URL', type: 'string', path: '.status.url', wide: true },
    { name: 'Ready', type: 'string', condition: 'Ready' },
    { name: 'Key', type: 'string', path: '.status.keyVersion', wide: true },
    { name: 'Replicas', type: 'integer', path: '.status.readyReplicas', description: 'Ready pods' },
    { name: 'Age', type: 'date', path: '.metadata.creationTimestamp' },
  ],
};
