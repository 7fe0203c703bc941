import { readFile } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { errorText, OperatorError } from '../../base/errors.ts';

export interface ImportRequest {
  /** Absolute path of a PEM file. */
  pemPath: string;
  /** A key or one of its versions, by its full name. */
  key: string;
  /**
   * `client` calls no server: it assumes that the key's first version will sign. `server` only reads from the key
   * service.
   */
  dryRun: 'none' | 'client' | 'server';
}

/**
 * The key version that signs, after importing the App's private key if no version exists yet.
 * Guarantees: the private key is read, wrapped on this machine and discarded; it is written to no object and no file.
 * If `key` names a version, that version signs; when another version was found or made, a line of progress warns of it.
 * Errors: ERR_CONFIG_INVALID without a key to import into; ERR_INPUT_INVALID when the file cannot be read; those of the
 * import.
 */
export async function importedKeyVersion(
  options: ImportRequest,
  deps: { clock: Clock; progress: (line: string) => void; env: Readonly<Record<string, string | undefined>> },
): Promise<string> {
  const [, projectId, location, keyRing, key] =
    /^projects\/([^/]+)\/locations\/([^/]+)\/keyRings\/([^/]+)\/cryptoKeys\/([^/]+)/.exec(options.key) ?? [];
  if (!projectId || !location || !keyRing || !key)
    throw new OperatorError(
      'ERR_CONFIG_INVALID',
      'VCS_PEM_PATH needs KMS_KEY_VERSION: the key to import into, by its full name',
    );
  const named = options.key.includes('/cryptoKeyVersions/') ? options.key : undefined;
  const assumed = named ?? `${options.key}/cryptoKeyVersions/1`;
  if (options.dryRun === 'client') return assumed;
  const { createKmsClient, importPrivateKey, loopbackEndpoint } = await import('../../minter/index.ts');
  const endpoint = deps.env['KMS_API_ENDPOINT'];
  const client = createKmsClient(endpoint ? loopbackEndpoint(endpoint) : undefined);
  try {
    const privateKey = await readFile(options.pemPath).catch((cause: unknown) => {
      throw new OperatorError('ERR_INPUT_INVALID', `VCS_PEM_PATH: ${errorText(cause)}`, { cause });
    });
    const { version } = await importPrivateKey(
      {
        projectId,
        location,
        keyRing,
        key,
        importJobPrefix: 'app-signing-key',
        privateKey,
        // An enabled version signs: importing again would be a rotation, which an installer must never decide.
        force: false,
        dryRun: options.dryRun === 'server',
      },
      { client, clock: deps.clock, progress: deps.progress },
    );
    if (named && version && named !== version)
      deps.progress(
        `warning: KMS_KEY_VERSION names ${named}, which will sign; the newest enabled version is ${version}`,
      );
    return named ?? version ?? assumed;
  } finally {
    await client.close();
  }
}
