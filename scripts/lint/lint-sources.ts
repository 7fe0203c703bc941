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
  /** Absolute paths of the other files that a result depends on: rules, their versions and their settings. */
  readonly rules: readonly string[];
  /** Lints only these files, changed or not; the kept result then covers types only. Default: all files. */
  readonly only?: readonly string[] | undefined;
}

export interface LintOutcome {
  /** How many errors and warnings of compiler and linter there are. */
  readonly faults: number;
  /** The faults as text for people. Empty if there are none. */
  readonly text: string;
  /** Absolute paths of the files that the linter looked at. */
  readonly linted: readonly string[];
}

/**
 * Type-checks and lints all sources in one process, over the same compiler programs.
 * Flow: check the types of every project → lint the files that the compiler checked again and those that no project
 * lists → keep the results.
 * Guarantees: a file that the compiler need not check again has no findings. A rule reads only the text of its file and
 * the types in it, and the compiler checks a file again when either changes. Results are kept only after a run without
 * faults, and are dropped when the rules change.
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

/** Leaves out unchanged files, and gives each file the program of the project that lists it. */
function overrides(typed: readonly TypedProject[], unchanged: ReadonlySet<string>): Linter.Config[] {
  // ESLint accepts functions in place of patterns, though its types do not say so.
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
