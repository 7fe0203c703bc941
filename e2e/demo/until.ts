/**
 * Asks again until the answer is good; the pause is short because everything asked is on this machine.
 * Errors: after `timeoutMs`, with what was waited for and the last answer or error.
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T>,
  good: (answer: T) => boolean,
  options: { timeoutMs?: number; everyMs?: number; signal?: AbortSignal } = {},
): Promise<T> {
  const end = performance.now() + (options.timeoutMs ?? 60_000);
  let last = 'no answer yet';
  for (;;) {
    options.signal?.throwIfAborted();
    try {
      const answer = await ask();
      if (good(answer)) return answer;
      last = JSON.stringify(answer)?.slice(0, 600) ?? 'undefined';
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    if (performance.now() > end)
      throw new Error(`waited ${(options.timeoutMs ?? 60_000) / 1000} s for ${what}; last: ${last}`);
    await new Promise((resolve) => setTimeout(resolve, options.everyMs ?? 200));
  }
}
