import { Server, ServerCredentials, type sendUnaryData, type ServerUnaryCall } from '@grpc/grpc-js';
import type { KeyObject } from 'node:crypto';
import { crc32c } from '../../base/wire/crc32c.ts';
import { signSha256Digest } from '../../minter/sign/file-key-service.ts';
import {
  jobKeyPair,
  KmsStatus,
  publicPem,
  unwrapImported,
  type StoredJob,
  type StoredKey,
  type StoredVersion,
} from './key-store.ts';
import { keyManagementService } from './service-definition.ts';

/** The faults that a test can set. Each stays until `clearFaults()`, except those that count down. */
export interface KmsFaults {
  signatureCrc?: 'wrong' | 'absent';
  digestNotVerified?: boolean;
  /** Put another version's name into the answer. */
  otherName?: boolean;
  /** Sign with this key instead of the version's key. */
  otherKey?: KeyObject;
  pemCrc?: 'wrong';
  /** Answer every call, or the named methods, with this gRPC status. */
  status?: { code: number; message: string; methods?: readonly string[] };
  /** Never answer these methods (empty: all). */
  hang?: readonly string[];
  /** Answer the next n signatures with UNAVAILABLE. */
  unavailableSigns?: number;
  delayMs?: number;
  denyDescribe?: boolean;
  importFails?: string;
  /** How many reads show an import job as still being generated. */
  jobPendingReads?: number;
  versionPendingReads?: number;
}

interface KmsRequest {
  name?: string;
  parent?: string;
  keyRingId?: string;
  cryptoKeyId?: string;
  importJobId?: string;
  [field: string]: unknown;
}

type Handler = (request: KmsRequest) => unknown;

const notFound = (name: string): KmsStatus => new KmsStatus(5, `${name} not found.`);

/**
 * A key service that speaks the real protocol on loopback: key rings, import-only keys, import jobs with real
 * unwrapping, states, signatures over digests, checksums in both directions. It counts every call.
 */
export class FakeKms {
  readonly rings = new Set<string>();
  readonly keys = new Map<string, StoredKey>();
  readonly jobs = new Map<string, StoredJob>();
  /** Calls by method, e.g. `calls.get('AsymmetricSign')`. */
  readonly calls = new Map<string, number>();
  faults: KmsFaults = {};
  port = 0;
  readonly #server = new Server();
  #host = '127.0.0.1';

  /** Binds to loopback; with `host` 0.0.0.0 to every address, for processes that cannot reach this loopback. */
  static async start(options: { host?: string; port?: number } = {}): Promise<FakeKms> {
    const kms = new FakeKms();
    kms.#host = options.host ?? '127.0.0.1';
    kms.#server.addService(keyManagementService(), kms.#methods());
    kms.port = await new Promise<number>((resolve, reject) => {
      kms.#server.bindAsync(`${kms.#host}:${options.port ?? 0}`, ServerCredentials.createInsecure(), (error, port) =>
        error ? reject(error) : resolve(port),
      );
    });
    return kms;
  }

  get endpoint(): { host: string; port: number } {
    return { host: '127.0.0.1', port: this.port };
  }

  /** Cuts all connections, including calls that hang. */
  stop(): Promise<void> {
    this.#server.forceShutdown();
    return Promise.resolve();
  }

  clearFaults(): void {
    this.faults = {};
  }

  count(method: string): number {
    return this.calls.get(method) ?? 0;
  }

  /** Adds a key version without an import; returns its name. */
  addVersion(
    key: KeyObject,
    options: { algorithm?: string; state?: StoredVersion['state']; keyId?: string } = {},
  ): string {
    const ring = 'projects/p/locations/global/keyRings/r';
    const keyName = `${ring}/cryptoKeys/${options.keyId ?? 'app'}`;
    const bits = key.asymmetricKeyDetails?.modulusLength ?? 2048;
    const algorithm = options.algorithm ?? `RSA_SIGN_PKCS1_${bits}_SHA256`;
    this.rings.add(ring);
    const stored = this.keys.get(keyName) ?? {
      name: keyName,
      purpose: 'ASYMMETRIC_SIGN',
      importOnly: true,
      algorithm,
      protectionLevel: 'SOFTWARE',
      versions: [],
    };
    this.keys.set(keyName, stored);
    const name = `${keyName}/cryptoKeyVersions/${stored.versions.length + 1}`;
    stored.versions.push({ name, state: options.state ?? 'ENABLED', algorithm, key });
    return name;
  }

  /** The stored version. A test may change its state. */
  version(name: string): StoredVersion {
    const found = this.keys.get(name.split('/cryptoKeyVersions/')[0]!)?.versions.find((v) => v.name === name);
    if (!found) throw notFound(name);
    return found;
  }

  #methods(): Record<string, (call: ServerUnaryCall<KmsRequest, unknown>, done: sendUnaryData<unknown>) => void> {
    const handlers: Record<string, Handler> = {
      GetKeyRing: ({ name }) => this.#ring(name!),
      CreateKeyRing: (r) => this.#createRing(`${r.parent}/keyRings/${r.keyRingId}`),
      GetCryptoKey: ({ name }) => keyView(this.#key(name!)),
      CreateCryptoKey: (r) => this.#createKey(r),
      ListCryptoKeyVersions: (r) => ({ cryptoKeyVersions: this.#key(r.parent!).versions.map(versionView) }),
      GetCryptoKeyVersion: ({ name }) => this.#describe(name!),
      GetImportJob: ({ name }) => this.#job(name!),
      ListImportJobs: (r) => ({
        importJobs: [...this.jobs.values()].filter((j) => j.name.startsWith(`${r.parent}/importJobs/`)).map(jobView),
      }),
      CreateImportJob: (r) => this.#createJob(r),
      ImportCryptoKeyVersion: (r) => this.#import(r),
      GetPublicKey: ({ name }) => this.#publicKey(name!),
      AsymmetricSign: (r) => this.#sign(r),
    };
    return Object.fromEntries(
      Object.entries(handlers).map(([method, handler]) => [
        method,
        (call: ServerUnaryCall<KmsRequest, unknown>, done: sendUnaryData<unknown>) =>
          this.#serve(method, handler, call, done),
      ]),
    );
  }

  #serve(
    method: string,
    handler: Handler,
    call: ServerUnaryCall<KmsRequest, unknown>,
    done: sendUnaryData<unknown>,
  ): void {
    this.calls.set(method, this.count(method) + 1);
    const { hang, status, delayMs } = this.faults;
    if (hang && (hang.length === 0 || hang.includes(method))) return;
    const answer = (): void => {
      try {
        if (status && (!status.methods || status.methods.includes(method)))
          throw new KmsStatus(status.code, status.message);
        done(null, handler(call.request));
      } catch (error) {
        const code = error instanceof KmsStatus ? error.code : 13;
        done({ code, details: (error as Error).message });
      }
    };
    if (delayMs) setTimeout(answer, delayMs);
    else answer();
  }

  #ring(name: string): unknown {
    if (!this.rings.has(name)) throw notFound(name);
    return { name };
  }

  #createRing(name: string): unknown {
    if (this.rings.has(name)) throw new KmsStatus(6, `${name} already exists.`);
    this.rings.add(name);
    return { name };
  }

  #key(name: string): StoredKey {
    const key = this.keys.get(name);
    if (!key) throw notFound(name);
    return key;
  }

  #createKey(request: KmsRequest): unknown {
    this.#ring(request.parent!);
    const name = `${request.parent}/cryptoKeys/${request.cryptoKeyId}`;
    if (this.keys.has(name)) throw new KmsStatus(6, `${name} already exists.`);
    const wanted = request.cryptoKey as {
      purpose?: string;
      importOnly?: boolean;
      versionTemplate?: { algorithm?: string; protectionLevel?: string };
    };
    if (wanted.importOnly && !request.skipInitialVersionCreation) {
      throw new KmsStatus(3, 'skip_initial_version_creation must be true for an import-only key.');
    }
    const key: StoredKey = {
      name,
      purpose: wanted.purpose ?? '',
      importOnly: wanted.importOnly ?? false,
      algorithm: wanted.versionTemplate?.algorithm ?? '',
      protectionLevel: wanted.versionTemplate?.protectionLevel ?? 'SOFTWARE',
      versions: [],
    };
    this.keys.set(name, key);
    return keyView(key);
  }

  #describe(name: string): unknown {
    if (this.faults.denyDescribe) throw new KmsStatus(7, 'Permission cloudkms.cryptoKeyVersions.get denied.');
    const version = this.version(name);
    if (version.state === 'PENDING_IMPORT' && this.faults.versionPendingReads !== undefined) {
      if (this.faults.versionPendingReads-- > 0) return versionView(version);
      version.state = version.importFailureReason ? 'IMPORT_FAILED' : 'ENABLED';
    }
    return versionView(version);
  }

  #job(name: string): unknown {
    const job = this.jobs.get(name);
    if (!job) throw notFound(name);
    if (job.state === 'PENDING_GENERATION' && (this.faults.jobPendingReads ?? 0) > 0) this.faults.jobPendingReads!--;
    else if (job.state === 'PENDING_GENERATION') job.state = 'ACTIVE';
    return jobView(job);
  }

  #createJob(request: KmsRequest): unknown {
    this.#ring(request.parent!);
    const name = `${request.parent}/importJobs/${request.importJobId}`;
    if (this.jobs.has(name)) throw new KmsStatus(6, `${name} already exists.`);
    const wanted = request.importJob as { importMethod?: string; protectionLevel?: string };
    const job: StoredJob = {
      name,
      importMethod: wanted.importMethod ?? '',
      protectionLevel: wanted.protectionLevel ?? '',
      state: 'PENDING_GENERATION',
      createdAt: Date.now(),
      ...jobKeyPair(),
    };
    this.jobs.set(name, job);
    return jobView(job);
  }

  #import(request: KmsRequest): unknown {
    const key = this.#key(request.parent!);
    const job = this.jobs.get(String(request.importJob));
    if (!job) throw notFound(String(request.importJob));
    if (job.state !== 'ACTIVE') throw new KmsStatus(9, `${job.name} is not ACTIVE, current state is: ${job.state}.`);
    const wrapped = (request.wrappedKey ?? request.rsaAesWrappedKey) as Buffer;
    const version: StoredVersion = {
      name: `${key.name}/cryptoKeyVersions/${key.versions.length + 1}`,
      state: 'ENABLED',
      algorithm: String(request.algorithm),
      key: undefined,
      importJob: job.name,
    };
    try {
      version.key = unwrapImported(Buffer.from(wrapped), job.privateKey);
      const bits = version.key.asymmetricKeyDetails?.modulusLength;
      if (!version.algorithm.includes(`_${bits}_`))
        throw new Error(`key has ${bits} bits, algorithm is ${version.algorithm}`);
    } catch (error) {
      version.state = 'IMPORT_FAILED';
      version.importFailureReason = (error as Error).message;
    }
    if (this.faults.importFails) version.importFailureReason = this.faults.importFails;
    if (this.faults.versionPendingReads !== undefined) version.state = 'PENDING_IMPORT';
    else if (this.faults.importFails) version.state = 'IMPORT_FAILED';
    key.versions.push(version);
    return versionView(version);
  }

  #usable(name: string): StoredVersion & { key: KeyObject } {
    const version = this.version(name);
    if (version.state !== 'ENABLED' || !version.key) {
      throw new KmsStatus(9, `${name} is not enabled, current state is: ${version.state}.`);
    }
    return version as StoredVersion & { key: KeyObject };
  }

  #publicKey(name: string): unknown {
    const version = this.#usable(name);
    const pem = publicPem(version.key);
    const sum = crc32c(Buffer.from(pem)) ^ (this.faults.pemCrc === 'wrong' ? 1 : 0);
    return { name, algorithm: version.algorithm, pem, pemCrc32c: { value: sum >>> 0 }, protectionLevel: 'SOFTWARE' };
  }

  #sign(request: KmsRequest): unknown {
    const { faults } = this;
    if ((faults.unavailableSigns ?? 0) > 0) {
      faults.unavailableSigns!--;
      throw new KmsStatus(14, 'The service is currently unavailable.');
    }
    const version = this.#usable(request.name!);
    const digest = Buffer.from((request.digest as { sha256?: Uint8Array }).sha256 ?? []);
    if (digest.length !== 32) throw new KmsStatus(3, 'digest must be SHA-256.');
    const sent = (request.digestCrc32c as { value?: number } | undefined)?.value;
    if (sent !== undefined && sent !== crc32c(digest))
      throw new KmsStatus(3, 'The checksum in field digest_crc32c did not match.');
    const signature = signSha256Digest(faults.otherKey ?? version.key, digest);
    const sum = crc32c(signature) ^ (faults.signatureCrc === 'wrong' ? 1 : 0);
    return {
      name: faults.otherName ? version.name.replace(/\d+$/, '999') : version.name,
      signature,
      ...(faults.signatureCrc === 'absent' ? {} : { signatureCrc32c: { value: sum >>> 0 } }),
      verifiedDigestCrc32c: sent !== undefined && !faults.digestNotVerified,
      protectionLevel: 'SOFTWARE',
    };
  }
}

function keyView(key: StoredKey): unknown {
  const { name, purpose, importOnly, algorithm, protectionLevel } = key;
  return { name, purpose, importOnly, versionTemplate: { algorithm, protectionLevel } };
}

function versionView(version: StoredVersion): unknown {
  const { name, state, algorithm, importJob, importFailureReason } = version;
  return { name, state, algorithm, protectionLevel: 'SOFTWARE', importJob, importFailureReason };
}

function jobView(job: StoredJob): unknown {
  const { name, importMethod, protectionLevel, state, publicKeyPem } = job;
  return {
    name,
    importMethod,
    protectionLevel,
    state,
    ...(state === 'ACTIVE' ? { publicKey: { pem: publicKeyPem } } : {}),
  };
}
