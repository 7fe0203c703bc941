/** A command of `make quick`, with the files that it is about. */
export interface QuickStep {
  readonly name: string;
  readonly command: readonly string[];
}

const jest = [
  'node',
  '--experimental-vm-modules',
  '--no-compilation-cache',
  '--disable-warning=ExperimentalWarning',
  'node_modules/jest/bin/jest.js',
];

/**
 * What the changed files can affect, in two lanes that run side by side: the unit tests that import a changed file,
 * directly or not; and their format, all types (incrementally) with the rules on what changed, then the generated files
 * where their sources changed. Pure.
 * Left out: everything where nothing changed, and e2e tests always.
 */
export function quickPlan(changed: readonly string[]): QuickStep[][] {
  const code = changed.filter((file) => /\.[cm]?[jt]s$/.test(file));
  const lintable = code.filter((file) => !file.endsWith('.cjs'));
  const inUnit = code.filter((file) => !file.startsWith('e2e/'));
  const types = code.length > 0 || changed.some((file) => /(^|\/)(tsconfig|package|package-lock)\.json$/.test(file));
  const generated = changed.some((file) => /^(src|scripts\/generate|crds|schemas|manifests|config)\//.test(file));
  const step = (when: boolean, name: string, ...command: string[]): QuickStep[] => (when ? [{ name, command }] : []);
  return [
    step(
      inUnit.length > 0,
      'unit tests of what changed',
      ...jest,
      '--passWithNoTests',
      '--findRelatedTests',
      ...inUnit,
    ),
    [
      ...step(changed.length > 0, 'format', 'prettier', '--check', '--log-level=warn', '--ignore-unknown', ...changed),
      ...step(types, 'types and lint', 'node', '--max-semi-space-size=64', 'scripts/lint.ts', '--only', ...lintable),
      ...step(generated, 'generated files are current', 'node', 'scripts/generate.ts', '--check'),
    ],
  ];
}
