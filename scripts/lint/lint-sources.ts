import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ESLint, type Linter } from 'eslint';
import ts from 'typescript';
import { checkProject, type TypedProject } from './typed-project.ts';

export interface LintOptions {
  /** Absolute path of the checkout. */
  readonly root: string;
  /** Paths of `tsconfig.json` files below `root`. No two list the same file. */
  readonly projects: readonly string[];
  /** Absolute path of the folder in which results are kept. */
  readonly stateDir: string;
  /** Absolute paths of what a result depends on beside the sources: rules, their versions and their settings. */
  readonly rules: readonly string[];
  /** Lints these files alone, changed or not; what is kept then holds for types only. Default: all files. */
  readonly only?: readonly string[] | undefined;
}

export interface LintOutcome {
  /** How many errors and warnings of compiler and linter there are. */
  readonly faults: number;
  /** What is wrong, for people. Empty where nothing is. */
  readonly text: string;
  /** Absolute paths of the files that the linter looked at. */
  readonly linted: readonly string[];
}

/**
 * Type-checks and lints all sources in one process, over the same program of the compiler.
 * Flow: types of every project → rules, on what the compiler checked anew and on what no project lists → results kept.
 * Guarantees: a rule asks for nothing but the text of its file and the types of what stands in it. Both are what the
 * compiler looks at, so a file that it need not check again has the same findings as before, and these were none:
 * results are kept only of a run without any fault, and of the same rules.
 */
export async function lintSources({ root, projects, stateDir, rules, only }: LintOptions): Promise<LintOutcome> {
  holdState(stateDir, rules);
  const typed = projects.map((config) =>
    checkProject(join(root, config), join(stateDir, `${config.replaceAll('/', '-')}.tsbuildinfo`)),
  );
  const unchanged = only
    ? []
    : typed.flatMap(({ listed, checked }) => [...listed].filter((file) => !checked.has(file)));
  const eslint = new ESLint({ cwd: root, warnIgnored: false, overrideConfig: overrides(typed, new Set(unchanged)) });
  // ESLint takes an empty list for the whole folder.
  const results = only?.length === 0 ? [] : await eslint.lintFiles([...(only ?? ['.'])]);
  const { format } = await eslint.loadFormatter('stylish');
  const diagnostics = typed.flatMap((project) => project.diagnostics);
  const faults = results.reduce((sum, { errorCount, warningCount }) => sum + errorCount + warningCount, 0);
  if (diagnostics.length + (only ? 0 : faults) === 0) for (const project of typed) project.keep();
  return {
    faults: diagnostics.length + faults,
    text: [formatTypes(diagnostics, root), await format(results)].filter((part) => part !== '').join('\n'),
    linted: results.map(({ filePath }) => filePath),
  };
}

/** Leaves out what is unchanged, and gives each file the program of the project that lists it. */
function overrides(typed: readonly TypedProject[], unchanged: ReadonlySet<string>): Linter.Config[] {
  // ESLint takes functions in the place of patterns, which its types do not say.
  const matching = (matches: (file: string) => boolean): string[] => [matches as unknown as string];
  return [
    { ignores: matching((file) => unchanged.has(file)) },
    ...typed.map(({ program, listed }) => ({
      files: matching((file) => listed.has(file)),
      languageOptions: { parserOptions: { projectService: false, programs: [program] } },
    })),
  ];
}

/** Removes results that come from other rules or another Node. */
function holdState(stateDir: string, rules: readonly string[]): void {
  const hash = createHash('sha256').update(process.version);
  for (const file of rules.toSorted()) hash.update(`\0${file}\0`).update(readFileSync(file));
  const key = hash.digest('hex');
  const file = join(stateDir, 'rules');
  if (existsSync(file) && readFileSync(file, 'utf8') === key) return;
  rmSync(stateDir, { recursive: true, force: true });
  mkdirSync(stateDir, { recursive: true });
  writeFileSync(file, key);
}

function formatTypes(diagnostics: readonly ts.Diagnostic[], root: string): string {
  const host = {
    getCurrentDirectory: () => root,
    getCanonicalFileName: (name: string) => name,
    getNewLine: () => '\n',
  };
  return ts.formatDiagnostics(diagnostics, host);
}
