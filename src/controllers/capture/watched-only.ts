import type { KubeObject } from '../../api/meta.ts';
import type { Informer } from '../../runtime/index.ts';

/**
 * The same cache without read-your-writes. The answer to a status write may arrive after the watch has already shown
 * a newer edit by a user; shown on top of it, it would hide that edit from the compile. Nothing here needs to read
 * its own status back: a comparison with an older one costs at most a write that changes nothing.
 */
export function watchedOnly<T extends KubeObject>(informer: Informer<T>): Informer<T> {
  return {
    source: informer.source,
    get synced() {
      return informer.synced;
    },
    get: (key) => informer.get(key),
    list: (options) => informer.list(options),
    addIndex: (name, values) => informer.addIndex(name, values),
    byIndex: (name, value) => informer.byIndex(name, value),
    onEvent: (listener) => informer.onEvent(listener),
    wrote: () => {},
  };
}
