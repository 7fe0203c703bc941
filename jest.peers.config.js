import { run, suites } from './jest.e2e.config.js';

/**
 * Tests beside other products, which are built for them (`make e2e-peers`): no part of `make test`.
 * @type {import('jest').Config}
 */
export default {
  ...suites,
  ...run,
  maxWorkers: 1,
  roots: ['<rootDir>/e2e/peers'],
  testPathIgnorePatterns: ['/node_modules/'],
};
