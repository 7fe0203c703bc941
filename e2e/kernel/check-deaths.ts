import { until } from '../../src/testing/until.ts';
import type { Check } from './check.ts';
import { attached, countsOn, exactSince, mark, minus, truth } from './check-requests.ts';
import type { KernelStage } from './stage.ts';
import { standardTraffic } from './traffic.ts';

async function killInstrument(stage: KernelStage): Promise<void> {
  const { pid } = stage.instrument.state!;
  const { starts } = stage.instrument;
  process.kill(pid!, 'SIGKILL');
  await until(
    'the instrument runs again',
    () => stage.instrument.starts > starts && (stage.instrument.state?.pid ?? 0) > 0,
    stage.patience(20_000),
  );
}

/** Kills each part with SIGKILL, and checks which requests are counted nevertheless. */
export const deaths: readonly Check[] = [
  {
    what: 'the agent is killed ten times under traffic: the instrument is left alone, and not one request is lost',
    run: async (stage) => {
      await attached(stage, 'go');
      const before = stage.instrument.state!;
      const since = await mark(stage, 'go');
      for (let i = 0; i < 10; i++) {
        await stage.send('go', standardTraffic.slice(0, 3));
        const last = stage.agent;
        await last.end('SIGKILL');
        await stage.send('go', standardTraffic.slice(0, 3));
        await stage.startAgent();
      }
      await exactSince(stage, 'go', since);
      const { pid, starts } = stage.instrument.state!;
      if (pid !== before.pid || starts !== before.starts)
        throw new Error(`the instrument is start ${starts}, after ${before.starts}`);
      const sent = Object.values(minus(truth(stage, 'go'), since.known)).reduce((sum, n) => sum + n, 0);
      return `${sent} requests; process ${pid}, start ${starts}`;
    },
  },
  {
    what: 'the instrument is killed: it comes back, and counts exactly from then on',
    run: async (stage) => {
      await killInstrument(stage);
      await countsOn(stage, 'go');
      await stage.condition('shop', 'Programmed', 'True/Programmed');
      return `start ${stage.instrument.starts}`;
    },
  },
  {
    what: 'agent and instrument are killed together: both come back, and count exactly from then on',
    run: async (stage) => {
      await stage.agent.end('SIGKILL');
      await killInstrument(stage);
      await stage.startAgent();
      await countsOn(stage, 'node');
      return stage.condition('shop', 'Programmed', 'True/Programmed');
    },
  },
];
