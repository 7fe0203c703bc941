import { accepts, many, refuses } from './case.ts';
import type { Case } from './case.ts';
import { selectorRefusals } from './selector-cases.ts';

/**
 * Each case is merged into the spec of one base document, the smallest MinterDeployment: it has image, vcs.org,
 * vcs.repository, kms.keyVersion and inline rules.
 */

export const keyOne = 'projects/p/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1';
const email = 'agent@proj.iam.gserviceaccount.com';
const scope = { name: 'main', emails: [email], permissions: { contents: 'write' } };
const withScopes = (...scopes: object[]) => ({ rules: { inline: { scopes } } });
const selects = { matchLabels: { app: 'x' } };

const images: Case[] = [
  ...[
    'svc-minter:0.1.0',
    'host:5000/a/b:v1',
    `host/a@sha256:${'0'.repeat(64)}`,
    `a:latest@sha256:${'0'.repeat(64)}`,
  ].map((image) => accepts(`the image ${image}`, { image })),
  ...['svc-minter', 'svc-minter:latest', 'host:5000/a/b', ''].map((image) =>
    refuses(`the image "${image}"`, { image }, /pin the image|at least 1 chars/),
  ),
  refuses('no image', { image: null }, /spec.image: Required value/),
  refuses('six replicas', { replicas: 6 }, /less than or equal to 5/),
  refuses('zero replicas', { replicas: 0 }, /greater than or equal to 1/),
];

const platform: Case[] = [
  accepts('an enterprise URL', { vcs: { apiBaseURL: 'https://git.example/api/v3' } }),
  refuses(
    'a URL with a password',
    { vcs: { apiBaseURL: 'https://a:b@git.example' } },
    /must not hold a user or a password/,
  ),
  refuses('a URL without TLS', { vcs: { apiBaseURL: 'http://api.github.com' } }, /apiBaseURL starts with https:\/\//),
  refuses('a URL that ends with a slash', { vcs: { apiBaseURL: 'https://api.github.com/' } }, /does not end with \//),
  ...['https://api.github.com?x=1', 'https://api.github.com#x', 'https://', 'https://a:b/api'].map((apiBaseURL) =>
    refuses(`the URL ${apiBaseURL}`, { vcs: { apiBaseURL } }, /apiBaseURL.* a host, perhaps a port and a path/),
  ),
  refuses('a URL with a quote', { vcs: { apiBaseURL: "https://a/'b" } }, /apiBaseURL.* should match/),
  ...['-acme', 'acme-', 'a/b', '..', 'a_b', 'x'.repeat(40)].map((org) =>
    refuses(`the organization ${org}`, { vcs: { org } }, /org.* (should match|may not be more)|Too long/),
  ),
  accepts('extra repositories', { vcs: { extraRepositories: ['a', 'b.c', 'D_e-f'] } }),
  ...['.', '..', 'gitops.git', 'GitOps.GIT'].map((repository) =>
    refuses(`the repository ${repository}`, { vcs: { repository } }, /a repository name is not \. or \.\./),
  ),
  refuses('a repository with its owner', { vcs: { repository: 'acme/gitops' } }, /repository.* should match/),
  ...['x.git', 'Tools.GIT'].map((name) =>
    refuses(`the extra repository ${name}`, { vcs: { extraRepositories: [name] } }, /does not end in \.git/),
  ),
  refuses(
    'the main repository among the extra ones',
    { vcs: { extraRepositories: ['gitops'] } },
    /repeats repository; list it once/,
  ),
  refuses('a repository twice', { vcs: { extraRepositories: ['a', 'a'] } }, /Duplicate value/),
  refuses('51 extra repositories', { vcs: { extraRepositories: many(51, (i) => `r${i}`) } }, /at most 50|Too many/),
  accepts('another Secret for the App ID', { vcs: { appIdSecretRef: { name: 'app', key: 'id' } } }),
  refuses('a Secret name in capitals', { vcs: { appIdSecretRef: { name: 'App' } } }, /name.* should match/),
  refuses('a Secret key with a slash', { vcs: { appIdSecretRef: { key: 'a/b' } } }, /key.* should match/),
];

const key: Case[] = [
  refuses(
    'a bare key',
    { kms: { keyVersion: keyOne.replace(/\/cryptoKeyVersions.*/, '') } },
    /name one version of a key/,
  ),
  refuses('version 0', { kms: { keyVersion: keyOne.replace(/1$/, '0') } }, /name one version of a key/),
  refuses('a private key', { kms: { keyVersion: '-----BEGIN PRIVATE KEY-----' } }, /name one version of a key/),
  accepts('a project of a domain, and a key of 63 characters', {
    kms: { keyVersion: keyOne.replace('/p/', '/example.com:my_p/').replace('/k/', `/${'K'.repeat(63)}/`) },
  }),
  refuses('a key name of 64 characters', { kms: { keyVersion: keyOne.replace('/k/', `/${'k'.repeat(64)}/`) } }, /63/),
  refuses('a key ring with a dot', { kms: { keyVersion: keyOne.replace('/r/', '/r.1/') } }, /letters, digits and -/),
  refuses(
    'a location with a space',
    { kms: { keyVersion: keyOne.replace('/global/', '/europe west1/') } },
    /letters, digits and -/,
  ),
  refuses(
    'a version of eleven digits',
    { kms: { keyVersion: keyOne.replace(/1$/, '12345678901') } },
    /at most ten digits/,
  ),
  refuses('another key service', { kms: { provider: 'aws' } }, /Unsupported value: "aws"/),
  accepts('a next version', { kms: { nextKeyVersion: keyOne.replace(/1$/, '2') } }),
  refuses('the current version as the next', { kms: { nextKeyVersion: keyOne } }, /another version of the same key/),
  refuses(
    'a version of another key as the next',
    { kms: { nextKeyVersion: keyOne.replace('/k/', '/z/') } },
    /another version of the same key/,
  ),
  refuses(
    'a bare key as the next version',
    { kms: { nextKeyVersion: 'projects/p' } },
    /name one version of a key|another version/,
  ),
];

const rules: Case[] = [
  accepts('a ConfigMap of rules', { rules: { inline: null, configMapRef: { name: 'rules' } } }),
  refuses('two rule sources', { rules: { configMapRef: { name: 'rules' } } }, /exactly one rule source/),
  refuses('no rule source', { rules: { inline: null } }, /exactly one rule source/),
  refuses(
    'a ConfigMap name in capitals',
    { rules: { inline: null, configMapRef: { name: 'Rules' } } },
    /name.* should match/,
  ),
  refuses('no scope', withScopes(), /at least 1 items/),
  refuses('17 scopes', withScopes(...many(17, (i) => ({ ...scope, name: `s${i}` }))), /at most 16|Too many/),
  refuses('two scopes of one name', withScopes(scope, scope), /Duplicate value/),
  refuses('a scope name that begins with a dash', withScopes({ ...scope, name: '-a' }), /name.* should match/),
  refuses('a scope without emails', withScopes({ ...scope, emails: [] }), /at least 1 items/),
  refuses(
    'a person as a caller',
    withScopes({ ...scope, emails: ['someone@example.com'] }),
    /emails are cloud service accounts/,
  ),
  refuses(
    'an email in capitals',
    withScopes({ ...scope, emails: [email.toUpperCase()] }),
    /emails are cloud service accounts/,
  ),
  refuses(
    'an email with a quote',
    withScopes({ ...scope, emails: [`a'${email}`] }),
    /emails are cloud service accounts/,
  ),
  accepts('a scope with subject ids', withScopes({ ...scope, subs: ['112233445566'] })),
  refuses('a subject id with a quote', withScopes({ ...scope, subs: ["1'1"] }), /subs.* should match/),
  refuses('a scope without permissions', withScopes({ ...scope, permissions: {} }), /at least 1 properties/),
  refuses('the permission *', withScopes({ ...scope, permissions: { '*': 'read' } }), /name each permission/),
  refuses(
    'a permission in capitals',
    withScopes({ ...scope, permissions: { Contents: 'read' } }),
    /name each permission/,
  ),
  refuses(
    'the level admin',
    withScopes({ ...scope, permissions: { contents: 'admin' } }),
    /Unsupported value: "admin"/,
  ),
  accepts('declared repositories', {
    vcs: { extraRepositories: ['extra'] },
    ...withScopes({ ...scope, repositories: ['gitops', 'extra'] }),
  }),
  refuses(
    'a repository that is not declared',
    withScopes({ ...scope, repositories: ['other'] }),
    /names a repository that vcs does not declare/,
  ),
  refuses('a pattern as a repository', withScopes({ ...scope, repositories: ['*'] }), /repositories.* should match/),
];

const access: Case[] = [
  accepts('audiences', { audience: { url: 'https://minter.example', additional: ['https://minter.example/token'] } }),
  refuses('an audience with a comma', { audience: { additional: ['a,b'] } }, /additional.* should match/),
  refuses('an audience URL with a space', { audience: { url: 'https://a b' } }, /url.* should match/),
  refuses('an audience URL that is not a URL', { audience: { url: 'minter' } }, /url.* should match/),
  refuses('five additional audiences', { audience: { additional: many(5, (i) => `a${i}`) } }, /at most 4|Too many/),
  accepts('TLS with an https audience', { tls: { secretName: 'tls' }, audience: { url: 'https://a' } }),
  refuses(
    'TLS with an http audience',
    { tls: { secretName: 'tls' }, audience: { url: 'http://a' } },
    /with tls the audience.url starts with https/,
  ),
  accepts('TLS with the default audience', { tls: { secretName: 'tls' } }),
  accepts('another issuer', { issuer: { url: 'https://issuer.example', jwksURI: 'https://issuer.example/keys' } }),
  accepts('an issuer that ends with a slash', { issuer: { url: 'https://tenant.eu.auth0.com/' } }),
  refuses(
    'an issuer with a query',
    { issuer: { url: 'https://issuer.example?a=b' } },
    /url.* but no user, query or fragment/,
  ),
  refuses(
    'a JWKS URI with a query',
    { issuer: { jwksURI: 'https://issuer.example/keys?p=x' } },
    /jwksURI.* but no user, query or fragment/,
  ),
  refuses(
    'an issuer without TLS',
    { issuer: { url: 'http://issuer.example' } },
    /issuer.url and issuer.jwksURI start with https/,
  ),
  refuses('a JWKS URI without TLS', { issuer: { jwksURI: 'http://issuer.example/keys' } }, /start with https:\/\//),
  accepts('callers of another namespace', { allowedCallers: { podSelector: selects, namespaceSelector: {} } }),
  refuses('every pod as a caller', { allowedCallers: { podSelector: { matchLabels: null } } }, /must select something/),
  refuses(
    'every pod as a caller, by empty matchExpressions',
    { allowedCallers: { podSelector: { matchLabels: null, matchExpressions: [] } } },
    /must select something/,
  ),
  refuses('every pod as a scraper', { metrics: { allowedScrapers: { podSelector: {} } } }, /must select something/),
  refuses(
    'a selector value with $',
    { allowedCallers: { podSelector: { matchLabels: { app: '$x' } } } },
    /must not contain \$/,
  ),
  refuses(
    'a selector key with a space',
    { allowedCallers: { podSelector: { matchExpressions: [{ key: 'a b', operator: 'Exists' }] } } },
    /key.* should match/,
  ),
  ...selectorRefusals('of callers', (podSelector) => ({ allowedCallers: { podSelector } })),
  ...selectorRefusals('of namespaces of callers', (namespaceSelector) => ({
    allowedCallers: { podSelector: selects, namespaceSelector },
  })),
  accepts('scrapers', { metrics: { allowedScrapers: { podSelector: selects } } }),
  refuses('6001 requests each minute', { limits: { requestsPerMinutePerCaller: 6001 } }, /less than or equal to 6000/),
  refuses('501 repositories in a request', { limits: { maxRepositoriesPerRequest: 501 } }, /less than or equal to 500/),
];

const pods: Case[] = [
  accepts('resources, placement and no disruption budget', {
    resources: { requests: { cpu: 1, memory: '64Mi' }, limits: { memory: '1.5Gi' } },
    nodeSelector: { pool: 'small' },
    tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 60 }],
    podDisruptionBudget: false,
  }),
  refuses('a negative amount', { resources: { requests: { cpu: -1 } } }, /requests.* greater than or equal to 0/),
  refuses('an amount with a wrong unit', { resources: { limits: { memory: '1GB' } } }, /memory.* should match/),
  refuses('an unknown toleration operator', { tolerations: [{ operator: 'In' }] }, /Unsupported value: "In"/),
  accepts('an existing service account', { serviceAccount: { create: false, name: 'signer' } }),
  refuses(
    'annotations for a service account that the operator does not create',
    { serviceAccount: { create: false, name: 'signer', annotations: { a: 'b' } } },
    /with create: false annotate the existing one/,
  ),
  refuses('a service account in capitals', { serviceAccount: { name: 'Signer' } }, /name.* should match/),
  refuses('a private key field', { kms: { privateKey: 'x' } }, /unknown field "spec.kms.privateKey"/),
  refuses('a name that is not valid for a Service', {}, /the name becomes that of a Service/, 'a.b'),
  refuses('a name that begins with a digit', {}, /the name becomes that of a Service/, '1a'),
];

export const minterCases: readonly Case[] = [...images, ...platform, ...key, ...rules, ...access, ...pods];
