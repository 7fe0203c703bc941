/*
 * A reporter for runs in one process (--runInBand): names what a test file left open. If something still keeps a run
 * alive some seconds after its last test, the reporter ends the run, with the exit code of its tests.
 */
const { ChildProcess } = require('node:child_process');

const graceMs = 5_000;

const isOutput = (handle) => [process.stdin, process.stdout, process.stderr].includes(handle) || handle.fd <= 2;

function describe(handle) {
  if (handle instanceof ChildProcess) return `process ${handle.pid}: ${handle.spawnargs.join(' ').slice(0, 200)}`;
  const kind = handle.constructor?.name ?? 'handle';
  if (typeof handle.address === 'function' && handle.listening) return `${kind} on ${JSON.stringify(handle.address())}`;
  if (handle.remotePort) return `${kind} to ${handle.remoteAddress}:${handle.remotePort}`;
  return kind;
}

module.exports = class LeftOpen {
  /** Handle → the test file after which it was first there. */
  #since = new Map();

  onTestFileResult(test) {
    for (const handle of process._getActiveHandles()) {
      if (!isOutput(handle) && !this.#since.has(handle)) this.#since.set(handle, test.path);
    }
  }

  onRunComplete() {
    // The timer does not keep the process alive: if it fires, something else does.
    setTimeout(() => {
      const open = process._getActiveHandles().filter((handle) => !isOutput(handle));
      const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout' || name === 'Immediate');
      console.error('Tests left these open, close them where they were opened:');
      for (const handle of open)
        console.error(`  ${describe(handle)} (${this.#since.get(handle) ?? 'after the last test'})`);
      if (timers.length > 0) console.error(`  ${timers.length} timers`);
      process.exit();
    }, graceMs).unref();
  }
};
