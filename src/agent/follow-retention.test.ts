import { silentLogger } from '../base/logger.ts';
import type { CaptureConfig } from '../capture/index.ts';
import { followRetention, retentionOf } from './follow-retention.ts';

const hour = 3_600_000;
const flags = { retentionTime: 6 * hour, retentionSize: 1000 };

/** The retentions that a sequence of configs sets on the store, in order. */
function followed(...configs: CaptureConfig['retention']['metrics'][]): object[] {
  const set: object[] = [];
  const store = { setRetention: (r: object) => void set.push(r), maintain: () => Promise.resolve() };
  const follow = followRetention(store as never, flags, retentionOf({}, flags), silentLogger);
  for (const metrics of configs) follow({ retention: { metrics, spans: {} } });
  return set;
}

test("a policy that states the built-in retention beats the agent's flags", () => {
  expect(followed({ timeMs: 24 * hour, sizeBytes: 2 * 1024 ** 3 })).toEqual([{ ms: 24 * hour, bytes: 2 * 1024 ** 3 }]);
});

test('a limit that no policy states comes from the flags, also after a policy no longer states it', () => {
  expect(followed({})).toEqual([]);
  expect(followed({ timeMs: hour }, {})).toEqual([
    { ms: hour, bytes: 1000 },
    { ms: 6 * hour, bytes: 1000 },
  ]);
});
