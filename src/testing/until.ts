/**
 * Waits until `condition` gives something true and returns it; for effects that cross a socket, where a fake clock
 * cannot say when they are over. It yields to the event loop and sets no timers.
 * Errors: throws with `what` after `limitMs` of real time: long, because a busy machine is slow and a broken test is rare.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  what = 'the condition',
  limitMs = 40_000,
): Promise<NonNullable<T>> {
  const end = performance.now() + limitMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > end) throw new Error(`${what} did not come true in ${limitMs} ms`);
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
