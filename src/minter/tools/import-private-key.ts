import type { KeyManagementServiceClient } from '@google-cloud/kms';
import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import { readPrivateKey } from '../sign/private-key.ts';
import { wrapPrivateKey } from './wrap-key.ts';

export interface ImportOptions {
  projectId: string;
  location: string;
  keyRing: string;
  key: string;
  importJobPrefix: string;
  /** PEM bytes; they are zeroed before the call returns. */
  privateKey: Buffer;
  /** Import even if a version is enabled, as for a rotation. Without `force` such a key stays as it is. */
  force: boolean;
  /** Only report, change nothing. */
  dryRun: boolean;
}

export interface ImportDeps {
  client: KeyManagementServiceClient;
  clock: Clock;
  /** A line of progress for the user. Never key material. */
  progress: (line: string) => void;
}

/** The result. `version` is the full name; it is absent only in a dry run that would have imported. */
export interface ImportResult {
  outcome: 'imported' | 'skipped' | 'would-import';
  version?: string;
}

const importMethod = 'RSA_OAEP_4096_SHA256_AES_256';
const usableMethods = [importMethod, 'RSA_OAEP_3072_SHA256_AES_256'];
const protection = 'SOFTWARE';
const waitMs = 120_000;
const callMs = 20_000;

/**
 * Imports the App's private key into the key service. The key cannot be read there, nor in transit.
 * Flow: ring → key (import-only) → import job → wrap → import → wait until ENABLED. Existing objects are used as they
 * are.
 * Errors: ERR_INPUT_INVALID for the key or an existing key of another kind; ERR_MINTER_UPSTREAM for the service,
 * with the reason it gives for a failed import; ERR_TIMEOUT after two minutes of waiting.
 */
export async function importPrivateKey(options: ImportOptions, deps: ImportDeps): Promise<ImportResult> {
  try {
    const { key, bits } = readPrivateKey(options.privateKey);
    const names = checkNames(options);
    const algorithm = `RSA_SIGN_PKCS1_${bits}_SHA256`;
    const importer = new Importer(options, deps, names, algorithm);
    const enabled = options.force ? undefined : await importer.enabledVersion();
    if (enabled) {
      deps.progress(`an enabled version exists, nothing to do (--force imports another): ${enabled}`);
      return { outcome: 'skipped', version: enabled };
    }
    if (options.dryRun) {
      deps.progress(`would import a ${bits}-bit key as a new version of ${names.key}`);
      return { outcome: 'would-import' };
    }
    await importer.ensureRing();
    await importer.ensureKey();
    const job = await importer.activeJob();
    const wrapped = wrapPrivateKey(key, job.pem);
    return { outcome: 'imported', version: await importer.importVersion(job.name, wrapped) };
  } finally {
    options.privateKey.fill(0);
  }
}

interface Names {
  location: string;
  ring: string;
  key: string;
}

function checkNames(options: ImportOptions): Names {
  const checks: [string, string, RegExp][] = [
    ['project-id', options.projectId, /^[A-Za-z0-9:._-]{1,128}$/],
    ['location', options.location, /^[a-z0-9-]{1,63}$/],
    ['key-ring', options.keyRing, /^[A-Za-z0-9_-]{1,63}$/],
    ['key', options.key, /^[A-Za-z0-9_-]{1,63}$/],
    ['import-job-prefix', options.importJobPrefix, /^[A-Za-z0-9_-]{1,40}$/],
  ];
  for (const [flag, value, pattern] of checks) {
    if (!pattern.test(value)) throw new OperatorError('ERR_INPUT_INVALID', `--${flag}: is missing or not a valid name`);
  }
  const location = `projects/${options.projectId}/locations/${options.location}`;
  const ring = `${location}/keyRings/${options.keyRing}`;
  return { location, ring, key: `${ring}/cryptoKeys/${options.key}` };
}

class Importer {
  readonly #options: ImportOptions;
  readonly #deps: ImportDeps;
  readonly #names: Names;
  readonly #algorithm: string;

  constructor(options: ImportOptions, deps: ImportDeps, names: Names, algorithm: string) {
    this.#options = options;
    this.#deps = deps;
    this.#names = names;
    this.#algorithm = algorithm;
  }

  /** The newest enabled version of the key, if there is one. Errors: ERR_INPUT_INVALID for a key of another kind. */
  async enabledVersion(): Promise<string | undefined> {
    const { client } = this.#deps;
    if (!(await this.#existingKey())) return undefined;
    const versions = await orAbsent(client.listCryptoKeyVersions({ parent: this.#names.key }, callOptions));
    const enabled = (versions?.[0] ?? []).flatMap(({ state, name }) => (state === 'ENABLED' && name ? [name] : []));
    return enabled.toSorted((a, b) => numberOf(b) - numberOf(a))[0];
  }

  async ensureRing(): Promise<void> {
    const { client, progress } = this.#deps;
    const { ring, location } = this.#names;
    if (await orAbsent(client.getKeyRing({ name: ring }, callOptions))) return;
    progress(`creating key ring ${ring}`);
    await orExists(client.createKeyRing({ parent: location, keyRingId: this.#options.keyRing }, callOptions));
  }

  async ensureKey(): Promise<void> {
    const { client, progress } = this.#deps;
    const { ring, key } = this.#names;
    if (await this.#existingKey()) return;
    progress(`creating import-only key ${key}`);
    await orExists(
      client.createCryptoKey(
        {
          parent: ring,
          cryptoKeyId: this.#options.key,
          skipInitialVersionCreation: true,
          cryptoKey: {
            purpose: 'ASYMMETRIC_SIGN',
            importOnly: true,
            versionTemplate: {
              algorithm: this.#algorithm as 'RSA_SIGN_PKCS1_2048_SHA256',
              protectionLevel: protection,
            },
          },
        },
        callOptions,
      ),
    );
  }

  async #existingKey(): Promise<boolean> {
    const { key } = this.#names;
    const found = await orAbsent(this.#deps.client.getCryptoKey({ name: key }, callOptions));
    if (!found) return false;
    const [{ purpose }] = found;
    if (purpose !== 'ASYMMETRIC_SIGN') {
      throw new OperatorError('ERR_INPUT_INVALID', `${key} exists with another purpose (${String(purpose)})`);
    }
    return true;
  }

  /** Finds or creates an ACTIVE import job with our name prefix. Jobs end by themselves after three days. */
  async activeJob(): Promise<{ name: string; pem: string }> {
    const { client, clock, progress } = this.#deps;
    const { ring } = this.#names;
    const prefix = `${ring}/importJobs/${this.#options.importJobPrefix}`;
    const [jobs] = await upstream(client.listImportJobs({ parent: ring }, callOptions));
    const usable = jobs.find(
      (job) =>
        job.state === 'ACTIVE' &&
        job.protectionLevel === protection &&
        usableMethods.includes(String(job.importMethod)) &&
        (job.name ?? '').startsWith(prefix),
    );
    let name = usable?.name ?? '';
    if (!usable) {
      const importJobId = `${this.#options.importJobPrefix}-${Math.floor(clock.now() / 1000).toString(36)}`;
      progress(`creating import job ${importJobId}`);
      const importJob = { importMethod: importMethod, protectionLevel: protection } as const;
      const [made] = await upstream(client.createImportJob({ parent: ring, importJobId, importJob }, callOptions));
      name = made.name ?? '';
    }
    return this.#poll(`import job ${name}`, async () => {
      const [job] = await upstream(client.getImportJob({ name }, callOptions));
      if (job.state === 'EXPIRED') throw new OperatorError('ERR_MINTER_UPSTREAM', `import job ${name} has expired`);
      if (job.state !== 'ACTIVE') return String(job.state);
      const pem = job.publicKey?.pem;
      if (!pem)
        throw new OperatorError('ERR_MINTER_UPSTREAM', `import job ${name} is active but carries no public key`);
      return { name, pem };
    });
  }

  async importVersion(importJob: string, wrappedKey: Buffer): Promise<string> {
    const { client, progress } = this.#deps;
    progress(`importing into ${this.#names.key}`);
    const algorithm = this.#algorithm as 'RSA_SIGN_PKCS1_2048_SHA256';
    const [made] = await upstream(
      client.importCryptoKeyVersion({ parent: this.#names.key, importJob, algorithm, wrappedKey }, callOptions),
    );
    const name = made.name ?? '';
    return this.#poll(`key version ${name}`, async () => {
      const [version] = await upstream(client.getCryptoKeyVersion({ name }, callOptions));
      if (version.state === 'IMPORT_FAILED') {
        const reason = version.importFailureReason || 'no reason given';
        throw new OperatorError('ERR_MINTER_UPSTREAM', `the import of ${name} failed: ${reason}`);
      }
      return version.state === 'ENABLED' ? { name } : String(version.state);
    }).then((version) => version.name);
  }

  /** Polls until `look` returns something other than the name of a state. Pauses grow from 0.5 s to 5 s. */
  async #poll<T extends object>(what: string, look: () => Promise<T | string>): Promise<T> {
    const { clock, progress } = this.#deps;
    const start = clock.monotonic();
    for (let pause = 500; ; pause = Math.min(pause * 1.5, 5_000)) {
      const seen = await look();
      if (typeof seen !== 'string') return seen;
      const waited = clock.monotonic() - start;
      if (waited + pause > waitMs) throw new OperatorError('ERR_TIMEOUT', `${what} is still ${seen} after two minutes`);
      progress(`${what} is ${seen}, waited ${Math.round(waited / 1000)} s`);
      await sleep(clock, pause);
    }
  }
}

const callOptions = { timeout: callMs };
const grpcNotFound = 5;
const grpcAlreadyExists = 6;

async function upstream<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    throw new OperatorError('ERR_MINTER_UPSTREAM', `key service: ${errorText(cause)}`, { cause });
  }
}

async function orAbsent<T>(call: Promise<T>): Promise<T | undefined> {
  return call.catch((cause: unknown) =>
    codeOf(cause) === grpcNotFound ? undefined : upstream<undefined>(Promise.reject(cause as Error)),
  );
}

/** Another process may create the same object at the same time: then it exists, which is enough. */
async function orExists(call: Promise<unknown>): Promise<void> {
  await call.catch((cause: unknown) =>
    codeOf(cause) === grpcAlreadyExists ? undefined : upstream(Promise.reject(cause as Error)),
  );
}

/** `…/cryptoKeyVersions/3` → 3. */
function numberOf(version: string): number {
  return Number(version.slice(version.lastIndexOf('/') + 1));
}

function codeOf(cause: unknown): unknown {
  return (cause as { code?: unknown }).code;
}
