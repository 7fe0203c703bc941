/** @type {import('jest').Config} */
export default {
  roots: ['<rootDir>/e2e'],
  testMatch: ['**/*.e2e.ts'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/scripts/jest/strip-types.cjs' },
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  maxWorkers: 1,
  testTimeout: 180_000,
  // A hook that ran out of time leaves its cluster running; the children end with this process.
  forceExit: true,
};
