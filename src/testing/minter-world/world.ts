import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { importPrivateKey } from '../../minter/tools/import-private-key.ts';
import { createKmsClient } from '../../minter/sign/kms-client.ts';
import { createCa, issueLeaf } from '../../net/ca.ts';
import { FakeIssuer } from '../fake-issuer/fake-issuer.ts';
import { FakeKms } from '../fake-kms/fake-kms.ts';
import { FakePlatform } from '../fake-platform/fake-platform.ts';
import type { GitOptions } from '../fake-platform/git-service.ts';
import { privatePem, testKey } from './keys.ts';

export interface MinterWorldOptions {
  org?: string;
  repositories?: readonly string[];
  appId?: number;
  /** Serve platform and issuer over HTTPS, with a new CA. */
  https?: boolean;
  /** Address to bind to. Clients use `publicHost` instead. */
  host?: string;
  publicHost?: string;
  ports?: { kms?: number; platform?: number; issuer?: number };
  /** Import the App key as in production instead of adding it to the fake key service directly. */
  importKey?: boolean;
  /** Called with each progress line of the import. */
  progress?: (line: string) => void;
  git?: GitOptions;
  basePath?: string;
  now?: () => number;
}

/** Every service that a minter calls, on loopback, and a directory for its rules. */
export interface MinterWorld {
  org: string;
  appId: number;
  kms: FakeKms;
  platform: FakePlatform;
  issuer: FakeIssuer;
  keyVersion: string;
  /** Present with `https`: PEM of the CA, and the file it was written to (for NODE_EXTRA_CA_CERTS). */
  ca: { pem: string; path: string } | undefined;
  /** Parent directory of the rules (`CONFIGS_DIR`); rules of the organisation are in `<dir>/<org>`. */
  configsDir: string;
  writeRules(files: Readonly<Record<string, string>>): Promise<void>;
  /** Environment for `minter server run`, without ports and audiences. */
  env: Record<string, string>;
  stop(): Promise<void>;
}

/** The audience that tests and samples use. */
export const audience = 'http://minter.agents.svc.cluster.local:8080';
export const agentEmail = 'agent@proj.iam.gserviceaccount.com';

/** A rule file that admits the agent to the given repositories. */
export function agentRules(repositories: readonly string[] = ['gitops', 'extra'], email = agentEmail): string {
  return [
    `version: 'minty.abcxyz.dev/v2'`,
    `rule: {if: "assertion.iss == issuers.google"}`,
    `scope:`,
    `  platform-agent-scope:`,
    `    rule: {if: "assertion.email in ['${email}']"}`,
    `    repositories: [${repositories.map((r) => `'${r}'`).join(', ')}]`,
    `    permissions: {contents: write, pull_requests: write, issues: write}`,
    ``,
  ].join('\n');
}

export async function startMinterWorld(options: MinterWorldOptions = {}): Promise<MinterWorld> {
  const { org = 'acme', appId = 424242, now = Date.now, publicHost = '127.0.0.1' } = options;
  const dir = await mkdtemp(join(tmpdir(), 'minter-world-'));
  const { tls, ca } = options.https ? await makeTls(dir, publicHost) : { tls: undefined, ca: undefined };
  const common = { now, publicHost, ...(tls ? { tls } : {}), ...(options.host ? { host: options.host } : {}) };
  const [kms, platform, issuer] = await Promise.all([
    FakeKms.start({ port: options.ports?.kms ?? 0, ...(options.host ? { host: options.host } : {}) }),
    FakePlatform.start({
      ...common,
      port: options.ports?.platform ?? 0,
      ...(options.git ? { git: options.git } : {}),
      ...(options.basePath ? { basePath: options.basePath } : {}),
    }),
    FakeIssuer.start({ ...common, port: options.ports?.issuer ?? 0, keys: [testKey('issuer')] }),
  ]);
  const appKey = testKey('app');
  platform.state.addAccount(org, 'Organization', options.repositories ?? ['gitops', 'extra', 'secret-plans']);
  platform.state.addAccount('somebody', 'User', ['gitops']);
  platform.state.addApp(appId, appKey);
  platform.state.install({ account: org, appId });
  const keyVersion = options.importKey
    ? await importAppKey(kms, options.progress ?? (() => {}))
    : kms.addVersion(appKey);
  const configsDir = join(dir, 'rules');
  await mkdir(join(configsDir, org), { recursive: true });
  return {
    org,
    appId,
    kms,
    platform,
    issuer,
    keyVersion,
    ca,
    configsDir,
    writeRules: async (files) => {
      for (const [name, text] of Object.entries(files)) await writeFile(join(configsDir, org, name), text);
    },
    env: {
      VCS_ORG: org,
      VCS_APP_ID: String(appId),
      KMS_KEY_VERSION: keyVersion,
      KMS_API_ENDPOINT: `localhost:${kms.port}`,
      VCS_API_BASE_URL: platform.apiBaseUrl,
      ISSUER_URL: issuer.issuer,
      JWKS_URI: issuer.jwksUri,
      CONFIGS_DIR: configsDir,
      ...(ca ? { NODE_EXTRA_CA_CERTS: ca.path } : {}),
    },
    stop: async () => {
      await Promise.all([kms.stop(), platform.stop(), issuer.stop()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Imports the App key as in production: with an import job, wrapping, and the official client. */
async function importAppKey(kms: FakeKms, progress: (line: string) => void): Promise<string> {
  const client = createKmsClient(kms.endpoint);
  try {
    const result = await importPrivateKey(
      {
        projectId: 'p',
        location: 'global',
        keyRing: 'r',
        key: 'app',
        importJobPrefix: 'app-signing-key',
        privateKey: privatePem(testKey('app')),
        force: false,
        dryRun: false,
      },
      { client, clock: systemClock, progress },
    );
    return result.version!;
  } finally {
    await client.close();
  }
}

async function makeTls(
  dir: string,
  publicHost: string,
): Promise<{ tls: { cert: string; key: string }; ca: { pem: string; path: string } }> {
  const now = Date.now();
  const ca = await createCa({ commonName: 'minter-world', now, days: 30 });
  const dnsNames = [...new Set(['localhost', ...(/^[\d.]+$/.test(publicHost) ? [] : [publicHost])])];
  const ipAddresses = [...new Set(['127.0.0.1', ...(/^[\d.]+$/.test(publicHost) ? [publicHost] : [])])];
  const leaf = await issueLeaf(ca, { commonName: publicHost, dnsNames, ipAddresses }, { now, days: 30 });
  const path = join(dir, 'ca.crt');
  await writeFile(path, ca.cert);
  return { tls: leaf, ca: { pem: ca.cert, path } };
}
