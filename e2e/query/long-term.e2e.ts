/** A real Prometheus and our stand-in for a long-term store pass the same suite, over each API from which we read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLongTermStandIn } from '../../src/testing/query/long-term-stand-in.ts';
import { signalGroup } from '../cluster/processes.ts';
import { freePorts } from '../cluster/ports.ts';
import { startPeer } from '../prometheus/server.ts';
import { longTermSuite, type LongTermPeer } from './long-term-suite.ts';

const away = /unreachable after/;
const frozen = /timeout after \d+ ms: no answer within/;
const guarded = /auth after \d+ ms: HTTP 401: Unauthorized/;
const limited = /protocol after \d+ ms: HTTP 422: query processing would load too many samples into memory/;

async function standIn(): Promise<LongTermPeer> {
  const one = await startLongTermStandIn({ cluster: 'eu', replica: 'a' });
  return {
    url: one.url,
    append: one.append,
    be: async (state) => void (one.state = state),
    close: () => one.close(),
  };
}

/** A Prometheus with external labels; it is restarted for a state that needs other flags. */
async function prometheus(): Promise<LongTermPeer> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-long-term-peer-'));
  const [port] = await freePorts(1);
  // No known password has this hash, so every request is refused.
  const hash = `$2y$04$${'a'.repeat(53)}`;
  writeFileSync(join(dir, 'web.yml'), JSON.stringify({ basic_auth_users: { somebody: hash } }));
  const config = [
    'global: {external_labels: {cluster: eu, replica: a}}',
    'storage: {tsdb: {out_of_order_time_window: 3h}}\n',
  ].join('\n');
  const started = (flags: string[] = []) => startPeer({ dir, port: port!, config, flags });
  let process = await started();
  const again = async (flags: string[]): Promise<void> => {
    await process.stop();
    process = await started(flags);
  };
  let state = 'well';
  return {
    url: process.url,
    writeUrls: [`${process.url}/api/v1/write`],
    async be(next) {
      if (state === 'frozen') signalGroup(process.pid, 'SIGCONT');
      if (next === 'frozen') signalGroup(process.pid, 'SIGSTOP');
      if (next === 'gone') await process.stop('SIGKILL');
      if (next === 'limited') await again(['--query.max-samples=100']);
      if (next === 'guarded') {
        await process.stop();
        process = await started([`--web.config.file=${join(dir, 'web.yml')}`]);
      }
      if (next === 'well' && state !== 'frozen') await again([]);
      state = next;
    },
    async close() {
      await process.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

describe.each(['read', 'query'])('the stand-in over the %s API', (longTermApi) => {
  longTermSuite({
    start: standIn,
    flags: { longTermApi, longTermLabels: 'cluster=eu,replica' },
    states: {
      gone: away,
      frozen,
      guarded,
      limited,
      ...(longTermApi === 'query'
        ? { partial: /protocol after \d+ ms: the answer is not whole: a store is unavailable/ }
        : {}),
    },
  });
});

describe('a real Prometheus over remote read, which shows its external labels', () => {
  longTermSuite({
    start: prometheus,
    flags: { longTermApi: 'read', longTermLabels: 'cluster=eu,replica' },
    states: { gone: away, frozen, guarded },
  });
});

describe('a real Prometheus over the query API, which shows no external labels', () => {
  longTermSuite({
    start: prometheus,
    flags: { longTermApi: 'query' },
    states: { gone: away, frozen, guarded, limited },
  });
});
