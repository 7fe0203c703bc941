/**
 * The kit for testing controllers: what this project tests its own with.
 *
 * ```ts
 * const harness = await runController(
 *   setupGreeter,                                          // registers the controller, as in the program
 *   [aGreeter({ text: 'hello' })],                         // what is there
 *   (server) => server.script({ verb: 'apply' }, { do: 'fail', error: conflict('taken') }),   // what goes wrong
 *   { server: { resources: [greeters] } },
 * );
 * await harness.passUntil(() => harness.server.storage.find(configMaps, 'shop', 'one'), 'the child');
 * await harness.stop();
 * ```
 *
 * - `FakeApiServer`: an API server on loopback that holds objects in memory and misbehaves as scripted. Requests:
 *   `script(match, fault, times)` fails, resets, holds or garbles them. Streams: `openWatches()` gives each watch, to
 *   be cut, silenced, ended or fed with any bytes. Storage: `put`, `putStatus`, `storage.remove` are other people's
 *   writes, `storage.compact()` makes resumes fail with 410. `e2e/runtime/api-parity.ts` compares it with a real
 *   API server.
 * - `FakeClock`: time that passes when a test says so; back-off, leases and time limits are instant.
 * - `runController`: both of them with a manager, and cached objects frozen.
 * - Builders: objects of which a test states only what differs.
 *
 * None of it belongs into a running program.
 */
export * from './fake-api-server/index.ts';
export { FakeClock, settle } from './fake-clock.ts';
export { noFaults, runController, type ControllerHarness, type HarnessOptions } from './run-controller.ts';
export { until, type Something, type Waiting } from './until.ts';
export { kstatus, type KStatus, type KStatusResult } from './gitops/kstatus.ts';
export { aConfigMap, aDeployment, anObject, anOwnerReference, aResource } from './builders/objects.ts';
