import { calledName, isFunction, isHelperName, isTestCallee } from './test-syntax.js';

/**
 * Finds tests that can pass without having tested anything: no assertion at all, an assertion on some paths only, or a
 * `return` before the first assertion.
 *
 * An assertion is a call of `expect`, of a function with a helper's name (helpers throw when their condition fails), or
 * of a function of the same file that asserts. A loop counts as run at least once (`loops-that-run` checks loops), and
 * a callback counts as called, so that no test that asserts is reported.
 */

/** Callbacks of these functions may never run, so their assertions do not count. */
const deferred = new Set(['on', 'once', 'addEventListener', 'setTimeout', 'setInterval', 'catch', 'createServer']);

/** @type {import('eslint').Rule.RuleModule} */
export default {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      none:
        'This test passes whatever happens: no expect() runs on some path through it. Assert what the title promises; ' +
        'in try/catch, assert that the error came (await expect(…).rejects).',
      early:
        'This return passes the test before its first assertion. A test that cannot run is skipped with its reason: ' +
        'needing(…) of src/testing/needs.ts.',
    },
  },
  create(context) {
    const { sourceCode } = context;
    /** Functions of this file → whether a call of the function asserts. False while the function is being searched. */
    const known = new Map();

    /** The function of this file that a name stands for. */
    function functionNamed(node) {
      for (let scope = sourceCode.getScope(node); scope; scope = scope.upper) {
        const definition = scope.set.get(node.name)?.defs[0];
        if (!definition) continue;
        if (isFunction(definition.node)) return definition.node;
        return isFunction(definition.node.init) ? definition.node.init : undefined;
      }
      return undefined;
    }

    function functionAsserts(fn) {
      if (!known.has(fn)) {
        known.set(fn, false);
        known.set(fn, fn.body.type === 'BlockStatement' ? block(fn.body, () => {}) !== 'silent' : expression(fn.body));
      }
      return known.get(fn);
    }

    function callAsserts(node) {
      const name = calledName(node.callee);
      if (isHelperName(name)) return true;
      if (node.callee.type === 'Identifier') {
        const fn = functionNamed(node.callee);
        if (fn && functionAsserts(fn)) return true;
      }
      if (isFunction(node.callee)) return functionAsserts(node.callee);
      if (expression(node.callee)) return true;
      return node.arguments.some((argument) => {
        if (deferred.has(name) && (isFunction(argument) || argument.type === 'Identifier')) return false;
        if (isFunction(argument)) return functionAsserts(argument);
        if (argument.type === 'Identifier') {
          const fn = functionNamed(argument);
          return fn !== undefined && functionAsserts(fn);
        }
        return expression(argument);
      });
    }

    /** True where evaluating the expression always asserts. */
    function expression(node) {
      if (!node || isFunction(node)) return false;
      switch (node.type) {
        case 'CallExpression':
        case 'NewExpression':
          return callAsserts(node);
        case 'ConditionalExpression':
          return expression(node.test) || (expression(node.consequent) && expression(node.alternate));
        case 'LogicalExpression':
          return expression(node.left);
        default:
          return (sourceCode.visitorKeys[node.type] ?? []).some((key) => [node[key]].flat().some((n) => expression(n)));
      }
    }

    /** 'asserts', 'ends' (no path continues) or 'silent'. `early` is called with each return before an assertion. */
    function block(node, early) {
      for (const statement of node.body) {
        const found = outcome(statement, early);
        if (found !== 'silent') return found;
      }
      return 'silent';
    }

    function all(outcomes) {
      if (outcomes.includes('silent')) return 'silent';
      return outcomes.includes('asserts') ? 'asserts' : 'ends';
    }

    function outcome(node, early) {
      if (!node) return 'silent';
      const asserts = (n) => (expression(n) ? 'asserts' : 'silent');
      switch (node.type) {
        case 'BlockStatement':
          return block(node, early);
        case 'ReturnStatement':
          if (expression(node.argument)) return 'asserts';
          early(node);
          return 'ends';
        case 'ThrowStatement':
          return 'ends';
        case 'IfStatement':
          if (expression(node.test)) return 'asserts';
          return all([outcome(node.consequent, early), outcome(node.alternate, early)]);
        case 'TryStatement': {
          const before = block(node.block, early);
          const after = node.finalizer ? block(node.finalizer, early) : 'silent';
          if (after !== 'silent') return after;
          return node.handler ? all([before, block(node.handler.body, early)]) : before;
        }
        case 'SwitchStatement': {
          const whole = node.cases.some((one) => one.test === null);
          const outcomes = node.cases
            .filter((one) => one.consequent.length > 0)
            .map((one) => block({ body: one.consequent }, early));
          return whole ? all(outcomes) : 'silent';
        }
        case 'ForStatement':
        case 'ForInStatement':
        case 'ForOfStatement':
        case 'WhileStatement':
        case 'DoWhileStatement': {
          if ([node.init, node.test, node.right].some((part) => expression(part))) return 'asserts';
          return outcome(node.body, early) === 'asserts' ? 'asserts' : 'silent';
        }
        case 'LabeledStatement':
          return outcome(node.body, early);
        case 'FunctionDeclaration':
          return 'silent';
        default:
          return asserts(node);
      }
    }

    return {
      CallExpression(node) {
        if (!isTestCallee(node.callee)) return;
        const fn = node.arguments[1]?.type === 'Identifier' ? functionNamed(node.arguments[1]) : node.arguments[1];
        if (!isFunction(fn)) return;
        if (fn.body.type !== 'BlockStatement') {
          if (!expression(fn.body)) context.report({ node: node.arguments[0], messageId: 'none' });
          return;
        }
        const returns = [];
        const found = block(fn.body, (early) => returns.push(early));
        for (const early of returns) context.report({ node: early, messageId: 'early' });
        if (found === 'silent') context.report({ node: node.arguments[0], messageId: 'none' });
      },
    };
  },
};
