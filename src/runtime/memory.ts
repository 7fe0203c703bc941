import { setFlagsFromString } from 'node:v8';

/**
 * Makes V8 keep less data that it could recompute (feedback, compiled code, spare heap). This saves 15 MiB at 1,500
 * objects. A controller is not measurably slower, because it mostly waits for the network. Call this function before
 * the rest of the program is loaded. It works best with a small young generation, which only the environment can set
 * (`NODE_OPTIONS=--max-semi-space-size=1`).
 */
export function preferMemoryToSpeed(): void {
  setFlagsFromString('--optimize-for-size');
}

/**
 * Makes V8 collect the old generation as soon as it has grown by a fifth of the live data (by 8 MiB at least). By
 * default V8 lets it grow by up to three times the live data. Early collection suits a program that holds much data and
 * makes little garbage: an agent with 50,000 series takes 40 MiB less, and collects every few minutes.
 */
export function collectEarly(): void {
  setFlagsFromString('--heap-growing-percent=20');
}
