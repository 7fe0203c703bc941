/** A command of `make quick`, with its files as arguments. */
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

/** Folders of generated files and of their sources. */
const generates = /^(src|scripts\/generate|crds|schemas|manifests|config|surface|docs\/reference)\//;

/**
 * The steps for changed files, in two lanes that run in parallel. The first lane runs the unit tests that import a
 * changed file, directly or indirectly. The second checks the format of the changed files, then all types
 * (incrementally) with the lint rules for changed files, then the generated files, if one of them or of their sources
 * changed. Without changes there are no steps; e2e tests never run. Pure.
 * @param gone Removed files, whose importers no longer compile.
 */
export function quickPlan(changed: readonly string[], gone: readonly string[] = []): QuickStep[][] {
  const isCode = (file: string): boolean => /\.(tsx|[cm]?[jt]s)$/.test(file);
  const code = changed.filter(isCode);
  const lintable = code.filter((file) => !file.endsWith('.cjs'));
  const inUnit = code.filter((file) => !file.startsWith('e2e/'));
  const all = [...changed, ...gone];
  const types = all.some((file) => isCode(file) || /(^|\/)(tsconfig|package|package-lock)\.json$/.test(file));
  const generated = all.some((file) => generates.test(file));
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
