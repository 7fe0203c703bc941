/**
 * Suites that run beside no other, because they measure time. `whole` allows five seconds for an edit, `drift` one
 * second for the operator, and `hostile` a quarter of a second for every server. `upgrade` wants an answer in time for
 * every question and every token. The minter's `chaos` wants an answer within five seconds for every request while the
 * key service hangs. `shutdown` sends three hundred requests in two seconds.
 */
const alone = [
  '<rootDir>/e2e/whole/',
  '<rootDir>/e2e/life/drift',
  '<rootDir>/e2e/life/shutdown',
  '<rootDir>/e2e/hostile/',
  '<rootDir>/e2e/upgrade/',
  '<rootDir>/e2e/minter/chaos',
];
/** @type {import('jest').Config} */
export const suites = {
  roots: ['<rootDir>/e2e'],
  testMatch: ['**/*.e2e.ts'],
  // Needs minutes of building: `make e2e-peers`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/e2e/peers/'],
  testEnvironment: '<rootDir>/scripts/jest/one-realm.cjs',
  runtime: '<rootDir>/scripts/jest/shared-modules.cjs',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '\\.ts$': '<rootDir>/scripts/jest/strip-types.cjs' },
  modulePathIgnorePatterns: ['<rootDir>/dist'],
};
/** Options that Jest reads only from the config of the whole run, not from that of a project. */
export const run = {
  testTimeout: 180_000,
  // Ends a run that is kept alive, and names what keeps it alive; the children of this process end with it.
  reporters: ['default', '<rootDir>/scripts/jest/left-open.cjs'],
};

/** @type {import('jest').Config} */
export default {
  ...run,
  // For `npm run e2e:beside` on a machine with two cores: a cluster that starts uses both cores; a cluster that has
  // started is idle for more than half of the time.
  maxWorkers: 3,
  projects: [
    {
      ...suites,
      displayName: 'alone',
      testMatch: alone.map((path) => (path.endsWith('/') ? `${path}**/*.e2e.ts` : `${path}.e2e.ts`)),
    },
    { ...suites, displayName: 'beside', testPathIgnorePatterns: [...suites.testPathIgnorePatterns, ...alone] },
  ],
};
