import { createSecureContext } from 'node:tls';
import type { KubeObject } from '../../api/meta.ts';
import { errorText } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { TlsMaterial, TlsSource } from '../../net/tls-material.ts';
import type { Informer } from '../../runtime/index.ts';

interface SecretObject extends KubeObject {
  data?: Record<string, string>;
}

/**
 * An identity that follows a Secret with `tls.crt`, `tls.key` and `ca.crt`. `source()` is null until the Secret has a
 * consistent set. A later inconsistent set is logged, and the last good one stays. `onRead` is called with each set.
 */
export function secretTls(
  informer: Informer,
  key: { namespace: string; name: string },
  logger: Logger,
  onRead: (ok: boolean) => void = () => {},
): { source(): TlsSource | null } {
  let current: TlsMaterial | null = null;
  let generation = 0;
  const listeners = new Set<(material: TlsMaterial) => void>();
  const take = (): void => {
    const secret = informer.get(key) as SecretObject | undefined;
    const next = secret && materialOf(secret);
    if (!next || (current && next.cert === current.cert && next.key === current.key && next.ca === current.ca)) return;
    try {
      createSecureContext({ cert: next.cert, key: next.key, ca: next.ca });
    } catch (error) {
      onRead(false);
      logger.warn('certificate Secret does not fit together', { secret: key.name, error: errorText(error) });
      return;
    }
    onRead(true);
    current = next;
    generation++;
    for (const fn of listeners) fn(next);
  };
  informer.onEvent(({ object }) => {
    if (object.metadata.name === key.name && object.metadata.namespace === key.namespace) take();
  });
  const source: TlsSource = {
    get current() {
      return current!;
    },
    get generation() {
      return generation;
    },
    onChange(fn) {
      listeners.add(fn);
      return () => listeners.delete(fn);
    },
  };
  return {
    source: () => {
      if (!current) take();
      return current ? source : null;
    },
  };
}

function materialOf(secret: SecretObject): TlsMaterial | null {
  const text = (name: string): string => Buffer.from(secret.data?.[name] ?? '', 'base64').toString('utf8');
  const material = { cert: text('tls.crt'), key: text('tls.key'), ca: text('ca.crt') };
  return material.cert && material.key && material.ca ? material : null;
}
