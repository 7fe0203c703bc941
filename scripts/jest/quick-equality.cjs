/*
 * Loaded in every suite: finds values equal at once if they are plainly the same. Jest compares large answers member by
 * member, at several hundred nanoseconds each. This looks first at what can be equal in one way only (primitives,
 * arrays, plain objects, bytes) and leaves everything else, and everything that differs, to Jest: no comparison has
 * another outcome, nor another message.
 */
const deepest = 50;

/** Whether both are arrays, or both objects without a class, of the same realm. */
function areAlike(a, b) {
  const prototype = Object.getPrototypeOf(a);
  if (prototype !== Object.getPrototypeOf(b)) return false;
  if (Array.isArray(a)) return Array.isArray(b) && a.length === b.length && prototype?.constructor?.name === 'Array';
  return prototype === null || (Object.getPrototypeOf(prototype) === null && prototype.constructor?.name === 'Object');
}

const bytes = (view) => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

const { propertyIsEnumerable } = Object.prototype;

/** True where both are plainly the same; false where they differ, or where only Jest can tell. */
function isPlainlySame(a, b, depth) {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null || depth > deepest) return false;
  if (ArrayBuffer.isView(a) && ArrayBuffer.isView(b)) {
    return Object.getPrototypeOf(a) === Object.getPrototypeOf(b) && bytes(a).equals(bytes(b));
  }
  if (!areAlike(a, b)) return false;
  // The keys of an array are the indices that are set, so a hole differs from an element `undefined`.
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  if (Object.getOwnPropertySymbols(a).length > 0 || Object.getOwnPropertySymbols(b).length > 0) return false;
  return keys.every((key) => propertyIsEnumerable.call(b, key) && isPlainlySame(a[key], b[key], depth + 1));
}

expect.addEqualityTesters([(a, b) => (isPlainlySame(a, b, 0) ? true : undefined)]);
