import { compileTimes } from './capture/compile-times.ts';
import { CaptureWorld } from '../src/testing/capture/operator.ts';

/**
 * What one edit among many monitors costs to compile; then from an apply to the last agent's acknowledgement, over the
 * real protocol: a server-side apply over HTTP to an API server in memory, one fake agent per node behind mutual TLS, the real compile, plan, push and long polls. Agents and controller share one
 * process, so CPU and memory are those of both.
 * `--agents=1000 --edits=20 --monitors=50`; `--quick` cuts them to 50, 5 and 5; `--compile-only` measures the compile alone.
 */
const flag = (name: string, otherwise: number): number => {
  const found = process.argv.find((a) => a.startsWith(`--${name}=`));
  return found ? Number(found.split('=')[1]) : otherwise;
};
const quick = process.argv.includes('--quick');
const agents = flag('agents', quick ? 50 : 1_000);
const edits = flag('edits', quick ? 5 : 20);
const monitors = flag('monitors', quick ? 5 : 50);
const limitMs = 120_000;

/** Polls gently: a busy loop would take the CPU that is being measured. */
async function until(condition: () => boolean, what: string): Promise<void> {
  const end = performance.now() + limitMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`${what} did not come true in ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const say = (text: string): void => void process.stderr.write(`${text}\n`);
const emit = (name: string, unit: string, ours: number, goal: number | null): void => {
  const met = goal === null ? null : ours <= goal;
  process.stdout.write(`${JSON.stringify({ name, unit, ours: round(ours), peer: null, ratio: null, goal, met })}\n`);
};
const round = (n: number): number => Math.round(n * 1000) / 1000;

compileTimes(quick ? { monitors: 200, nodes: 100 } : { monitors: 2_000, nodes: 1_000 }, emit);
if (process.argv.includes('--compile-only')) process.exit(0);

say(`starting ${agents} agents`);
const world = await CaptureWorld.start({ nodes: agents });
try {
  for (let i = 0; i < monitors; i++) {
    world.putMonitor(`team-${i % 10}/m${i}`, { selector: { matchLabels: { app: `app-${i % 20}` } } });
  }
  const everywhere = (text: string): boolean => world.agents.every((a) => a.config?.instrument.yaml.includes(text));
  await until(() => everywhere('app-0') && world.agents.every((a) => a.ack?.phase === 'Running'), 'the first configs');
  say(`${agents} agents hold their first config`);

  const times: number[] = [];
  const cpu = process.cpuUsage();
  const bytes = world.agents.reduce((sum, a) => sum + a.bytes, 0);
  for (let i = 0; i < edits; i++) {
    const port = 10_000 + i;
    const started = performance.now();
    await world.applyMonitor('shop/edited', { selector: {}, ports: [{ port }] });
    const done = (): boolean => everywhere(`"${port}"`) && world.agents.every((a) => a.ack?.phase === 'Running');
    await until(done, `edit ${i} on every agent`);
    times.push(performance.now() - started);
    say(`edit ${i + 1}/${edits}: ${Math.round(times.at(-1)!)} ms`);
  }
  const used = process.cpuUsage(cpu);
  times.sort((a, b) => a - b);
  const at = (q: number): number => times[Math.min(times.length - 1, Math.ceil(q * times.length) - 1)]! / 1000;
  const work = `capture/${agents}-agents/edit-to-last-ack`;
  emit(`${work}/p50`, 's', at(0.5), null);
  emit(`${work}/p99`, 's', at(0.99), agents === 1_000 ? 2 : null);
  emit(`capture/${agents}-agents/cpu-per-edit`, 's', (used.user + used.system) / 1e6 / edits, null);
  emit(`capture/${agents}-agents/rss`, 'MiB', process.memoryUsage.rss() / 1024 ** 2, null);
  const sent = world.agents.reduce((sum, a) => sum + a.bytes, 0) - bytes;
  emit(`capture/${agents}-agents/bytes-per-edit-and-node`, 'B', sent / edits / agents, null);
} finally {
  await world.stop();
}
