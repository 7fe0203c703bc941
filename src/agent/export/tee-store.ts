import type { IngestStore } from '../ingest/ingest.ts';
import type { Exports } from './exports.ts';

/**
 * The store that ingest writes to, with the exports behind it: what the store took goes to them as well, and a commit
 * is over when both are durable. What the store refuses (late, twice) is not exported either.
 */
export function teeStore(store: IngestStore, exports: Pick<Exports, 'sample' | 'commit'>): IngestStore {
  return {
    append: (labels, timeMs, value) => {
      const result = store.append(labels, timeMs, value);
      if (result === 'appended') exports.sample(labels, timeMs, value, false);
      return result;
    },
    appendStale: (labels, timeMs) => {
      const result = store.appendStale(labels, timeMs);
      if (result === 'appended') exports.sample(labels, timeMs, NaN, true);
      return result;
    },
    commit: async () => {
      const exported = exports.commit();
      try {
        await store.commit();
      } finally {
        await exported;
      }
    },
    stats: () => store.stats(),
  };
}
