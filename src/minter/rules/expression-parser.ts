import { ExpressionFault, tokenize, type Token } from './expression-tokens.ts';

/**
 * A checked rule expression. Every node has one type, text or boolean, known when the rule is loaded, so evaluation
 * never meets an unexpected type. No node is a loop, so evaluation ends. Chains of `&&` and `||` are flat, so depth is
 * bounded.
 */
export type TextNode =
  { op: 'text'; value: string } | { op: 'claim'; name: ClaimName } | { op: 'issuer'; name: string };
export type TruthNode =
  | { op: 'truth'; value: boolean }
  | { op: 'and' | 'or'; parts: TruthNode[] }
  | { op: 'not'; part: TruthNode }
  | { op: 'same'; negated: boolean; left: TextNode; right: TextNode }
  | { op: 'alike'; negated: boolean; left: TruthNode; right: TruthNode }
  | { op: 'oneOf'; item: TextNode; list: TextNode[] }
  | { op: 'startsWith' | 'endsWith' | 'contains'; subject: TextNode; argument: TextNode };

/** Claims that a rule may name. The CI claims are included so that old rule files load; our issuer never sends them. */
export const claimNames = [
  'iss',
  'sub',
  'aud',
  'email',
  'parsed_org_name',
  'parsed_repo_name',
  'ref',
  'ref_type',
  'sha',
  'repository',
  'repository_id',
  'repository_owner',
  'repository_owner_id',
  'run_id',
  'run_number',
  'actor_id',
  'event_name',
  'workflow',
  'workflow_ref',
  'workflow_sha',
  'job_workflow_ref',
  'job_workflow_sha',
  'enterprise',
  'enterprise_id',
  'actor',
] as const;
export type ClaimName = (typeof claimNames)[number];

export interface Expression {
  root: TruthNode;
  /** The claims that the rule refers to. */
  claims: ReadonlySet<ClaimName>;
}

const maxDepth = 32;
const maxLength = 16_384;
const methods = ['startsWith', 'endsWith', 'contains'] as const;

/**
 * Parses and type-checks a rule. Grammar, loosest first: `||`, `&&`, relations (`==`, `!=`, `in [..]`), `!`, members.
 * Errors: ExpressionFault.
 */
export function parseExpression(source: string): Expression {
  if (source.length > maxLength) throw new ExpressionFault(`longer than ${maxLength} characters`, maxLength);
  const parser = new Parser(tokenize(source));
  const root = parser.whole();
  return { root, claims: parser.claims };
}

type Node = { type: 'text'; node: TextNode } | { type: 'truth'; node: TruthNode };

class Parser {
  readonly claims = new Set<ClaimName>();
  readonly #tokens: Token[];
  #next = 0;
  #depth = 0;

  constructor(tokens: Token[]) {
    this.#tokens = tokens;
  }

  whole(): TruthNode {
    const at = this.#peek().at;
    const result = this.#truth(this.#or(), at);
    if (this.#peek().kind !== 'end') throw this.#unexpected();
    return result;
  }

  #or(): Node {
    return this.#chain('||', 'or', () => this.#chain('&&', 'and', () => this.#relation()));
  }

  #chain(symbol: string, op: 'and' | 'or', operand: () => Node): Node {
    const at = this.#peek().at;
    const first = operand();
    if (!this.#at(symbol)) return first;
    const parts = [this.#truth(first, at)];
    while (this.#take(symbol)) {
      const start = this.#peek().at;
      parts.push(this.#truth(operand(), start));
    }
    return { type: 'truth', node: { op, parts } };
  }

  #relation(): Node {
    let left = this.#unary();
    for (let links = 0; ; links++) {
      const { at, kind, text } = this.#peek();
      if (!this.#at('==') && !this.#at('!=') && !(kind === 'name' && text === 'in')) return left;
      if (links >= maxDepth) throw new ExpressionFault('too many comparisons in a row', at);
      this.#next++;
      if (text === 'in')
        left = { type: 'truth', node: { op: 'oneOf', item: this.#text(left, at), list: this.#list() } };
      else left = this.#compare(left, text === '!=', at);
    }
  }

  #compare(left: Node, negated: boolean, at: number): Node {
    const right = this.#unary();
    if (left.type === 'text' && right.type === 'text') {
      return { type: 'truth', node: { op: 'same', negated, left: left.node, right: right.node } };
    }
    if (left.type === 'truth' && right.type === 'truth') {
      return { type: 'truth', node: { op: 'alike', negated, left: left.node, right: right.node } };
    }
    throw new ExpressionFault('text compared with a truth value', at);
  }

  #list(): TextNode[] {
    this.#expect('[');
    const items: TextNode[] = [];
    while (!this.#take(']')) {
      if (items.length > 0) {
        this.#expect(',');
        if (this.#take(']')) break;
      }
      const at = this.#peek().at;
      items.push(this.#text(this.#unary(), at));
    }
    return items;
  }

  #unary(): Node {
    if (!this.#at('!')) return this.#member();
    const at = this.#peek().at;
    let negated = false;
    while (this.#take('!')) negated = !negated;
    const part = this.#truth(this.#member(), at);
    return { type: 'truth', node: negated ? { op: 'not', part } : part };
  }

  #member(): Node {
    let node = this.#primary();
    while (this.#at('.')) {
      const at = this.#peek().at;
      this.#next++;
      const name = this.#name();
      const method = methods.find((m) => m === name);
      if (!method) throw new ExpressionFault('unknown method', at);
      this.#expect('(');
      const argumentAt = this.#peek().at;
      const argument = this.#text(
        this.#nested(() => this.#or()),
        argumentAt,
      );
      this.#expect(')');
      node = { type: 'truth', node: { op: method, subject: this.#text(node, at), argument } };
    }
    return node;
  }

  #primary(): Node {
    const token = this.#peek();
    if (token.kind === 'string') {
      this.#next++;
      return { type: 'text', node: { op: 'text', value: token.text } };
    }
    if (this.#take('(')) {
      const inner = this.#nested(() => this.#or());
      this.#expect(')');
      return inner;
    }
    const name = this.#name();
    if (name === 'true' || name === 'false') return { type: 'truth', node: { op: 'truth', value: name === 'true' } };
    if (name !== 'assertion' && name !== 'issuers') throw new ExpressionFault('unknown name', token.at);
    this.#expect('.');
    const field = this.#name();
    if (name === 'issuers') {
      if (field !== 'google' && field !== 'github')
        throw new ExpressionFault(`unknown issuer issuers.${field.slice(0, 40)}`, token.at);
      return { type: 'text', node: { op: 'issuer', name: field } };
    }
    const claim = claimNames.find((c) => c === field);
    if (!claim) throw new ExpressionFault(`unknown claim assertion.${field.slice(0, 40)}`, token.at);
    this.claims.add(claim);
    return { type: 'text', node: { op: 'claim', name: claim } };
  }

  #nested<T>(parse: () => T): T {
    if (++this.#depth > maxDepth) throw new ExpressionFault(`nested deeper than ${maxDepth}`, this.#peek().at);
    const result = parse();
    this.#depth--;
    return result;
  }

  #truth(node: Node, at: number): TruthNode {
    if (node.type !== 'truth') throw new ExpressionFault('a truth value is needed', at);
    return node.node;
  }

  #text(node: Node, at: number): TextNode {
    if (node.type !== 'text') throw new ExpressionFault('a text is needed', at);
    return node.node;
  }

  #peek(): Token {
    return this.#tokens[this.#next]!;
  }

  #at(symbol: string): boolean {
    const token = this.#peek();
    return token.kind === 'symbol' && token.text === symbol;
  }

  #take(symbol: string): boolean {
    if (!this.#at(symbol)) return false;
    this.#next++;
    return true;
  }

  #expect(symbol: string): void {
    if (!this.#take(symbol)) throw this.#unexpected();
  }

  #name(): string {
    const token = this.#peek();
    if (token.kind !== 'name') throw this.#unexpected();
    this.#next++;
    return token.text;
  }

  #unexpected(): ExpressionFault {
    const token = this.#peek();
    const shown = token.kind === 'string' ? 'a string' : token.kind === 'end' ? token.text : JSON.stringify(token.text);
    return new ExpressionFault(`unexpected ${shown}`, token.at);
  }
}
