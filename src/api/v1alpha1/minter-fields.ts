import { choice, integer, intOrString, list, map, object, optional, rules, text } from '../schema/build.ts';
import { labelSelector, noUserInfo, patterns } from '../schema/common.ts';
import { keyVersionForm, keyVersionPattern } from './key-version.ts';
import { repositoryCharacters, repositoryNameRule } from './repository-name.ts';
import { serviceUrlForm, serviceUrlPattern } from './service-url.ts';

/** Schemas of the parts of a MinterDeployment. */

/**
 * Capitals are allowed: the platform ignores case, but the minter compares names byte for byte, so the object must
 * spell the name as requests do.
 */
export const organizationPattern = '^[A-Za-z0-9](?:[A-Za-z0-9-]{0,37}[A-Za-z0-9])?$';

export const repositoryName = (description: string) =>
  text(description, {
    minLength: 1,
    maxLength: 100,
    pattern: repositoryCharacters,
    ...rules(repositoryNameRule),
  });

export const keyVersion = (description: string) =>
  text(description, {
    minLength: 1,
    maxLength: 512,
    ...rules({
      rule: `self.matches('${keyVersionPattern}')`,
      message: `name one version of a key: ${keyVersionForm}`,
    }),
  });

export const exactUrl = (description: string, pattern: string) =>
  text(description, { minLength: 1, maxLength: 256, pattern, ...rules(noUserInfo) });

/** The address of a service that the pods call, which they read with the same pattern. */
export const serviceUrl = (description: string, pattern: string, options: { default: string }) =>
  text(description, {
    minLength: 1,
    maxLength: 256,
    pattern,
    ...options,
    ...rules(noUserInfo, {
      rule: `self.matches(${JSON.stringify(serviceUrlPattern)})`,
      message: `must be a URL with ${serviceUrlForm}`,
    }),
  });

const notEmpty = rules({
  rule: '(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)',
  message: 'must select something; an empty podSelector admits every pod',
});

/** Pods that may connect: those of the object's own namespace unless a namespaceSelector is set. */
export const peer = (description: string, options: object = {}) =>
  object(
    description,
    {
      podSelector: labelSelector('The pods. Must not be empty.', notEmpty),
      namespaceSelector: optional(labelSelector('Namespaces of the pods; that of this object unless set.')),
    },
    options,
  );

export const scope = object(
  'Who may have which permissions on which repositories.',
  {
    name: text('The name that requests ask for.', {
      minLength: 1,
      maxLength: 63,
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
    }),
    emails: list(
      'Cloud service accounts that may use the scope.',
      text('An email of a service account.', { minLength: 1, maxLength: 254 }),
      { minItems: 1, maxItems: 16, type: 'set' },
    ),
    subs: optional(
      list(
        'Account ids that may use the scope. Unlike an email an id is never given to another account; if set, both must match.',
        text('The sub claim.', { minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9._:@-]+$' }),
        { minItems: 1, maxItems: 16, type: 'set' },
      ),
    ),
    repositories: optional(
      list(
        'Repositories of the scope; all that vcs declares unless set.',
        repositoryName('A repository name, without the organization.'),
        { minItems: 1, maxItems: 51, type: 'set' },
      ),
    ),
    permissions: map(
      'The most that a token of this scope may do, by permission name.',
      choice('The level.', ['read', 'write']),
      { minProperties: 1, maxProperties: 20 },
    ),
  },
  rules(
    {
      rule: "!('*' in self.permissions) && self.permissions.all(k, k.matches('^[a-z][a-z_]{0,63}$'))",
      message: 'name each permission (contents, pull_requests, issues, ...); * is not allowed',
    },
    {
      rule: "self.emails.all(e, e.matches('^[a-z0-9-]+@[a-z0-9.:-]+\\\\.iam\\\\.gserviceaccount\\\\.com$'))",
      message: 'emails are cloud service accounts: name@project.iam.gserviceaccount.com, lower case',
    },
  ),
);

const quantities = (description: string) =>
  map(description, intOrString('An amount such as 100m or 128Mi.', patterns.quantity, { minimum: 0 }), {
    maxProperties: 8,
  });

export const resources = object(
  'Compute resources of the container.',
  {
    requests: optional(quantities('What is reserved for the container.')),
    limits: optional(quantities('The most that the container may use.')),
  },
  { default: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '500m', memory: '256Mi' } } },
);

export const tolerations = list(
  'Taints that the pods tolerate.',
  object('One toleration.', {
    key: optional(text('The taint key; every key if left out.', { maxLength: 317 })),
    operator: optional(choice('Whether the value counts; Equal unless set.', ['Equal', 'Exists'])),
    value: optional(text('The taint value.', { maxLength: 63 })),
    effect: optional(choice('The effect; every effect if left out.', ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])),
    tolerationSeconds: optional(
      integer('How long NoExecute is tolerated, in seconds; for ever if left out.', {
        minimum: 0,
        maximum: 2_147_483_647,
      }),
    ),
  }),
  { maxItems: 16 },
);
