/**
 * Loaded into a process under attack, before the program of that process. At SIGUSR2 the process collects garbage and
 * writes how much memory is still in use, so that a test can tell this from memory that V8 has not released yet.
 */
process.on('SIGUSR2', () => {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`${JSON.stringify({ msg: 'memory in use', bytes: heapUsed + external })}\n`);
});
