import ts from 'typescript';

/** The files that a `tsconfig.json` lists, type-checked where a change can affect them. */
export interface TypedProject {
  readonly program: ts.Program;
  /** Absolute paths of the files that the project itself lists, without those that they import. */
  readonly listed: ReadonlySet<string>;
  /** Absolute paths of the files that were checked in this run; for other files the last result holds. */
  readonly checked: ReadonlySet<string>;
  readonly diagnostics: readonly ts.Diagnostic[];
  /** Keeps the result, so that the next run checks only changed files and the files that they affect. */
  keep(): void;
}

/**
 * Type-checks a project, starting from what was kept in `stateFile`.
 * Guarantees: the compiler checks a file again if its text, a declaration that it imports directly or indirectly, the
 * compiler or its options have changed. It compares contents, not times. Without a call of `keep`, the next run checks
 * the same files again.
 * Errors: a config that cannot be read.
 */
export function checkProject(configFile: string, stateFile: string): TypedProject {
  const host: ts.ParseConfigFileHost = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: refuse };
  const state = { incremental: true, tsBuildInfoFile: stateFile };
  const { fileNames: rootNames, options } = ts.getParsedCommandLineOfConfigFile(configFile, state, host)!;
  const compilerHost = ts.createIncrementalCompilerHost(options);
  const program = ts.createProgram({ rootNames, options, host: compilerHost }) as Checking;
  const checked = new Set<string>();
  const check = program.getBindAndCheckDiagnostics;
  program.getBindAndCheckDiagnostics = (file, signal) => {
    checked.add(file.fileName);
    return check(file, signal);
  };
  const before = ts.readBuilderProgram(options, compilerHost);
  const builder = ts.createSemanticDiagnosticsBuilderProgram(program, compilerHost, before);
  const diagnostics = [
    ...builder.getConfigFileParsingDiagnostics(),
    ...builder.getOptionsDiagnostics(),
    ...builder.getSyntacticDiagnostics(),
    ...builder.getGlobalDiagnostics(),
    ...builder.getSemanticDiagnostics(),
  ];
  return { program, listed: new Set(rootNames), checked, diagnostics, keep: () => void builder.emit() };
}

/** The internal method by which the compiler's builder checks a file that it has no result for. */
interface Checking extends ts.Program {
  getBindAndCheckDiagnostics: (file: ts.SourceFile, signal?: ts.CancellationToken) => readonly ts.Diagnostic[];
}

function refuse(diagnostic: ts.Diagnostic): never {
  throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'));
}
