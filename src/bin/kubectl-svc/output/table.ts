/** One column: its heading, and whether its values are right-aligned, as numbers are. */
export interface Column {
  readonly title: string;
  readonly right?: boolean;
}

/**
 * A table as kubectl prints it: three spaces between columns, no trailing spaces. Empty cells read `<none>`. Control
 * characters in headings and values are shown escaped: neither can break a line or move the cursor.
 * `paint` highlights a cell without changing its width. Ends with a newline. Pure.
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  options: TableOptions = {},
): string {
  return [...tableLines(columns, rows, options)].join('');
}

export interface TableOptions {
  readonly headers?: boolean;
  readonly paint?: (text: string, column: number, row: number) => string;
}

/** The lines of `table`, one by one. `rows` is read twice: for the widths, then for the lines. */
export function* tableLines(
  columns: readonly Column[],
  rows: Iterable<readonly string[]>,
  { headers = true, paint = (text) => text }: TableOptions = {},
): Generator<string> {
  const titles = columns.map(({ title }) => printable(title));
  const cells = (row: readonly string[]): string[] => columns.map((_, i) => printable(row[i] ?? '') || '<none>');
  const widths = titles.map((title) => (headers ? width(title) : 0));
  for (const row of rows) for (const [i, text] of cells(row).entries()) widths[i] = Math.max(widths[i]!, width(text));
  const line = (row: readonly string[], n: number): string => {
    const texts = row.map((text, i) => {
      const space = ' '.repeat(widths[i]! - width(text));
      const painted = n < 0 ? text : paint(text, i, n);
      if (columns[i]!.right) return space + painted;
      return i === row.length - 1 ? painted : painted + space;
    });
    return `${texts.join('   ')}\n`;
  };
  if (headers) yield line(titles, -1);
  let n = 0;
  for (const row of rows) yield line(cells(row), n++);
}

/**
 * Text from a cluster, with escapes for control characters and for characters that change the writing direction, so
 * that it cannot manipulate the terminal.
 */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, (c) => {
    const short = { '\n': '\\n', '\t': '\\t', '\r': '\\r' }[c];
    return short ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

/** Approximate width of a text on a terminal: characters, not bytes. */
export function width(text: string): number {
  return /^[\u0020-\u007e]*$/.test(text) ? text.length : [...text].length;
}
