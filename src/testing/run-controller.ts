import type { KubeObject, ResourceRef } from '../api/meta.ts';
import { silentLogger, type Logger } from '../base/logger.ts';
import { Manager, type ControllerEnvironment, type ManagerOptions } from '../runtime/index.ts';
import { FakeApiServer, type FakeApiServerOptions } from './fake-api-server/index.ts';
import { FakeClock } from './fake-clock.ts';

export interface ControllerHarness {
  server: FakeApiServer;
  clock: FakeClock;
  manager: Manager;
  /** Lets time pass, slowly beside the network, until the condition holds. Errors: throws with `what` after 10 s. */
  passUntil(condition: () => unknown, what: string): Promise<void>;
  /** Waits until no key waits to run now or runs. */
  idle(): Promise<void>;
  /** Stops the manager and the server; rejects with what `run` rejected with. */
  stop(): Promise<void>;
}

export interface HarnessOptions {
  /** What is there before the start, with the resource of each. */
  objects?: readonly (readonly [ResourceRef, KubeObject])[];
  server?: FakeApiServerOptions;
  manager?: Partial<ManagerOptions>;
  logger?: Logger;
}

/**
 * Runs controllers against the scripted API server with a fake clock: `setup` registers them, `script` disturbs the
 * server before the start. Cached objects are frozen.
 */
export async function runController(
  setup: (env: ControllerEnvironment) => void,
  options: HarnessOptions = {},
  script: (server: FakeApiServer) => void = () => {},
): Promise<ControllerHarness> {
  const clock = new FakeClock();
  const server = await FakeApiServer.start({ now: () => clock.now(), ...options.server });
  for (const [resource, object] of options.objects ?? []) server.put(resource, object);
  script(server);
  const client = server.client(clock);
  const manager = new Manager({
    client,
    clock,
    logger: options.logger ?? silentLogger,
    component: 'test',
    instance: 'test-0',
    random: () => 0,
    freezeCache: true,
    ...options.manager,
  });
  setup(manager);
  const abort = new AbortController();
  const running = manager.run(abort.signal);
  running.catch(() => {});
  const passUntil = async (condition: () => unknown, what: string): Promise<void> => {
    const end = performance.now() + 10_000;
    while (!condition()) {
      if (performance.now() > end) throw new Error(`${what} did not come`);
      await clock.advance(5);
    }
  };
  return {
    server,
    clock,
    manager,
    passUntil,
    idle: () => passUntil(() => manager.idle, 'idleness'),
    stop: async () => {
      abort.abort();
      let ended = false;
      void running.finally(() => (ended = true)).catch(() => {});
      try {
        await passUntil(() => ended, 'the end');
        await running;
      } finally {
        await client.close();
        await server.stop();
      }
    },
  };
}
