/** The rules of this project for its tests, as an ESLint plugin. */
import assertsOnEveryPath from './asserts-on-every-path.js';
import fixedDateBesideRealClock from './fixed-date-beside-real-clock.js';
import loopsThatRun from './loops-that-run.js';

export const testRules = {
  rules: {
    'asserts-on-every-path': assertsOnEveryPath,
    'fixed-date-beside-real-clock': fixedDateBesideRealClock,
    'loops-that-run': loopsThatRun,
  },
};
