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

/** Folders of generated files, and of those that they are made of. */
const generates = /^(src|scripts\/generate|crds|schemas|manifests|config|surface|docs\/reference)\//;

/**
 * What the changed files can affect, in two lanes that run side by side: the unit tests that import a changed file,
 * directly or not; and their format, all types (incrementally) with the rules on what changed, then the generated files
 * or their sources changed. Pure.
 * Left out: everything where nothing changed, and e2e tests always.
 * @param gone Files that were removed: those that import them no longer compile.
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
