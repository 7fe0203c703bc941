/**
 * Finds or builds every program that the e2e tests run, before the first test: a cold build takes minutes, which no
 * test's time limit allows for.
 */
import { findMoved, movableDates } from './calendar/moved.ts';
import { findBinaries } from './cluster/binaries.ts';
import { findHelm } from './helm/programs.ts';
import { findPrometheus } from './prometheus/programs.ts';

try {
  await findBinaries();
  await findPrometheus();
  await findHelm();
  if (movableDates.missing === undefined) await findMoved();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
