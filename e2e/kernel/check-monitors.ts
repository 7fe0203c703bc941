import type { Check } from './check.ts';
import { attached, countsOn, exact, exactSince, mark, minus, watched } from './check-requests.ts';
import type { KernelStage } from './stage.ts';
import { standardTraffic } from './traffic.ts';
import { until } from '../../src/testing/until.ts';

/** Sends the same traffic to two pods, and checks the counts: exact ones for `node`, none for `late`. */
async function countedWithoutLate(stage: KernelStage): Promise<void> {
  await attached(stage, 'node');
  const [late, since] = [await mark(stage, 'late'), await mark(stage, 'node')];
  await stage.send('late', standardTraffic);
  await stage.send('node', standardTraffic);
  // The requests to `node` were sent last. Once they are counted, requests to `late` would be counted, too.
  await exactSince(stage, 'node', since);
  const more = Object.keys(minus((await mark(stage, 'late')).before, late.before));
  if (more.length > 0) throw new Error(`of late ${more.join(', ')} are counted`);
}

/** A monitor that appears, changes and goes. */
export const monitors: readonly Check[] = [
  {
    what: 'a port without a listener is reported, which shows that the name of a control group leads to the pod',
    run: (stage) => {
      stage.monitor('closed', { selector: { matchLabels: { app: 'late' } }, ports: [{ port: 7 }] });
      return stage.condition('closed', 'Capturing', 'False/PortNotOpen');
    },
  },
  {
    what: 'a new monitor is in force, its pod is counted exactly, and the counts of the other pods go on',
    run: async (stage) => {
      const since = await mark(stage, 'go');
      stage.removeMonitor('closed');
      stage.monitor('late', { selector: { matchLabels: { tier: 'late' } } });
      await stage.condition('late', 'Programmed', 'True/Programmed');
      await attached(stage, 'late');
      await stage.send('late', standardTraffic);
      await exact(stage, 'late');
      await countsOn(stage, 'go');
      await exactSince(stage, 'go', since);
      return stage.condition('late', 'Capturing', 'True/TrafficSeen');
    },
  },
  {
    what: 'a changed monitor no longer captures what it no longer selects, and the other monitors go on',
    run: async (stage) => {
      stage.monitor('late', { selector: { matchLabels: { tier: 'late' } }, ports: [{ port: 9_999 }] });
      await stage.condition('late', 'Programmed', 'True/Programmed');
      await countedWithoutLate(stage);
    },
  },
  {
    what: 'a deleted monitor captures nothing any more, and the other monitors go on',
    run: async (stage) => {
      stage.removeMonitor('late');
      await stage.condition('shop', 'Programmed', 'True/Programmed');
      for (const name of watched) await attached(stage, name);
      await countedWithoutLate(stage);
    },
  },
  {
    what: 'nothing restarts the instrument while nothing changes',
    run: async (stage) => {
      const before = stage.instrument.state!;
      // Long enough for every part that could restart the instrument to look several times.
      await new Promise((resolve) => setTimeout(resolve, 15_000));
      const same = await until('its state', () => stage.instrument.state);
      if (same.pid !== before.pid || same.starts !== before.starts)
        throw new Error(`start ${same.starts} after ${before.starts}`);
      return `process ${same.pid}, start ${same.starts}`;
    },
  },
];
