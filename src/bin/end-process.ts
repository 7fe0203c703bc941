/**
 * Ends the process once its output has been taken. On Linux a write to a full pipe waits in the process, and
 * `process.exit` alone drops it.
 * Caveats: a reader that takes nothing holds up the end. One that has gone away does not.
 */
export async function endProcess(code: number): Promise<never> {
  await Promise.all([process.stdout, process.stderr].map(drained));
  process.exit(code);
}

function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.on('error', () => resolve());
    stream.write('', () => resolve());
  });
}
