/**
 * The kit for testing controllers; this project tests its own with it.
 *
 * ```ts
 * await using harness = await runController(
 *   setupGreeter,                                          // registers the controller, as in the program
 *   [aGreeter({ text: 'hello' })],                         // the objects at the start
 *   (server) => server.script({ verb: 'apply' }, { do: 'fail', error: conflict('taken') }),   // the faults
 *   { server: { resources: [greeters] } },
 * );
 * await harness.passUntil(() => harness.server.storage.find(configMaps, 'shop', 'one'), 'the child');
 * ```
 *
 * - `FakeApiServer`: an API server on loopback that holds objects in memory and misbehaves as scripted. Requests:
 *   `script(match, fault, times)` fails, resets, holds or garbles them. Streams: `openWatches()` returns the open
 *   watches, which a test can cut, silence, end, or feed any bytes. Storage: `put`, `putStatus`, `storage.remove` are
 *   writes of other clients, `storage.compact()` makes resumes fail with 410. `e2e/runtime/api-parity.ts` compares the
 *   fake with a real API server.
 * - `FakeClock`: time that passes only when a test moves it, so no test waits for back-off, leases or time limits.
 * - `runController`: runs a manager on the fake server and the fake clock, with frozen cached objects.
 * - Builders: objects with defaults, of which a test states only the differences.
 *
 * None of it belongs in a production program.
 */
export * from './fake-api-server/index.ts';
export { FakeClock, settle } from './fake-clock.ts';
export { noFaults, runController, type ControllerHarness, type HarnessOptions } from './run-controller.ts';
export { until, type Something, type Waiting } from './until.ts';
export { kstatus, type KStatus, type KStatusResult } from './gitops/kstatus.ts';
export { aConfigMap, aDeployment, anObject, anOwnerReference, aResource } from './builders/objects.ts';
