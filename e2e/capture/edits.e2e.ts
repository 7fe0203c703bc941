/** How edits of a monitor, and restarts of the agent, affect the instrument on a node with a kubelet's back-off. */
import { until } from '../../src/testing/until.ts';
import { seriesOf } from '../instrument/scrape.ts';
import { requests } from './requests.ts';
import { CaptureStage, type StageNode } from './stage.ts';

let stage: CaptureStage;
let node: StageNode;

beforeAll(async () => {
  stage = await CaptureStage.start({ restartBudget: { burst: 5, refillMs: 60_000 } });
  await stage.apply({
    apiVersion: 'svc.dev/v1alpha1',
    kind: 'ClusterTrafficPolicy',
    metadata: { name: 'default' },
    spec: { instrument: { exportInterval: '5s' } },
  });
  node = await stage.addNode('node-1', `127.62.${process.pid % 250}.1`);
  await stage.putPod('shop', 'web', 'node-1', { labels: { app: 'web' } });
  await edit(1);
  await programmed();
}, 240_000);

afterAll(() => stage?.stop(), 60_000);

const edit = (n: number): Promise<void> =>
  stage.monitor('web', { selector: { matchLabels: { app: 'web' } }, ports: [{ port: 8_080 }, { port: 9_000 + n }] });

/** Waits until the newest generation of the monitor runs. Resolves to the status. */
const programmed = (limitMs = 60_000): ReturnType<CaptureStage['status']> =>
  until(
    'the monitor is programmed',
    async () => {
      const path = 'namespaces/shop/trafficmonitors/web';
      const [status, generation] = await Promise.all([stage.status(path), stage.generation(path)]);
      const row = status.conditions?.find((c) => c.type === 'Programmed');
      if (status.observedGeneration !== generation || row?.status !== 'True') {
        throw new Error(`generation ${status.observedGeneration} of ${generation}: ${row?.reason} ${row?.message}`);
      }
      return status;
    },
    { timeoutMs: limitMs },
  );

/** Counts the requests of `web` as a server that scrapes the agent does: sums increases, and handles counter resets. */
class Scraper {
  total = 0;
  #last: number | null = null;

  async look(): Promise<void> {
    const url = `http://${node.ip}:${node.agent.port('scrape')}/metrics`;
    const found = await seriesOf(url, 'http_server_request_duration_count').catch(() => []);
    if (found.length === 0) return;
    const value = found.reduce((sum, s) => sum + s.value, 0);
    if (this.#last !== null) this.total += value >= this.#last ? value - this.#last : value;
    this.#last = value;
  }
}

test('an agent that is killed ten times under traffic leaves the instrument alone and loses no request', async () => {
  const before = node.instrument.state!;
  const scraper = new Scraper();
  let sent = 0;
  let first = -1;
  const post = async (): Promise<void> => {
    await requests(node.sender, 'web');
    sent++;
  };
  await post();
  await until('the first request is seen', async () => {
    await post();
    await scraper.look();
    first = scraper.total;
    return first > 0;
  });
  // Counting begins with what the scraper has seen so far: it has to see every later request.
  await until('all of them are', async () => {
    const last = scraper.total;
    await scraper.look();
    return scraper.total === last;
  });
  const [seen, from] = [scraper.total, sent];
  for (let i = 0; i < 10; i++) {
    for (let n = 0; n < 5; n++) await post();
    await node.agent.end('SIGKILL');
    for (let n = 0; n < 5; n++) await post();
    node.agent = await node.startAgent();
    await scraper.look();
  }
  await until('the requests of all ten lives are counted', async () => {
    await post();
    await scraper.look();
    const ratio = (scraper.total - seen) / (sent - from);
    if (Math.abs(ratio - 1) > 0.01) throw new Error(`${scraper.total - seen} of ${sent - from}`);
    return true;
  });
  expect(node.instrument.state).toEqual(before);
}, 180_000);

test('edits in a row take effect in seconds, or at the time in the status; none counts as a crash', async () => {
  const { starts, runs } = node.instrument;
  const took: number[] = [];
  for (let i = 0; i < 5; i++) {
    const at = Date.now();
    await edit(100 + i);
    const { failedNodes = [] } = await programmed();
    took.push(Date.now() - at);
    expect(failedNodes).toEqual([]);
  }
  for (let i = 5; i < 9; i++) await edit(100 + i);
  const gatheredUntil = await until('the time until which edits are gathered', async () => {
    const { conditions = [], failedNodes = [] } = await stage.status('namespaces/shop/trafficmonitors/web');
    expect(failedNodes).toEqual([]);
    const row = conditions.find((c) => c.type === 'Programmed' && c.reason === 'RestartsLimited');
    return row && Date.parse(/the next restart is at (\S+)$/.exec(row.message)![1]!);
  });
  const { conditions = [] } = await programmed(120_000);
  took.push(Date.now() - gatheredUntil);
  expect(Math.max(...took)).toBeLessThan(20_000);
  expect(conditions.find((c) => c.type === 'Programmed')!.message).toMatch(/paused capture for \d+\.\d s/);
  // Of the nine edits, those that were gathered share a restart.
  expect(node.instrument.starts).toBeLessThan(starts + 9);
  expect(node.instrument.runs).toBe(runs);
}, 240_000);
