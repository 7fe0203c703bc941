/** Texts by number. Each is stored once, with the number of its users, and is removed with the last of them. */
export class SymbolTable {
  readonly #ids = new Map<string, number>();
  readonly #texts: (string | undefined)[] = [];
  #uses = new Uint32Array(1024);
  readonly #free: number[] = [];

  /** The text's number, if it has one. */
  find(text: string): number | undefined {
    return this.#ids.get(text);
  }

  /** The text's number; adds one user. */
  acquire(text: string): number {
    let id = this.#ids.get(text);
    if (id === undefined) {
      id = this.#free.pop() ?? this.#texts.length;
      this.#texts[id] = text;
      this.#ids.set(text, id);
      if (id >= this.#uses.length) {
        const longer = new Uint32Array(this.#uses.length * 2);
        longer.set(this.#uses);
        this.#uses = longer;
      }
      this.#uses[id] = 0;
    }
    this.#uses[id]!++;
    return id;
  }

  /** Adds a user to a text that already has one. */
  retain(id: number): void {
    this.#uses[id]!++;
  }

  release(id: number): void {
    if (--this.#uses[id]! > 0) return;
    this.#ids.delete(this.#texts[id]!);
    this.#texts[id] = undefined;
    this.#free.push(id);
  }

  text(id: number): string {
    return this.#texts[id]!;
  }
}
