/** @type {import('jest').Config} */
export default {
  roots: ['<rootDir>/src', '<rootDir>/scripts', '<rootDir>/bench', '<rootDir>/examples'],
  testMatch: ['**/*.test.ts'],
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/scripts/jest/strip-types.cjs' },
  setupFilesAfterEnv: ['<rootDir>/scripts/jest/no-exit.cjs'],
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  maxWorkers: 2,
  testTimeout: 15_000,
};
