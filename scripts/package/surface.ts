import { join } from 'node:path';
import ts from 'typescript';
import { root } from '../build/bundle.ts';
import { emitTypes, entryNames, typesOf, type Entry } from './types.ts';

/** What one entry point of the npm package exports, and the faults of these exports. */
export interface Surface {
  /** Every exported name with its declaration, sorted, without comments and private members. */
  readonly text: string;
  /** Exported names, sorted. */
  readonly names: readonly string[];
  /** Exported names without a docstring. */
  readonly undocumented: readonly string[];
  /** `name mentions Type`: our types that a declaration mentions, and that cannot be imported. */
  readonly hidden: readonly string[];
}

/** Virtual folder in which the compiler finds the emitted declarations. It does not exist on disk. */
const folder = join(root, 'node_modules/.package-types');

/** Reads the exports of every entry point from the type declarations that the package carries. Takes some seconds. */
export function readSurfaces(types: ReadonlyMap<string, string> = emitTypes()): Map<Entry, Surface> {
  const files = new Map([...types].map(([path, text]) => [join(folder, path), text]));
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2024,
    types: ['node'],
    noEmit: true,
  };
  const disk = ts.createCompilerHost(options);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (path) => files.has(path) || disk.fileExists(path),
    readFile: (path) => files.get(path) ?? disk.readFile(path),
    directoryExists: (path) => path.startsWith(folder) || (disk.directoryExists?.(path) ?? true),
    getSourceFile: (path, target) => {
      const text = files.get(path);
      return text === undefined ? disk.getSourceFile(path, target) : ts.createSourceFile(path, text, target, true);
    },
  };
  const roots = entryNames.map((entry) => join(folder, typesOf(entry)));
  const program = ts.createProgram(roots, options, host);
  const checker = program.getTypeChecker();
  const exported = new Map(
    entryNames.map((entry, i) => {
      const module = checker.getSymbolAtLocation(program.getSourceFile(roots[i]!)!)!;
      return [
        entry,
        checker.getExportsOfModule(module).map((symbol) => [symbol.name, target(checker, symbol)] as const),
      ];
    }),
  );
  const importable = new Set([...exported.values()].flatMap((list) => list.map(([, symbol]) => symbol)));
  return new Map([...exported].map(([entry, list]) => [entry, surfaceOf(checker, list.toSorted(byName), importable)]));
}

type Exported = readonly [name: string, symbol: ts.Symbol];
const byName = ([a]: Exported, [b]: Exported): number => (a < b ? -1 : 1);

function target(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function surfaceOf(checker: ts.TypeChecker, list: readonly Exported[], importable: ReadonlySet<ts.Symbol>): Surface {
  const hidden = new Set<string>();
  const texts = list.map(([name, symbol]) => {
    const declarations = (symbol.declarations ?? []).map(statementOf);
    for (const declaration of declarations) {
      for (const type of typesIn(checker, declaration)) {
        if (!importable.has(type)) hidden.add(`${name} mentions ${type.name}`);
      }
    }
    return [...new Set(declarations)].map((declaration) => textOf(declaration, name, symbol.name)).join('\n');
  });
  return {
    text: `${texts.join('\n')}\n`,
    names: list.map(([name]) => name),
    undocumented: list
      .filter(([, symbol]) => symbol.getDocumentationComment(checker).length === 0)
      .map(([name]) => name),
    hidden: [...hidden].toSorted(),
  };
}

/** The statement of a declaration: for a variable the one with its `const`, otherwise the declaration itself. */
function statementOf(declaration: ts.Declaration): ts.Node {
  return ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
}

/** Our named types that a declaration mentions, without type parameters. */
function typesIn(checker: ts.TypeChecker, declaration: ts.Node): Set<ts.Symbol> {
  const found = new Set<ts.Symbol>();
  const visit = (node: ts.Node): void => {
    if (isPrivate(node)) return;
    const name =
      ts.isTypeReferenceNode(node) || ts.isTypeQueryNode(node) || ts.isImportTypeNode(node)
        ? nameIn(node)
        : ts.isExpressionWithTypeArguments(node)
          ? node.expression
          : undefined;
    const symbol = name && checker.getSymbolAtLocation(name);
    const type = symbol && target(checker, symbol);
    if (type && !(type.flags & ts.SymbolFlags.TypeParameter) && isOurs(type)) found.add(type);
    ts.forEachChild(node, visit);
  };
  visit(declaration);
  return found;
}

function nameIn(node: ts.TypeReferenceNode | ts.TypeQueryNode | ts.ImportTypeNode): ts.Node | undefined {
  if (ts.isTypeReferenceNode(node)) return node.typeName;
  return ts.isTypeQueryNode(node) ? node.exprName : node.qualifier;
}

/** True if the symbol is declared at the top level of one of our files. */
function isOurs(symbol: ts.Symbol): boolean {
  return (symbol.declarations ?? []).some((declaration) => {
    const file = declaration.getSourceFile().fileName;
    return file.startsWith(folder) && ts.isSourceFile(statementOf(declaration).parent);
  });
}

function isPrivate(node: ts.Node): boolean {
  if (ts.isPropertyDeclaration(node) && ts.isPrivateIdentifier(node.name)) return true;
  return (
    ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some((m) => m.kind === ts.SyntaxKind.PrivateKeyword)
  );
}

const printer = ts.createPrinter({ removeComments: true });

function textOf(declaration: ts.Node, name: string, ownName: string): string {
  const text = printer
    .printNode(ts.EmitHint.Unspecified, withoutPrivates(declaration), declaration.getSourceFile())
    .replace(/^export /, '')
    .replace(/\bdeclare /, '');
  return name === ownName ? text : `${text} // as ${name}`;
}

function withoutPrivates(node: ts.Node): ts.Node {
  if (!ts.isClassDeclaration(node)) return node;
  const { modifiers, name, typeParameters, heritageClauses, members } = node;
  const open = members.filter((member) => !isPrivate(member));
  return ts.factory.createClassDeclaration(modifiers, name, typeParameters, heritageClauses, open);
}
