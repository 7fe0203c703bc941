import type { KubeObject } from '../api/meta.ts';
import { silentLogger, type Logger } from '../base/logger.ts';
import { Manager, type ControllerEnvironment, type ControllerSpec, type ManagerOptions } from '../runtime/index.ts';
import { FakeApiServer, type FakeApiServerOptions } from './fake-api-server/index.ts';
import { FakeClock } from './fake-clock.ts';

/**
 * A controller that runs on a scripted API server, with the means for a test to drive it. Declare it with `await using`:
 * then it stops at the end of the test, also of one that fails. A harness that is left running keeps the process alive.
 */
export interface ControllerHarness extends AsyncDisposable {
  server: FakeApiServer;
  clock: FakeClock;
  manager: Manager;
  /**
   * Advances the fake clock until the condition holds, slowly enough for the network to keep up. Errors: after 40 s of
   * real time, which a busy machine may need, throws an error that names `what`.
   */
  passUntil(condition: () => unknown, what: string): Promise<void>;
  /** Waits until no key is being reconciled or is due. */
  idle(): Promise<void>;
  /**
   * Stops the manager and the server; a second call waits for the same end. Rejects with the error of the manager's
   * `run`, if that failed.
   */
  stop(): Promise<void>;
}

/** What differs from the default server and manager. */
export interface HarnessOptions {
  /** Kinds other than the built-in ones go into `server.resources`. */
  server?: FakeApiServerOptions;
  manager?: Partial<ManagerOptions>;
  logger?: Logger;
}

/** A script that disturbs nothing. */
export const noFaults = (): void => {};

/**
 * Runs a controller against the scripted API server with a fake clock.
 *
 * - `reconciler`: a controller, or a function that registers controllers, informers and runnables with the manager.
 * - `objects`: the objects that exist before the start; their kinds are built-in ones or among
 *   `options.server.resources`.
 * - `script`: disturbs the server before the start. During the run, script `harness.server` instead.
 *
 * Cached objects are frozen, so that a reconcile that changes one fails. Time passes only in `passUntil`, `idle` and
 * by `harness.clock`.
 * Errors: throws on an object of a kind that the server does not know, and what `script` or `reconciler` throws; then
 * nothing is left running.
 */
export async function runController(
  reconciler: ControllerSpec | ((env: ControllerEnvironment) => unknown),
  objects: readonly KubeObject[] = [],
  script: (server: FakeApiServer) => void = noFaults,
  options: HarnessOptions = {},
): Promise<ControllerHarness> {
  await using opened = new AsyncDisposableStack();
  const clock = new FakeClock();
  const server = await FakeApiServer.start({ now: () => clock.now(), ...options.server });
  opened.defer(() => server.stop());
  for (const object of objects) server.put(server.resourceOf(object), object);
  script(server);
  const client = server.client(clock);
  opened.defer(() => client.close());
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
  if (typeof reconciler === 'function') reconciler(manager);
  else manager.addController(reconciler);
  const abort = new AbortController();
  const running = manager.run(abort.signal);
  running.catch(() => {});
  const passUntil = async (condition: () => unknown, what: string): Promise<void> => {
    const end = performance.now() + 40_000;
    while (!condition()) {
      if (performance.now() > end) throw new Error(`${what} did not come`);
      await clock.advance(5);
    }
  };
  const open = opened.move();
  const end = async (): Promise<void> => {
    abort.abort();
    let ended = false;
    void running.finally(() => (ended = true)).catch(() => {});
    try {
      await passUntil(() => ended, 'the end');
      await running;
    } finally {
      await open.disposeAsync();
    }
  };
  let ending: Promise<void> | undefined;
  const stop = (): Promise<void> => (ending ??= end());
  return {
    server,
    clock,
    manager,
    passUntil,
    idle: () => passUntil(() => manager.idle, 'idleness'),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
