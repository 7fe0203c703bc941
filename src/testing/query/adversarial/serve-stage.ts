import { LoopWatch } from '../../loop-watch.ts';
import type { FromProcess, ToProcess } from './messages.ts';

/**
 * Runs the query server or an agent of the adversarial tests in this process. Tells the test's process when the server
 * serves, and reports on this process's event loop.
 */
export async function serveStage(start: (input: unknown) => Promise<StagePart>): Promise<void> {
  const send = (message: FromProcess): void => void process.send!(message);
  const watch = new LoopWatch();
  try {
    const part = await start(JSON.parse(process.argv[2]!));
    watch.start();
    // Otherwise this process would outlive a test process that died.
    process.on('disconnect', () => void part.close());
    process.on('message', (message: ToProcess) => {
      if (message === 'report') send({ report: watch.report() });
      else if (message === 'afterClose') void watch.afterClose().then((afterCloseMs) => send({ afterCloseMs }));
      else if (typeof message === 'object') {
        void watch.afterTime(message.afterTimeMs).then((afterCloseMs) => send({ afterCloseMs }));
      } else {
        watch.stop();
        void part.close().finally(() => process.disconnect());
      }
    });
    send({ ready: part.ports });
  } catch (error) {
    send({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    process.disconnect();
  }
}

export interface StagePart {
  readonly ports: Readonly<Record<string, number>>;
  close(): Promise<void>;
}
