import { foldName } from '../names.ts';
import type { ClaimName, Expression, TextNode, TruthNode } from './expression-parser.ts';

/** The inputs of a rule: caller and request. An absent claim is absent from the map, never an empty string. */
export type Claims = ReadonlyMap<ClaimName, string>;
/** Values of `issuers.<name>`. */
export type Issuers = ReadonlyMap<string, string>;

/** `denied` and `absent …` both refuse; only the audit line distinguishes them. */
export type Verdict = { admits: true } | { admits: false; because: 'denied' | `absent ${string}` };

/**
 * Evaluates a rule, left to right with short circuit. The first evaluated reference to an absent claim refuses, even if
 * the other side of an `||` would admit. Evaluation always ends: no loop, no recursion deeper than the parser allowed,
 * no I/O.
 */
export function evaluateRule(expression: Expression, claims: Claims, issuers: Issuers): Verdict {
  try {
    return truth(expression.root, claims, issuers) ? { admits: true } : { admits: false, because: 'denied' };
  } catch (error) {
    if (error instanceof AbsentClaim) return { admits: false, because: `absent ${error.claim}` };
    throw error;
  }
}

class AbsentClaim extends Error {
  readonly claim: string;

  constructor(claim: string) {
    super(claim);
    this.claim = claim;
  }
}

function truth(node: TruthNode, claims: Claims, issuers: Issuers): boolean {
  switch (node.op) {
    case 'truth':
      return node.value;
    case 'and':
      return node.parts.every((part) => truth(part, claims, issuers));
    case 'or':
      return node.parts.some((part) => truth(part, claims, issuers));
    case 'not':
      return !truth(node.part, claims, issuers);
    case 'alike':
      return (truth(node.left, claims, issuers) === truth(node.right, claims, issuers)) !== node.negated;
    case 'same':
      return isSame(text(node.left, claims, issuers), text(node.right, claims, issuers)) !== node.negated;
    case 'oneOf': {
      const item = text(node.item, claims, issuers);
      return node.list.map((entry) => text(entry, claims, issuers)).some((entry) => isSame(item, entry));
    }
    case 'startsWith':
    case 'endsWith': {
      const [subject, argument] = comparable(text(node.subject, claims, issuers), text(node.argument, claims, issuers));
      return subject[node.op](argument);
    }
    case 'contains': {
      const [subject, argument] = comparable(text(node.subject, claims, issuers), text(node.argument, claims, issuers));
      return subject.includes(argument);
    }
  }
}

interface Text {
  value: string;
  /** Whether it is a name as the caller wrote it, of which the platform ignores the case. */
  isName: boolean;
}

const names: ReadonlySet<ClaimName> = new Set<ClaimName>(['parsed_org_name', 'parsed_repo_name']);

function text(node: TextNode, claims: Claims, issuers: Issuers): Text {
  if (node.op === 'text') return { value: node.value, isName: false };
  const value = node.op === 'claim' ? claims.get(node.name) : issuers.get(node.name);
  if (value === undefined) throw new AbsentClaim(node.name);
  return { value, isName: node.op === 'claim' && names.has(node.name) };
}

/** Two texts as they are compared: a rule that excludes a repository by its name excludes every spelling of it. */
function comparable(a: Text, b: Text): [string, string] {
  return a.isName || b.isName ? [foldName(a.value), foldName(b.value)] : [a.value, b.value];
}

function isSame(a: Text, b: Text): boolean {
  const [left, right] = comparable(a, b);
  return left === right;
}
