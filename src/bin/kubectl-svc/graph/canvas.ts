/** Dots of a braille character, by row and column. Source: Unicode block U+2800. */
const dots = [
  [0x01, 0x08],
  [0x02, 0x10],
  [0x04, 0x20],
  [0x40, 0x80],
] as const;

export const dotsAcross = 2;
export const dotsDown = 4;

/**
 * A grid of characters, each with 2 × 4 dots, on which lines are drawn. Where lines cross, the cell keeps the dots of
 * all of them and belongs to the line drawn last.
 */
export class Canvas {
  readonly columns: number;
  readonly rows: number;
  readonly #dots: Uint8Array;
  readonly #owner: Int16Array;

  constructor(columns: number, rows: number) {
    this.columns = columns;
    this.rows = rows;
    this.#dots = new Uint8Array(columns * rows);
    this.#owner = new Int16Array(columns * rows).fill(-1);
  }

  /** Sets one dot; (0, 0) is the upper left. Dots outside are ignored. */
  dot(x: number, y: number, owner: number): void {
    if (x < 0 || y < 0 || x >= this.columns * dotsAcross || y >= this.rows * dotsDown) return;
    const cell = Math.floor(y / dotsDown) * this.columns + Math.floor(x / dotsAcross);
    this.#dots[cell]! |= dots[y % dotsDown]![x % dotsAcross]!;
    this.#owner[cell] = owner;
  }

  /** A straight line from dot to dot. */
  line(x0: number, y0: number, x1: number, y1: number, owner: number): void {
    const steps = Math.max(Math.abs(x1 - x0), Math.abs(y1 - y0), 1);
    for (let i = 0; i <= steps; i++) {
      this.dot(Math.round(x0 + ((x1 - x0) * i) / steps), Math.round(y0 + ((y1 - y0) * i) / steps), owner);
    }
  }

  /** One row of characters; `paint` gets adjacent characters with the same owner as one text. */
  row(n: number, paint: (text: string, owner: number) => string): string {
    let text = '';
    let run = '';
    const first = n * this.columns;
    for (let i = first; i < first + this.columns; i++) {
      const owner = this.#owner[i]!;
      run += owner < 0 ? ' ' : String.fromCharCode(0x2800 + this.#dots[i]!);
      if (i + 1 < first + this.columns && this.#owner[i + 1] === owner) continue;
      text += owner < 0 ? run : paint(run, owner);
      run = '';
    }
    return text;
  }
}
