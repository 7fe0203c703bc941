/**
 * The JSON of an answer in pieces: the elements of a list, or of the lists that are members of an object or of a map,
 * each by itself. `sendSuccess` lets other work run between pieces; a single text of megabytes would delay that work.
 * Pure.
 */
export function* jsonPieces(value: object): Generator<string> {
  if (Array.isArray(value)) {
    let before = '[';
    for (const element of value as readonly unknown[]) {
      yield `${before}${JSON.stringify(element)}`;
      before = ',';
    }
    yield before === '[' ? '[]' : ']';
    return;
  }
  let before = '{';
  for (const [name, member] of value instanceof Map ? (value as Map<string, unknown>) : Object.entries(value)) {
    if (member === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    if (Array.isArray(member)) yield* jsonPieces(member);
    else yield JSON.stringify(member);
  }
  yield before === '{' ? '{}' : '}';
}
