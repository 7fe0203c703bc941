/** A real Thanos as the long-term store behind the query server. */
import { needing } from '../../src/testing/needs.ts';
import { longTermSuite } from '../query/long-term-suite.ts';
import { peerNeed } from './programs.ts';
import { startThanos } from './thanos.ts';

const states = {
  gone: /unreachable after/,
  frozen: /timeout after \d+ ms: no answer within/,
  guarded: /auth after \d+ ms: HTTP 401: Unauthorized/,
  limited: /protocol after \d+ ms: HTTP 422: .*limit/,
  partial: /protocol after \d+ ms: the answer is not whole: .*replica="b"/,
};

needing(peerNeed('thanos')).describe('a real Thanos that merges its replicas', () => {
  longTermSuite({
    start: startThanos,
    flags: { longTermApi: 'query', longTermLabels: 'cluster=eu,tenant_id' },
    states,
  });
});

needing(peerNeed('thanos')).describe('a real Thanos that does not merge its replicas', () => {
  longTermSuite({
    start: async () => {
      const thanos = await startThanos();
      return { ...thanos, url: thanos.rawUrl };
    },
    flags: { longTermApi: 'query', longTermLabels: 'cluster=eu,tenant_id,replica' },
    states: { frozen: states.frozen },
  });
});
