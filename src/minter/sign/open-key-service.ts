import { readFile } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { errorText, OperatorError } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { MinterSettings } from '../settings.ts';
import { fileKeyService } from './file-key-service.ts';
import { GcpKeyService } from './gcp-key-service.ts';
import type { KeyService } from './key-service.ts';
import { createKmsClient } from './kms-client.ts';

/** The key service that the settings name. Errors: ERR_CONFIG_INVALID for a development key that cannot be used. */
export async function openKeyService(
  provider: MinterSettings['keyProvider'],
  { clock, logger }: { clock: Clock; logger: Logger },
): Promise<KeyService> {
  if (provider.kind === 'gcp') return new GcpKeyService(() => createKmsClient(provider.endpoint), clock);
  logger.warn('signing with a key from a file: for development only, whoever reads the file is the App');
  let pem: Buffer;
  try {
    pem = await readFile(provider.path);
  } catch (cause) {
    throw new OperatorError('ERR_CONFIG_INVALID', `DEV_KEY_FILE cannot be read: ${errorText(cause)}`, { cause });
  }
  try {
    return fileKeyService(pem);
  } finally {
    pem.fill(0);
  }
}
