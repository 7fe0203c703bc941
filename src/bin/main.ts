import { systemClock, type Clock } from '../base/clock.ts';
import { eachError, errorText, isOperatorError } from '../base/errors.ts';
import { createLogger, type Logger, type LogLevel } from '../base/logger.ts';
import { sourceStack } from '../base/source-stack.ts';
import { endProcess } from './end-process.ts';

/** What every long-running program gets. */
export interface MainContext {
  logger: Logger;
  clock: Clock;
  /** Aborts at the first SIGTERM or SIGINT. */
  signal: AbortSignal;
}

/** How long a program that ends waits for the reader of its log. Units: ms. */
const outputMs = 5_000;

const endEarly = (): void => process.exit(143);

/**
 * Makes SIGTERM end a process that has not reached `runMain` yet; its exit code is 143, as without a handler. The kernel
 * drops a signal without a handler when it is for the first process of a container, and a program takes seconds to load
 * on a busy node. A pod that is deleted meanwhile would work until the kubelet kills it.
 */
export function endAtSigterm(): void {
  process.on('SIGTERM', endEarly);
}

/**
 * Runs one process until `run` resolves or fails, or a signal stops it.
 * Exit codes: 0 after a clean end, also after SIGTERM; 1 after an error, which is logged in one line; 130 when a second
 * signal ends it at once.
 */
export async function runMain(level: LogLevel, run: (context: MainContext) => Promise<void>): Promise<never> {
  const logger = createLogger({ level });
  const abort = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      if (abort.signal.aborted) process.exit(130);
      logger.info('stopping', { signal: name });
      abort.abort(new Error(name));
    });
  }
  // Only now: between two handlers a signal would be lost.
  process.off('SIGTERM', endEarly);
  process.on('unhandledRejection', (error) => {
    logger.error('unhandled rejection', {
      error: errorText(error),
      stack: sourceStack(error),
    });
    void endProcess(1, outputMs);
  });
  try {
    await run({ logger, clock: systemClock, signal: abort.signal });
    return await endProcess(0, outputMs);
  } catch (error) {
    const own = eachError(error).find((one) => isOperatorError(one));
    if (abort.signal.aborted && !own) return endProcess(0, outputMs);
    logger.error(errorText(error), own ? { code: own.code } : { stack: sourceStack(error) });
    return endProcess(1, outputMs);
  }
}
