/** One label as `[name, value]`. */
export type Label = readonly [name: string, value: string];

/**
 * The labels of one series: sorted by UTF-8 byte order of the name, names unique, no empty values, because an empty
 * value means that the label is absent. Immutable, because keys are cached by identity.
 */
export type Labels = readonly Label[];

/** The value of one label, or `''` where it is absent. */
export function labelValue(labels: Labels, name: string): string {
  for (const pair of labels) if (pair[0] === name) return pair[1];
  return '';
}

const needsEscape = /[\x00\x01]/;

/** A text for a key whose parts \x00 separates: the result has no \x00, and is equal for equal texts only. */
export function keyPart(text: string): string {
  return needsEscape.test(text) ? text.replaceAll('\x01', '\x011').replaceAll('\x00', '\x010') : text;
}

/**
 * Order of series, as in Prometheus: by name, then value, pair by pair. A list comes before a longer list that begins
 * with the same pairs.
 */
export function compareLabels(a: Labels, b: Labels): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const x = a[i]!;
    const y = b[i]!;
    if (x === y) continue;
    const order = x[0] === y[0] ? compareUtf8(x[1], y[1]) : compareUtf8(x[0], y[0]);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/**
 * Order of two texts by their UTF-8 bytes. JavaScript's `<` compares UTF-16 units instead, which puts
 * characters above U+FFFF (surrogate pairs) before U+E000…U+FFFF.
 */
export function compareUtf8(a: string, b: string): number {
  if (a === b) return 0;
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    if (x >= 0xd800 && y >= 0xd800) {
      const highX = x <= 0xdfff;
      if (highX !== y <= 0xdfff) return highX ? 1 : -1;
    }
    return x - y;
  }
  return a.length - b.length;
}
