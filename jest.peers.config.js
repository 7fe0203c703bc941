import { run, suites } from './jest.e2e.config.js';

/**
 * Tests that run our programs beside those of other projects (`make e2e-peers`). They are no part of `make test`,
 * because the programs of the other projects have to be built for them.
 * @type {import('jest').Config}
 */
export default {
  ...suites,
  ...run,
  maxWorkers: 1,
  roots: ['<rootDir>/e2e/peers'],
  testPathIgnorePatterns: ['/node_modules/'],
};
