import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  visit,
  type Document,
  type Node,
  type YAMLMap,
} from 'yaml';
import { maxRuleFileBytes } from '../../api/v1alpha1/rule-file-size.ts';
import { sha256Hex } from '../../base/canonical-json.ts';
import { cutToUnits } from '../../base/text/texts.ts';
import { isPermissionName, isRepositoryName, isScopeName } from '../names.ts';
import { ExpressionFault } from './expression-tokens.ts';
import { parseExpression, type Expression } from './expression-parser.ts';
import { isLevel, type Level, type Permissions } from './permissions.ts';

/** One scope that passed every check. */
export interface Scope {
  name: string;
  rule: Expression;
  /** Exact names; empty when `everyRepository` is set. */
  repositories: ReadonlySet<string>;
  /** Set by the name `*`, which is a fault unless `allowWildcard` is set. */
  everyRepository: boolean;
  permissions: Permissions;
}

/** A fault in a file. If `scope` is set, the fault disables only that scope. `line` counts from 1. */
export interface RuleFault {
  file: string;
  scope?: string;
  line?: number;
  message: string;
}

/** A usable rule file: its top rule, the scopes in force, and the faults of the other scopes. */
export interface RuleFile {
  /** Name in the directory, e.g. `gitops.yaml`, or `.yaml` for the catch-all. */
  name: string;
  sha256: string;
  top: Expression;
  scopes: ReadonlyMap<string, Scope>;
  faults: readonly RuleFault[];
}

export interface RuleFileOptions {
  allowWildcard: boolean;
}

const documentVersion = 'minty.abcxyz.dev/v2';

/**
 * Reads one rule document. Pure; never throws. A fault of the document as a whole gives `fault` and no file;
 * a scope with a fault is left out, and the fault is listed in `file.faults`.
 */
export function parseRuleFile(
  name: string,
  bytes: Uint8Array,
  options: RuleFileOptions,
): { file: RuleFile } | { fault: RuleFault } {
  try {
    return { file: new Reader(name, bytes, options).read() };
  } catch (error) {
    if (error instanceof Fault) return { fault: error.at(name) };
    // The YAML library may exhaust the stack on hostile nesting: that is a fault of the file like any other.
    return { fault: { file: name, message: 'cannot be read as YAML' } };
  }
}

class Fault extends Error {
  readonly line: number | undefined;

  constructor(message: string, line?: number) {
    super(message);
    this.line = line;
  }

  at(file: string, scope?: string): RuleFault {
    return {
      file,
      message: this.message,
      ...(this.line === undefined ? {} : { line: this.line }),
      ...(scope === undefined ? {} : { scope }),
    };
  }
}

class Reader {
  readonly #name: string;
  readonly #bytes: Uint8Array;
  readonly #options: RuleFileOptions;
  readonly #lines = new LineCounter();

  constructor(name: string, bytes: Uint8Array, options: RuleFileOptions) {
    this.#name = name;
    this.#bytes = bytes;
    this.#options = options;
  }

  read(): RuleFile {
    const document = this.#document();
    const root = document.contents;
    if (isSeq(root)) throw new Fault('is a list: documents of version 1 are not supported', 1);
    if (!isMap(root)) throw new Fault('is not a mapping', 1);
    const top = this.#fields(root as YAMLMap<unknown, Node>, ['version', 'rule', 'scope']);
    if (scalar(top.get('version')) !== documentVersion) throw new Fault(`version must be ${documentVersion}`, 1);
    const topRule = this.#rule(top.get('rule'), root);
    const scopesNode = top.get('scope');
    if (!isMap(scopesNode)) throw new Fault('scope must be a mapping', this.#line(scopesNode ?? root));
    const scopes = new Map<string, Scope>();
    const faults: RuleFault[] = [];
    for (const { key, value } of (scopesNode as YAMLMap<Node, Node | null>).items) {
      const scopeName = cutToUnits(String(scalar(key) ?? '?'), 128);
      try {
        if (typeof scalar(key) !== 'string' || !isScopeName(scopeName))
          throw new Fault('scope name is not valid', this.#line(key));
        const scope = this.#scope(scopeName, value, key);
        if (!identifies(topRule) && !identifies(scope.rule)) {
          throw new Fault('neither rule refers to assertion.email or assertion.sub', this.#line(key));
        }
        scopes.set(scopeName, scope);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        faults.push(error.at(this.#name, scopeName));
      }
    }
    return { name: this.#name, sha256: sha256Hex(this.#bytes), top: topRule, scopes, faults };
  }

  #document(): Document {
    if (this.#bytes.length > maxRuleFileBytes) throw new Fault(`is larger than ${maxRuleFileBytes} bytes`);
    let text: string;
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(this.#bytes);
    } catch {
      throw new Fault('is not valid UTF-8');
    }
    const documents = parseAllDocuments(text, {
      // The library compares each key with all before it, so repeated ones are found below.
      uniqueKeys: false,
      version: '1.2',
      schema: 'core',
      merge: false,
      lineCounter: this.#lines,
      prettyErrors: false,
    });
    const [document] = documents;
    if (!Array.isArray(documents) || documents.length !== 1 || !document) throw new Fault('must be one YAML document');
    const problem = document.errors[0] ?? document.warnings[0];
    if (problem) throw new Fault(`is not valid YAML (${problem.code})`, this.#lines.linePos(problem.pos[0]).line);
    visit(document, {
      Alias: (_, node) => {
        throw new Fault('must not use aliases', this.#line(node));
      },
      Node: (_, node) => {
        if ('anchor' in node && node.anchor) throw new Fault('must not use anchors', this.#line(node));
        if (node.tag && !node.tag.startsWith('tag:yaml.org,2002:'))
          throw new Fault('must not use tags', this.#line(node));
        if (isMap(node)) this.#refuseRepeatedKeys(node as YAMLMap);
      },
    });
    return document as Document;
  }

  #refuseRepeatedKeys(map: YAMLMap): void {
    const keys = new Set<unknown>();
    for (const { key } of map.items) {
      if (!isScalar(key)) continue;
      if (keys.has(key.value)) throw new Fault('is not valid YAML (DUPLICATE_KEY)', this.#line(key));
      keys.add(key.value);
    }
  }

  #scope(name: string, value: Node | null, key: Node): Scope {
    if (!isMap(value)) throw new Fault('scope is not a mapping', this.#line(key));
    const fields = this.#fields(value as YAMLMap<unknown, Node>, ['rule', 'repositories', 'permissions']);
    const rule = this.#rule(fields.get('rule'), key);
    const listed = this.#repositories(fields.get('repositories'), key);
    const permissions = this.#permissions(fields.get('permissions'), key);
    const everyRepository = listed.has('*');
    return { name, rule, repositories: everyRepository ? new Set() : listed, everyRepository, permissions };
  }

  #rule(node: Node | undefined, near: Node): Expression {
    if (!isMap(node)) throw new Fault('rule.if is missing', this.#line(node ?? near));
    const condition = this.#fields(node as YAMLMap<unknown, Node>, ['if']).get('if');
    const value = scalar(condition);
    if (typeof value !== 'string' && typeof value !== 'boolean')
      throw new Fault('rule.if is missing', this.#line(node));
    try {
      return parseExpression(String(value));
    } catch (error) {
      if (error instanceof ExpressionFault) throw new Fault(`rule.if: ${error.message}`, this.#line(condition ?? node));
      throw error;
    }
  }

  #repositories(node: Node | undefined, near: Node): Set<string> {
    if (!isSeq(node) || node.items.length === 0)
      throw new Fault('repositories is missing or empty', this.#line(node ?? near));
    const names = new Set<string>();
    for (const item of node.items) {
      const value = scalar(item);
      const wildcard = value === '*' && this.#options.allowWildcard && node.items.length === 1;
      if (typeof value !== 'string' || !(wildcard || isRepositoryName(value))) {
        throw new Fault(`repositories: ${shown(value)} is not a plain name`, this.#line(item as Node));
      }
      names.add(value);
    }
    return names;
  }

  #permissions(node: Node | undefined, near: Node): Map<string, Level> {
    if (!isMap(node) || node.items.length === 0)
      throw new Fault('permissions is missing or empty', this.#line(node ?? near));
    const permissions = new Map<string, Level>();
    for (const { key, value } of node.items) {
      const name = scalar(key);
      const level = scalar(value);
      if (typeof name !== 'string' || !isPermissionName(name))
        throw new Fault('permissions: name is not valid', this.#line(key as Node));
      if (!isLevel(level)) throw new Fault(`permissions.${name} must be read, write or admin`, this.#line(key as Node));
      permissions.set(name, level);
    }
    return permissions;
  }

  #fields(node: YAMLMap<unknown, Node | null>, known: readonly string[]): Map<string, Node> {
    const fields = new Map<string, Node>();
    for (const { key, value } of node.items) {
      const name = scalar(key);
      if (typeof name !== 'string' || !known.includes(name)) throw new Fault('unknown key', this.#line(key as Node));
      if (value) fields.set(name, value);
    }
    return fields;
  }

  #line(node: unknown): number | undefined {
    const offset = (node as Node | null | undefined)?.range?.[0];
    return offset === undefined ? undefined : this.#lines.linePos(offset).line;
  }
}

function scalar(node: unknown): unknown {
  return isScalar(node) ? node.value : undefined;
}

/** A value of a file for a message. */
const shown = (value: unknown): string => cutToUnits(JSON.stringify(value) ?? 'a structure', 128);

/** True when a rule refers to a claim of the caller's identity, not only to the token's issuer. */
function identifies(rule: Expression): boolean {
  return rule.claims.has('email') || rule.claims.has('sub');
}
