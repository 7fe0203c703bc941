/** @type {import('jest').Config} */
export default {
  roots: ['<rootDir>/e2e'],
  testMatch: ['**/*.e2e.ts'],
  // Needs minutes of building: `make e2e-peers`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/e2e/peers/'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/scripts/jest/strip-types.cjs' },
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  maxWorkers: 1,
  testTimeout: 180_000,
  // Ends a run that something keeps alive, and names it; the children of this process end with it.
  reporters: ['default', '<rootDir>/scripts/jest/left-open.cjs'],
};
