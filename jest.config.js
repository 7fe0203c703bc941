import { compileCacheDir } from './src/testing/cache-dir.ts';

// Programs that tests start, and the workers, need not compile again what earlier ones compiled.
process.env['NODE_COMPILE_CACHE'] ??= compileCacheDir;

/**
 * The test files of a worker share one realm and its modules (docs/adr/0047-one-realm-for-a-worker.md).
 * Node runs Jest with --no-compilation-cache: V8's cache of compiled scripts keeps the whole context of every test file
 * that has ended, and a worker with a hundred of them in its heap spends a third of its time collecting garbage.
 * @type {import('jest').Config}
 */
export default {
  roots: ['<rootDir>/src', '<rootDir>/scripts', '<rootDir>/bench', '<rootDir>/examples', '<rootDir>/ui'],
  testMatch: ['**/*.test.ts'],
  testEnvironment: '<rootDir>/scripts/jest/one-realm.cjs',
  runtime: '<rootDir>/scripts/jest/shared-modules.cjs',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/scripts/jest/strip-types.cjs' },
  setupFilesAfterEnv: ['<rootDir>/scripts/jest/no-exit.cjs', '<rootDir>/scripts/jest/quick-equality.cjs'],
  modulePathIgnorePatterns: ['<rootDir>/dist'],
  // Three workers for two cores: a good part of the tests waits for a socket, a process or a limit of real time.
  maxWorkers: 3,
  // Tests wait for conditions; this ends those that would wait for ever, also on a busy machine.
  testTimeout: 60_000,
  // Suites that are repeated run in this process. Then this reporter ends a run that something keeps alive, and names
  // what it is.
  reporters: ['default', '<rootDir>/scripts/jest/left-open.cjs'],
};
