import fc from 'fast-check';
import { anyText } from '../../testing/any-text.ts';
import { evaluateRule, type Claims } from './evaluate.ts';
import { parseExpression, type ClaimName } from './expression-parser.ts';
import { ExpressionFault } from './expression-tokens.ts';

const issuers = new Map([['google', 'https://issuer.example']]);
const claims: Claims = new Map<ClaimName, string>([
  ['iss', 'https://issuer.example'],
  ['sub', '1234'],
  ['email', 'agent@proj.iam.gserviceaccount.com'],
]);
const verdict = (text: string): string => {
  const result = evaluateRule(parseExpression(text), claims, issuers);
  return result.admits ? 'admits' : result.because;
};

test.each<[expression: string, expected: string]>([
  [`assertion.iss == issuers.google`, 'admits'],
  [`assertion.iss == issuers.github`, 'absent github'],
  [`assertion.email in ['agent@proj.iam.gserviceaccount.com']`, 'admits'],
  [`assertion.email in ["x", "agent@proj.iam.gserviceaccount.com",]`, 'admits'],
  [`assertion.email in []`, 'denied'],
  [`assertion.email != 'boss'`, 'admits'],
  [`assertion.email.endsWith('@proj.iam.gserviceaccount.com')`, 'admits'],
  [`assertion.email.startsWith('agent@') && assertion.sub == '1234'`, 'admits'],
  [`assertion.email.contains('proj')`, 'admits'],
  [`'abc'.contains('b')`, 'admits'],
  [`!(assertion.sub == '1')`, 'admits'],
  [`!!true`, 'admits'],
  [`!true || false`, 'denied'],
  [`false || true && false`, 'denied'],
  [`(false || true) && true`, 'admits'],
  [`true == (assertion.sub == '1234')`, 'admits'],
  [`true != false`, 'admits'],
  [`assertion.repository == 'x'`, 'absent repository'],
  [`assertion.repository != 'x'`, 'absent repository'],
  [`!(assertion.repository == 'x')`, 'absent repository'],
  [`assertion.repository == 'x' || true`, 'absent repository'],
  [`true || assertion.repository == 'x'`, 'admits'],
  [`false && assertion.repository == 'x'`, 'denied'],
  [`true // a comment with ' and "`, 'admits'],
  [`'\\x41\\u0042\\103' == 'ABC'`, 'admits'],
  [`'it\\'s' == "it's"`, 'admits'],
  ['true' + ' == true'.repeat(32), 'admits'],
  [`assertion.email == 'AGENT@proj.iam.gserviceaccount.com'`, 'denied'],
])('%s: %s', (expression, expected) => {
  expect(verdict(expression)).toBe(expected);
});

test.each([
  ['', 'unexpected end of expression'],
  ['assertion.email', 'a truth value is needed'],
  [`'x'`, 'a truth value is needed'],
  ['assertion', 'unexpected end'],
  ['actor == "x"', 'unknown name'],
  ['assertion.emial == "x"', 'unknown claim'],
  ['assertion.__proto__ == "x"', 'unknown claim'],
  ['issuers.constructor == "x"', 'unknown issuer'],
  ['assertion.email == true', 'text compared with a truth value'],
  ['assertion.email in "x"', 'unexpected'],
  ['assertion.email in [true]', 'a text is needed'],
  ['assertion.email.matches(".*")', 'unknown method'],
  ['assertion.email.size() == "3"', 'unknown method'],
  ['assertion["email"] == "x"', 'unexpected'],
  ['has(assertion.email)', 'unknown name'],
  ['1 == 1', 'unexpected character'],
  ['true ? true : true', 'unexpected character'],
  ['true; true', 'unexpected character'],
  ['true true', 'unexpected'],
  ['true &&', 'unexpected end'],
  ['true & true', 'unexpected character'],
  ['(true', 'unexpected end'],
  [`'open`, 'string without its end'],
  [`'a\nb' == 'a'`, 'string without its end'],
  [`r'x' == 'x'`, 'string prefixes'],
  [`"""x""" == 'x'`, 'triple quotes'],
  [`'\\q' == 'q'`, 'unknown escape'],
  [`'\\ud800' == 'q'`, 'not a character'],
  ['('.repeat(100) + 'true' + ')'.repeat(100), 'nested deeper'],
  ['true' + ' == true'.repeat(33), 'too many comparisons'],
  [`true && 'x'`, 'a truth value is needed at offset 8'],
  [`true || true || assertion.email`, 'at offset 16'],
  [' '.repeat(17_000), 'longer than'],
])('refuses %j', (text, message) => {
  expect(() => parseExpression(text)).toThrow(ExpressionFault);
  expect(() => parseExpression(text)).toThrow(message);
});

test('chains of two thousand terms and of ten thousand negations neither overflow the stack nor take long', () => {
  const start = process.cpuUsage();
  expect(verdict(Array(2_000).fill('true').join(' && '))).toBe('admits');
  expect(verdict('!'.repeat(10_000) + 'true')).toBe('admits');
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1_000).toBeLessThan(500);
});

/** A rule as a tree, from which `write` makes the rule's text and `model` its value. */
type Tree =
  | { kind: 'literal'; value: boolean }
  | { kind: 'and' | 'or'; parts: Tree[] }
  | { kind: 'not'; part: Tree }
  | { kind: 'eq' | 'ne'; claim: ClaimName; value: string }
  | { kind: 'in'; claim: ClaimName; values: string[] }
  | { kind: 'startsWith' | 'endsWith' | 'contains'; claim: ClaimName; value: string };

const claimArb = fc.constantFrom<ClaimName>('email', 'sub', 'repository', 'actor');
const textArb = fc.oneof(fc.constantFrom('', 'a', 'ab', "it's", 'back\\slash', 'ü\n'), anyText({ maxLength: 5 }));
const treeArb = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.record({ kind: fc.constant('literal' as const), value: fc.boolean() }),
    fc.record({ kind: fc.constantFrom('eq' as const, 'ne' as const), claim: claimArb, value: textArb }),
    fc.record({ kind: fc.constant('in' as const), claim: claimArb, values: fc.array(textArb, { maxLength: 3 }) }),
    fc.record({
      kind: fc.constantFrom('startsWith' as const, 'endsWith' as const, 'contains' as const),
      claim: claimArb,
      value: textArb,
    }),
    fc.record({ kind: fc.constant('not' as const), part: tie('tree') }),
    fc.record({
      kind: fc.constantFrom('and' as const, 'or' as const),
      parts: fc.array(tie('tree'), { minLength: 2, maxLength: 3 }),
    }),
  ),
})).tree;

const quote = (text: string): string =>
  `"${[...text].map((c) => (/[ !#-[\]-~]/.test(c) ? c : `\\U${c.codePointAt(0)!.toString(16).padStart(8, '0')}`)).join('')}"`;

function write(tree: Tree): string {
  switch (tree.kind) {
    case 'literal':
      return String(tree.value);
    case 'not':
      return `!(${write(tree.part)})`;
    case 'and':
    case 'or':
      return tree.parts.map((part) => `(${write(part)})`).join(tree.kind === 'and' ? ' && ' : '||');
    case 'in':
      return `assertion.${tree.claim} in [${tree.values.map(quote).join(', ')}]`;
    case 'eq':
    case 'ne':
      return `assertion.${tree.claim} ${tree.kind === 'eq' ? '==' : '!='} ${quote(tree.value)}`;
    default:
      return `assertion.${tree.claim}.${tree.kind}(${quote(tree.value)})`;
  }
}

/**
 * A second evaluator, written as plainly as the words of the specification: a truth value, or an error for a claim that
 * is absent. `&&` and `||` end at the first part that decides or fails.
 */
function model(tree: Tree, held: Claims): boolean | 'error' {
  const value = 'claim' in tree ? held.get(tree.claim) : '';
  if (value === undefined) return 'error';
  switch (tree.kind) {
    case 'literal':
      return tree.value;
    case 'not': {
      const part = model(tree.part, held);
      return part === 'error' ? part : !part;
    }
    case 'and':
    case 'or': {
      const decisive = tree.kind === 'or';
      for (const part of tree.parts) {
        const result = model(part, held);
        if (result === 'error' || result === decisive) return result;
      }
      return !decisive;
    }
    case 'in':
      return tree.values.some((v) => v === value);
    case 'eq':
      return value === tree.value;
    case 'ne':
      return value !== tree.value;
    case 'startsWith':
      return value.slice(0, tree.value.length) === tree.value;
    case 'endsWith':
      return tree.value === '' || value.slice(-tree.value.length) === tree.value;
    case 'contains':
      return value.indexOf(tree.value) >= 0;
  }
}

test('the evaluator agrees with a second evaluator (`model`) on any rule', () => {
  const met = { true: 0, false: 0, error: 0 };
  const heldArb = fc.dictionary(claimArb, textArb).map((d) => new Map(Object.entries(d)) as Claims);
  fc.assert(
    fc.property(treeArb, heldArb, (tree, held) => {
      const result = evaluateRule(parseExpression(write(tree)), held, issuers);
      const expected = model(tree, held);
      met[`${expected}`]++;
      expect(result.admits).toBe(expected === true);
      expect(!result.admits && result.because !== 'denied').toBe(expected === 'error');
    }),
    { numRuns: 1_000 },
  );
  expect(Math.min(met.true, met.false, met.error)).toBeGreaterThan(50);
});

test('any text is either a rule or an ExpressionFault', () => {
  const pieces = fc.constantFrom(
    'assertion',
    '.',
    'email',
    '==',
    '!=',
    '&&',
    '||',
    '!',
    '(',
    ')',
    '[',
    ']',
    ',',
    'in',
    "'x'",
    'true',
    ' ',
    '\\',
    '"',
  );
  const whole = treeArb.map(write);
  const texts = fc.oneof(
    fc.string(),
    fc.array(pieces, { maxLength: 30 }).map((p) => p.join('')),
    fc.tuple(whole, fc.nat(), fc.nat(3), fc.option(pieces, { nil: '' })).map(([text, at, taken, put]) => {
      const i = at % (text.length + 1);
      return text.slice(0, i) + put + text.slice(i + taken);
    }),
  );
  const met = { rules: 0, faults: 0 };
  fc.assert(
    fc.property(texts, (text) => {
      try {
        expect(typeof evaluateRule(parseExpression(text), claims, issuers).admits).toBe('boolean');
        met.rules++;
      } catch (error) {
        expect(error).toBeInstanceOf(ExpressionFault);
        met.faults++;
      }
    }),
    { numRuns: 2_000 },
  );
  expect(Math.min(met.rules, met.faults)).toBeGreaterThan(20);
});
