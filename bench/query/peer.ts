import { startPeer } from '../../e2e/prometheus/server.ts';
import { startQueryStage } from '../../src/testing/query/query-stage.ts';
import { end, generate, interval, start } from '../promql/data.ts';
import { peerData } from '../promql/peer-data.ts';
import { queries } from '../promql/queries.ts';
import { sameAnswer } from '../promql/same-answer.ts';
import { ApiClient } from './ask.ts';
import { report } from './report.ts';

/** The baseline queries over one agent's data: ours over HTTPS and through an agent, the peer over HTTP. */
export async function besidePeer(runs: number): Promise<void> {
  const all = generate(1);
  const stage = await startQueryStage({ nodes: ['node-0'], flags: { agentTimeout: '60s' } });
  for (const { labels, values } of all) {
    const own = Object.fromEntries(labels);
    values.forEach((value, i) => stage.cluster.append('node-0', own, start + i * interval, value));
  }
  const peer = await startPeer({ dataDir: await peerData(all, 1), oneCore: true });
  const client = new ApiClient(stage.server.port, stage.cluster.ca.cert);
  const ratios: number[] = [];
  try {
    for (const [name, text] of Object.entries(queries)) {
      const query = text.replace('node-3', 'node-0');
      const instant = name.startsWith('i_');
      const path = instant ? '/api/v1/query' : '/api/v1/query_range';
      const span = { start: String(start / 1000), end: String(end / 1000), step: '60' };
      const params = { query, ...(instant ? { time: String(end / 1000) } : span) };
      const ours = (): Promise<string> => client.ask(path, params);
      const theirs = async (): Promise<string> =>
        (await fetch(`${peer.url}${path}?${new URLSearchParams(params)}`)).text();
      const timed = async (ask: () => Promise<string>): Promise<number> => {
        const before = performance.now();
        await ask();
        return performance.now() - before;
      };
      for (let i = 0; i < 5; i++) {
        await ours();
        await theirs();
      }
      const difference = sameAnswer(await ours(), await theirs());
      if (difference !== null) process.stderr.write(`${name}: ${difference}\n`);
      const [a, b]: [number[], number[]] = [[], []];
      for (let i = 0; i < runs; i++) {
        a.push(await timed(ours));
        b.push(await timed(theirs));
      }
      const [mine, other] = [a, b].map((times) => times.sort((x, y) => x - y)[times.length >> 1]!) as [number, number];
      report(`one-agent/${name}/median`, 'ms', mine, other, null);
      ratios.push(mine / other);
    }
    const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
    report('one-agent/geometric-mean-of-ratios', 'ratio', mean, 1, 0.6);
  } finally {
    client.close();
    await stage.close();
    await peer.stop();
  }
}
