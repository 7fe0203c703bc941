/** Recognises tests and assertions in the syntax of this project's tests, for the rules of this folder. */

const helperPrefixes = [
  'expect',
  'assert',
  'check',
  'judge',
  'until',
  'passUntil',
  'eventually',
  'waitFor',
  'verify',
  'throws',
  'rejects',
];
const helper = new RegExp(`^(${helperPrefixes.join('|')})([A-Z_]|$)`);

/** True for `expect`, and for helpers that throw when their condition fails. */
export const isHelperName = (name) => helper.test(name);

export const isFunction = (node) =>
  node?.type === 'ArrowFunctionExpression' ||
  node?.type === 'FunctionExpression' ||
  node?.type === 'FunctionDeclaration';

/** The last name of a callee: `until` of `stage.until(…)`. */
export function calledName(callee) {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type === 'MemberExpression' && !callee.computed) return callee.property.name;
  return '';
}

/** True for `test`, `it`, `test.each(…)`, `test.failing` and `needing(…).test`. */
export function isTestCallee(callee) {
  if (callee.type === 'Identifier') return callee.name === 'test' || callee.name === 'it';
  if (callee.type === 'CallExpression')
    return calledName(callee.callee) === 'each' && isTestCallee(callee.callee.object);
  if (callee.type === 'TaggedTemplateExpression') {
    return calledName(callee.tag) === 'each' && isTestCallee(callee.tag.object);
  }
  if (callee.type !== 'MemberExpression') return false;
  if (['only', 'failing', 'concurrent'].includes(calledName(callee))) return isTestCallee(callee.object);
  const { object } = callee;
  return calledName(callee) === 'test' && object.type === 'CallExpression' && calledName(object.callee) === 'needing';
}
