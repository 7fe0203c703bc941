/**
 * Finds loops that assert, or declare tests, over a list that may be empty: such a test passes without a case.
 *
 * A list counts as non-empty if the file that is linted ("this file" below) shows it: a literal, a list derived from a
 * literal element by element (`map`, `entries`, `Object.keys`, a spread), or a const of these. Otherwise the function
 * around the loop must check the list in one of three ways. An assertion outside of the loop takes the list or its
 * length (`expect(rows).toHaveLength(3)`). `expect.assertions` or `expect.hasAssertions` covers all loops of the
 * function. Or an assertion compares what the loop gathered (`counts.set(…)`, `total += …`) with a non-empty value.
 * `toBeDefined`, `toBeTruthy` and the like hold for an empty list, so they do not count. Hooks, helpers that return a
 * value (their callers compare it), `while` loops, and `for` loops that count down are not checked.
 */
import { calledName, isFunction, isHelperName, isTestCallee } from './test-syntax.js';

/**
 * Methods that call back once per element. `filter`, `some` and `every` are not listed, as their callbacks rarely
 * assert.
 */
const perElement = new Set(['forEach', 'map', 'flatMap', 'each']);
/** Methods whose result has an element if their list has one. */
const keepsSome = new Set([
  'map',
  'entries',
  'values',
  'keys',
  'toSorted',
  'sort',
  'toReversed',
  'reverse',
  'concat',
  'with',
]);
const saysNothing = new Set(['toBeDefined', 'toBeTruthy', 'toBeInstanceOf', 'toBeTypeOf']);

/** @type {import('eslint').Rule.RuleModule} */
export default {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      empty:
        'The test passes if {{list}} is empty: only this loop asserts on it. Assert how many there are before it ' +
        '(expect({{list}}).toHaveLength(…), or not.toHaveLength(0)), or compare the whole list at once.',
    },
  },
  create(context) {
    const { sourceCode } = context;
    const text = (node) => sourceCode.getText(node).replace(/\s+/g, '').replaceAll('?.', '.').replaceAll('!', '');
    const children = (node) =>
      (sourceCode.visitorKeys[node.type] ?? []).flatMap((key) => [node[key]].flat()).filter(Boolean);

    function definition(node) {
      for (let scope = sourceCode.getScope(node); scope; scope = scope.upper) {
        const found = scope.set.get(node.name);
        if (found) return found.defs[0];
      }
      return undefined;
    }

    /** The value of a const of this file. */
    function constant(node) {
      const found = definition(node);
      const { node: declarator, parent } = found ?? {};
      if (found?.type !== 'Variable' || parent?.kind !== 'const' || declarator.id.type !== 'Identifier')
        return undefined;
      return declarator.init ?? undefined;
    }

    const bare = (node) =>
      ['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression', 'AwaitExpression', 'ChainExpression'].includes(
        node?.type,
      )
        ? bare(node.expression ?? node.argument)
        : node;

    /** A number above zero. */
    function positive(given) {
      const node = bare(given);
      if (node?.type === 'Literal') return typeof node.value === 'number' && node.value > 0;
      if (node?.type === 'Identifier') {
        const value = constant(node);
        const values = value ? [value] : (valuesOf(node) ?? []);
        return values.length > 0 && values.every((one) => one && positive(one));
      }
      if (node?.type === 'BinaryExpression')
        return ['*', '+', '**'].includes(node.operator) && positive(node.left) && positive(node.right);
      if (node?.type === 'ConditionalExpression') return positive(node.consequent) && positive(node.alternate);
      if (node?.type === 'MemberExpression' && !node.computed && node.property.name === 'length')
        return hasSome(node.object);
      return false;
    }

    /** An object's value under a name, where this file shows it. */
    function property(object, name) {
      const node = bare(object);
      if (node?.type === 'Identifier') {
        const value = constant(node);
        return value && property(value, name);
      }
      if (node?.type !== 'ObjectExpression') return undefined;
      return node.properties.find((p) => p.type === 'Property' && (p.key.name ?? p.key.value) === name)?.value;
    }

    /** The value that a name of a pattern takes from each row: `b` of `for (const [a, b] of [[1, 2], [3, 4]])`. */
    function taken(pattern, name, rows) {
      if (pattern.type === 'Identifier') return pattern.name === name ? rows : undefined;
      if (pattern.type === 'ArrayPattern') {
        const at = pattern.elements.findIndex((element) => element?.type === 'Identifier' && element.name === name);
        return at < 0 ? undefined : rows.map((row) => (row?.type === 'ArrayExpression' ? row.elements[at] : undefined));
      }
      if (pattern.type !== 'ObjectPattern') return undefined;
      const key = pattern.properties.find((p) => p.value?.type === 'Identifier' && p.value.name === name)?.key.name;
      return key && rows.map((row) => property(row, key));
    }

    /** The elements of a list of literals, without type casts; undefined if this file does not show all of them. */
    function elementsOf(given) {
      const node = bare(given);
      if (node?.type === 'ArrayExpression') return node.elements.map(bare);
      if (node?.type === 'Identifier') return elementsOf(constant(node));
      if (node?.type !== 'CallExpression' || node.callee.object?.name !== 'Object') return undefined;
      const object = bare(node.arguments[0]);
      const literal = object?.type === 'Identifier' ? bare(constant(object)) : object;
      if (literal?.type !== 'ObjectExpression') return undefined;
      const values = literal.properties.map((p) => bare(p.value));
      if (calledName(node.callee) === 'values') return values;
      return values.map((value) => ({ type: 'ArrayExpression', elements: [undefined, value] }));
    }

    /** Every value of a loop's or a table's variable, where this file shows the table. */
    function valuesOf(node) {
      const found = definition(node);
      if (found?.type === 'Variable') {
        const loop = found.parent?.parent;
        if (loop?.type !== 'ForOfStatement') return undefined;
        return taken(found.node.id, node.name, elementsOf(loop.right) ?? [undefined]);
      }
      if (found?.type !== 'Parameter') return undefined;
      const call = found.node.parent;
      const table =
        call?.callee?.type === 'CallExpression' && isTestCallee(call.callee) ? call.callee.arguments[0] : undefined;
      const rows = table && elementsOf(table);
      if (!rows) return undefined;
      const at = found.node.params.findIndex((p) => p.type === 'Identifier' && p.name === node.name);
      if (at < 0) return taken(found.node.params[0], node.name, rows);
      return rows.map((row) => (row?.type === 'ArrayExpression' ? row.elements[at] : at === 0 ? row : undefined));
    }

    /** True where this file shows that the value has an element. */
    function hasSome(given) {
      const node = bare(given);
      switch (node?.type) {
        case 'Literal':
          return typeof node.value === 'string' && node.value.length > 0;
        case 'TemplateLiteral':
          return node.quasis.some(({ value }) => value.raw.length > 0);
        case 'ArrayExpression':
          return node.elements.some((element) =>
            element?.type === 'SpreadElement' ? hasSome(element.argument) : element !== null,
          );
        case 'ObjectExpression':
          return node.properties.some((p) => (p.type === 'SpreadElement' ? hasSome(p.argument) : true));
        case 'Identifier': {
          const value = constant(node);
          if (value) return hasSome(value);
          const values = valuesOf(node);
          return values !== undefined && values.length > 0 && values.every((one) => one && hasSome(one));
        }
        case 'ConditionalExpression':
          return hasSome(node.consequent) && hasSome(node.alternate);
        case 'MemberExpression': {
          const value = node.computed ? undefined : property(node.object, node.property.name);
          return value !== undefined && hasSome(value);
        }
        case 'NewExpression':
          return ['Map', 'Set'].includes(node.callee.name) && node.arguments.length > 0 && hasSome(node.arguments[0]);
        case 'CallExpression': {
          const name = calledName(node.callee);
          const object = node.callee.type === 'MemberExpression' ? node.callee.object : undefined;
          if (object?.name === 'Object' && ['keys', 'values', 'entries'].includes(name))
            return hasSome(node.arguments[0]);
          if (object?.name === 'Promise' && name === 'all') return hasSome(node.arguments[0]);
          if (object?.name === 'Array' && name === 'from') {
            const length = property(node.arguments[0], 'length');
            return length ? positive(length) : hasSome(node.arguments[0]);
          }
          if (name === 'fill' && object) return hasSome(object);
          if (node.callee.name === 'Array') return positive(node.arguments[0]);
          if (name === 'split') return true;
          return object !== undefined && keepsSome.has(name) && hasSome(object);
        }
        default:
          return false;
      }
    }

    /**
     * The lists whose length tells whether the loop's list is empty: the list itself, and the lists that it is derived
     * from element by element.
     */
    function measures(given) {
      const node = bare(given);
      const own = node && [text(node)];
      if (node?.type === 'CallExpression') {
        const object = node.callee.type === 'MemberExpression' ? node.callee.object : undefined;
        if (object?.name === 'Object' || object?.name === 'Array' || object?.name === 'Promise')
          return [...own, ...measures(node.arguments[0])];
        if (object && keepsSome.has(calledName(node.callee))) return [...own, ...measures(object)];
      }
      if (node?.type === 'BinaryExpression') return [...own, ...measures(node.left), ...measures(node.right)];
      if (node?.type === 'NewExpression' && node.arguments[0]) return [...own, ...measures(node.arguments[0])];
      if (node?.type === 'ArrayExpression')
        return [...own, ...node.elements.flatMap((e) => (e?.type === 'SpreadElement' ? measures(e.argument) : []))];
      if (node?.type === 'Identifier') {
        const value = constant(node);
        if (value && value !== node) return [...own, ...measures(value)];
      }
      if (node?.type === 'MemberExpression' && !node.computed && node.property.name === 'length')
        return [...own, ...measures(node.object)];
      return own ?? [];
    }

    const isAssertion = (node) =>
      node.type === 'CallExpression' && (isHelperName(calledName(node.callee)) || isTestCallee(node.callee));

    const knownFunctions = new Map();
    /** True where something below the node asserts or declares a test; functions of this file that it calls count. */
    function asserts(node) {
      if (isAssertion(node)) return true;
      if (node.type === 'CallExpression' && node.callee.type === 'Identifier') {
        const found = definition(node.callee);
        const fn = isFunction(found?.node) ? found.node : isFunction(found?.node?.init) ? found.node.init : undefined;
        if (fn) {
          if (!knownFunctions.has(fn)) {
            knownFunctions.set(fn, false);
            knownFunctions.set(fn, asserts(fn.body));
          }
          if (knownFunctions.get(fn)) return true;
        }
      }
      return children(node).some(asserts);
    }

    /** The matcher of `expect(x).not.toBe(y)` and its arguments. */
    function matched(call) {
      let node = call;
      let name = '';
      while (node.parent?.type === 'MemberExpression') {
        node = node.parent;
        name = node.property.name;
      }
      const outer = node.parent?.type === 'CallExpression' && node.parent.callee === node ? node.parent : undefined;
      return { matcher: name, expected: outer?.arguments ?? [] };
    }

    const negated = (call) => call.parent?.type === 'MemberExpression' && call.parent.property.name === 'not';

    /** Names that the loop's body writes: `total += …`, `seen.push(…)`, `counts.set(…)`. */
    function written(node, into = new Set()) {
      let target;
      if (node.type === 'AssignmentExpression') target = node.left;
      if (node.type === 'UpdateExpression') target = node.argument;
      if (node.type === 'CallExpression' && ['push', 'add', 'set', 'update'].includes(calledName(node.callee)))
        target = node.callee.object;
      if (target?.type === 'Identifier') into.add(target.name);
      for (const child of children(node)) written(child, into);
      return into;
    }

    const isEmpty = (node) =>
      (node.type === 'ArrayExpression' && node.elements.length === 0) ||
      (node.type === 'ObjectExpression' && node.properties.length === 0) ||
      (node.type === 'Literal' && !node.value);

    const mentions = (node, { lists, names }) =>
      lists.some((list) => text(node).includes(list)) ||
      (node.type === 'Identifier'
        ? names.has(node.name)
        : children(node).some((child) => mentions(child, { lists: [], names })));

    /** True if an assertion outside of the loop checks that the list has elements, or checks what the loop gathered. */
    function measured(within, loop, by) {
      if (within === loop) return false;
      if (within.type === 'CallExpression') {
        const { callee } = within;
        const name = calledName(callee);
        if (callee.object?.name === 'expect' && ['assertions', 'hasAssertions'].includes(name)) return true;
        const { matcher, expected } = name === 'expect' ? matched(within) : { expected: [] };
        const nothing =
          expected.length === 1 && isEmpty(expected[0]) && matcher !== 'toBeGreaterThan' && !negated(within);
        const tells = isHelperName(name) && !saysNothing.has(matcher) && !nothing;
        if (tells && [...within.arguments, ...expected].some((argument) => mentions(argument, by))) return true;
      }
      if (within.type === 'ThrowStatement') {
        // `if (rows.length === 0) throw …`
        const { parent } = within.parent?.type === 'BlockStatement' ? within.parent : within;
        if (parent?.type === 'IfStatement' && mentions(parent.test, { ...by, names: new Set() })) return true;
      }
      return children(within).some((child) => measured(child, loop, by));
    }

    const hooks = new Set(['beforeAll', 'beforeEach', 'afterAll', 'afterEach']);
    const returns = (node) =>
      node.type === 'ReturnStatement' ? node.argument !== null : !isFunction(node) && children(node).some(returns);

    function judge(loop, list, body) {
      if (!list || hasSome(list) || !asserts(body)) return;
      const by = { lists: measures(list), names: written(body) };
      for (let around = loop.parent; around; around = around.parent) {
        if (around.type === 'Program' && measured(around, loop, by)) return;
        if (!isFunction(around)) continue;
        if (measured(around.body, loop, by)) return;
        const call = around.parent;
        if (call.type === 'CallExpression' && hooks.has(calledName(call.callee))) return;
        const isTest = call.type === 'CallExpression' && isTestCallee(call.callee);
        if (!isTest && around.body.type === 'BlockStatement' && around.body.body.some(returns)) return;
      }
      context.report({ node: list, messageId: 'empty', data: { list: sourceCode.getText(list).slice(0, 60) } });
    }

    return {
      ForOfStatement: (node) => judge(node, node.right, node.body),
      ForInStatement: (node) => judge(node, node.right, node.body),
      ForStatement(node) {
        const { test } = node;
        if (test?.type !== 'BinaryExpression' || !['<', '<='].includes(test.operator)) return;
        const { left: low, right: high } = test;
        if (positive(high)) return;
        const start = node.init?.declarations?.[0]?.init;
        if (
          start?.type === 'Literal' &&
          low.type === 'Identifier' &&
          bare(high)?.type === 'Literal' &&
          start.value < high.value
        )
          return;
        judge(node, high, node.body);
      },
      CallExpression(node) {
        const { callee } = node;
        if (callee.type !== 'MemberExpression' || !perElement.has(calledName(callee)) || isTestCallee(node)) return;
        if (!isFunction(node.arguments[0])) return;
        judge(node, callee.object, node.arguments[0].body);
      },
    };
  },
};
