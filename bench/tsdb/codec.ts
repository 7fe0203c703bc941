import { agentEnvironment } from '../run/as-rendered.ts';
import type { Stage } from '../run/bench.ts';
import { oneCore } from '../run/cores.ts';
import type { Goal } from '../run/figure.ts';
import { outcomeOf } from '../run/program.ts';
import { column, inTurns } from '../run/turns.ts';
import { ownProgram, peerProgram } from './programs.ts';

/** What both codec programs print: samples per second, and bytes per sample. */
export type CodecRates = Readonly<Record<'encode' | 'encodeOpen' | 'decode' | 'bytesPerSample', number>>;

/**
 * Our codec and Prometheus' codec in Go encode and decode the same values, each in a process of its own. First they
 * encode one chunk at a time, as a store does for late samples, cuts and deletes; then into many open chunks, in the
 * order of scrapes. For the open chunks our side does all that our store's head does for a sample, the peer only the
 * work on the chunks. Each run is a new process, measured after half a second of warm-up.
 */
export async function benchCodec({ quick, runs, say, atEnd, reporter }: Stage): Promise<void> {
  const [chunks, open] = quick ? [1_000, 1_000] : [20_000, 10_000];
  const { wrapper, says } = oneCore();
  const theirs = await peerProgram('chunk-codec', { say });
  const run = (command: readonly string[], env: Readonly<Record<string, string>>) => (): Promise<CodecRates> =>
    outcomeOf([...wrapper, ...command, String(chunks), String(open)], { atEnd, env });
  say(`codec: ${chunks} chunks, ${runs} runs`);
  const turns = await inTurns(runs, {
    ours: run(ownProgram('codec-program.ts'), agentEnvironment),
    peer: run([theirs], { GOMAXPROCS: '1' }),
  });
  const report = reporter({
    cores: says('codec program'),
    caches: 'warm: half a second of passes over the same data before; data in memory',
  });
  const emit = (name: string, unit: string, of: keyof CodecRates, goal?: Goal): void =>
    report({ name, unit, ...column(turns, (rates) => rates[of]), goal });
  emit('chunk/encode/series-by-series', 'samples/s', 'encode', { of: 'ratio', atLeast: 0.9 });
  emit(`chunk/encode/scrape-ordered/${open}-open`, 'samples/s', 'encodeOpen');
  emit('chunk/decode', 'samples/s', 'decode', { of: 'ratio', atLeast: 1.2 });
  emit('chunk/bytes-per-sample', 'B', 'bytesPerSample');
}
