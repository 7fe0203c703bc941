import { readFile } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { errorText, OperatorError } from '../../base/errors.ts';

/**
 * The key version that signs, after the App's private key was imported where there is none yet.
 * `key` is a key or one of its versions, by its full name. The private key is read, wrapped on this machine and
 * forgotten; it gets into no object and no file.
 * Errors: ERR_INPUT_INVALID when the file cannot be read; those of the import.
 */
export async function importedKeyVersion(
  options: { pemPath: string; key: string; dryRun: boolean },
  deps: { clock: Clock; progress: (line: string) => void; env: Readonly<Record<string, string | undefined>> },
): Promise<string> {
  const [, projectId, location, keyRing, key] =
    /^projects\/([^/]+)\/locations\/([^/]+)\/keyRings\/([^/]+)\/cryptoKeys\/([^/]+)/.exec(options.key) ?? [];
  if (!projectId || !location || !keyRing || !key)
    throw new OperatorError(
      'ERR_CONFIG_INVALID',
      'VCS_PEM_PATH needs KMS_KEY_VERSION: the key to import into, by its full name',
    );
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
        // What is enabled signs: importing again would be a rotation, which is never an installer's to decide.
        force: false,
        dryRun: options.dryRun,
      },
      { client, clock: deps.clock, progress: deps.progress },
    );
    const named = options.key.includes('/cryptoKeyVersions/') ? options.key : undefined;
    return named ?? version ?? `${options.key}/cryptoKeyVersions/1`;
  } finally {
    await client.close();
  }
}
