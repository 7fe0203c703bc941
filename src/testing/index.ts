/**
 * The kit for testing controllers; this project tests its own with it.
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
 *   `script(match, fault, times)` fails, resets, holds or garbles them. Streams: `openWatches()` returns the open
 *   watches: cut, silence or end one, or send it any bytes. Storage: `put`, `putStatus`, `storage.remove` are writes of
 *   other clients, `storage.compact()` makes resumes fail with 410. `e2e/runtime/api-parity.ts` compares it with a real
 *   API server.
 * - `FakeClock`: time that passes only when a test moves it; back-off, leases and time limits are instant.
 * - `runController`: runs a manager on both, with frozen cached objects.
 * - Builders: objects of which a test states only what differs.
 *
 * None of it belongs in a production program.
 */
export * from './fake-api-server/index.ts';
export { FakeClock, settle } from './fake-clock.ts';
export { noFaults, runController, type ControllerHarness, type HarnessOptions } from './run-controller.ts';
export { until, type Something, type Waiting } from './until.ts';
export { kstatus, type KStatus, type KStatusResult } from './gitops/kstatus.ts';
export { aConfigMap, aDeployment, anObject, anOwnerReference, aResource } from './builders/objects.ts';
