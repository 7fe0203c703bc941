import type { IngestStore } from '../ingest/ingest.ts';
import type { Exports } from './exports.ts';

/**
 * The store that ingest writes to, combined with the exports: samples that the store accepts go to both, and a commit
 * ends when both are durable. Samples that the store refuses (late or duplicate) are not exported either.
 */
export function teeStore(store: IngestStore, exports: Pick<Exports, 'sample' | 'stale' | 'commit'>): IngestStore {
  return {
    append: (series, timeMs, value) => {
      const result = store.append(series, timeMs, value);
      if (result === 'appended') exports.sample(series, timeMs, value);
      return result;
    },
    appendStale: (series, timeMs) => {
      const result = store.appendStale(series, timeMs);
      if (result === 'appended') exports.stale(series, timeMs);
      return result;
    },
    appendStart: (series, startMs) => {
      const isAppended = store.appendStart(series, startMs);
      if (isAppended) exports.sample(series, startMs, 0);
      return isAppended;
    },
    newestValue: (series, sinceMs) => store.newestValue(series, sinceMs),
    commit: async () => {
      const exported = exports.commit();
      try {
        await store.commit();
      } finally {
        await exported;
      }
    },
  };
}
