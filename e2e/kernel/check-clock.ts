import type { Check } from './check.ts';
import { attached, countsOn, exactScraped, exactSince, mark, scraped } from './check-requests.ts';
import type { KernelStage } from './stage.ts';
import { standardTraffic } from './traffic.ts';

const hour = 3_600;
const tenMinutes = 600;

async function withoutRestart(stage: KernelStage, work: () => Promise<void>): Promise<string> {
  const before = stage.instrument.state!;
  await work();
  const { pid, starts } = stage.instrument.state!;
  if (pid !== before.pid || starts !== before.starts) throw new Error(`start ${starts} after ${before.starts}`);
  return `process ${pid}, start ${starts}`;
}

/** The node's clock is set, as by a time service that starts late. */
export const clock: readonly Check[] = [
  {
    what: 'the clock is set an hour ahead: counts go on exactly, and nothing restarts',
    run: (stage) =>
      withoutRestart(stage, async () => {
        stage.stepClock(hour);
        await countsOn(stage, 'node');
        await stage.condition('shop', 'Capturing', 'True/TrafficSeen');
      }),
  },
  {
    what: 'the clock is set ten minutes back: scrapes are exact at once, stored samples after the clock has caught up',
    run: (stage) =>
      withoutRestart(stage, async () => {
        await attached(stage, 'node');
        const stored = await mark(stage, 'node');
        stage.stepClock(-tenMinutes);
        await attached(stage, 'node');
        const shown = await scraped(stage, 'node');
        await stage.send('node', standardTraffic);
        await exactScraped(stage, 'node', shown);
        stage.stepClock(tenMinutes);
        await exactSince(stage, 'node', stored);
        await stage.condition('shop', 'Programmed', 'True/Programmed');
      }),
  },
];
