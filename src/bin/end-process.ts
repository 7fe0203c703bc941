/**
 * Ends the process once its output has been taken. On Linux a write to a full pipe waits in the process, and
 * `process.exit` alone drops it.
 * Caveats: a reader that takes nothing holds up the end, for `limitMs` at most. One that has gone away does not.
 */
export async function endProcess(code: number, limitMs = Infinity): Promise<never> {
  const taken = Promise.all([process.stdout, process.stderr].map(drained));
  if (limitMs < Infinity) await Promise.race([taken, new Promise((resolve) => setTimeout(resolve, limitMs))]);
  else await taken;
  process.exit(code);
}

function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.on('error', () => resolve());
    stream.write('', () => resolve());
  });
}
