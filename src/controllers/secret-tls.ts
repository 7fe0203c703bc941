import type { KubeObject } from '../api/meta.ts';
import { errorText } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { checkTlsMaterial, HeldTls, type TlsMaterial, type TlsSource } from '../net/tls-material.ts';
import type { Informer } from '../runtime/index.ts';

interface SecretObject extends KubeObject {
  data?: Record<string, string>;
}

/**
 * A TLS identity from a Secret with `tls.crt`, `tls.key` and `ca.crt`, kept current. `source()` is null until it has a
 * consistent set. A later inconsistent set is logged, and the last good one stays. `onRead` is called for each new set,
 * with whether it is consistent.
 */
export function secretTls(
  informer: Informer,
  key: { namespace: string; name: string },
  logger: Logger,
  onRead: (ok: boolean) => void = () => {},
): { source(): TlsSource | null } {
  let source: HeldTls | null = null;
  const take = (): void => {
    const secret = informer.get(key) as SecretObject | undefined;
    const next = secret && materialOf(secret);
    if (!next || source?.has(next)) return;
    try {
      checkTlsMaterial(next);
    } catch (error) {
      onRead(false);
      logger.warn('certificate, key and CA of a Secret do not match or cannot be parsed', {
        secret: key.name,
        error: errorText(error),
      });
      return;
    }
    onRead(true);
    if (source) source.replace(next);
    else source = new HeldTls(next);
  };
  informer.onEvent(({ object }) => {
    if (object.metadata.name === key.name && object.metadata.namespace === key.namespace) take();
  });
  return {
    source: () => {
      if (!source) take();
      return source;
    },
  };
}

function materialOf(secret: SecretObject): TlsMaterial | null {
  const text = (name: string): string => Buffer.from(secret.data?.[name] ?? '', 'base64').toString('utf8');
  const material = { cert: text('tls.crt'), key: text('tls.key'), ca: text('ca.crt') };
  return material.cert && material.key && material.ca ? material : null;
}
