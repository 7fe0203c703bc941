/**
 * Calls `probe` until it returns something other than undefined and false, and returns that.
 * Errors: after `timeoutMs`, with `what` and the last error of the probe.
 */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    let cause: unknown;
    try {
      const value = await probe();
      if (value !== undefined && value !== false) return value;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > deadline) {
      const why = cause instanceof Error ? `: ${cause.message}` : '';
      throw new Error(`${what}: not so after ${timeoutMs} ms${why}`, { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
