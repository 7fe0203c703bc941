export const grainBytes = 32;
/**
 * Memory is taken in grains, units of `grainBytes`. The links and the length of a run of free grains are written into
 * the run itself.
 */
const wordsPerGrain = grainBytes / 4;
/** Words of a run's first grain: the runs after and before it in its list, and its length in grains. */
const next = 0;
const before = 1;
const lengthWord = 2;
/** The last word of a run's last grain: its length again. */
const lastWord = wordsPerGrain - 1;
/** Marks the end of a list. */
const none = 0xffffffff;
/** Runs of less than 2^6 grains have a list for each length; longer ones share lists by powers of two. */
const exactBits = 6;
const maxPageBits = 20;
const lists = (1 << exactBits) + maxPageBits - exactBits + 1;

interface Page {
  readonly words: Uint32Array;
  /** One bit for each grain: set for the first and the last grain of a run. */
  readonly ends: Uint32Array;
}

/**
 * Keeps track of the free grains of memory pages, as runs of adjacent grains. A run that is given back is joined with
 * its free neighbours, and grains are taken from the first list that has a run long enough.
 * Shape: an address is page × grains per page + grain. Source: the boundary tags of Knuth's volume 1, section 2.5.
 * Assumptions: free grains are neither read nor written by others; grains per page are a power of two, at most 2^20.
 */
export class FreeRuns {
  readonly #grainsPerPage: number;
  readonly #pageBits: number;
  readonly #pages: (Page | undefined)[] = [];
  readonly #heads = new Uint32Array(lists).fill(none);

  constructor(grainsPerPage: number) {
    this.#grainsPerPage = grainsPerPage;
    this.#pageBits = 31 - Math.clz32(grainsPerPage);
  }

  /** Adds a page, all of it free. Its memory may be longer than its grains. */
  addPage(page: number, memory: ArrayBuffer): void {
    const grains = this.#grainsPerPage;
    const words = new Uint32Array(memory, 0, grains * wordsPerGrain);
    this.#pages[page] = { words, ends: new Uint32Array((grains + 31) >>> 5) };
    this.#link((page << this.#pageBits) >>> 0, grains);
  }

  /** Removes a page, all of which is free. */
  removePage(page: number): void {
    this.#unlink((page << this.#pageBits) >>> 0);
    this.#pages[page] = undefined;
  }

  /** Takes adjacent grains; −1 when no run is long enough. */
  take(grains: number): number {
    for (let list = listOf(grains); list < lists; list++) {
      for (let run = this.#heads[list]!; run !== none; run = this.#word(run, next)) {
        const length = this.#word(run, lengthWord);
        if (length < grains) continue;
        this.#unlink(run);
        if (length > grains) this.#link(run + grains, length - grains);
        return run;
      }
    }
    return -1;
  }

  /** Gives grains back. Returns the length of the run that they are part of now. */
  give(address: number, grains: number): number {
    const { words, ends } = this.#pages[address >>> this.#pageBits]!;
    const at = address & (this.#grainsPerPage - 1);
    let run = address;
    let length = grains;
    if (at > 0 && isSet(ends, at - 1)) {
      const left = words[(at - 1) * wordsPerGrain + lastWord]!;
      run -= left;
      length += left;
      this.#unlink(run);
    }
    if (at + grains < this.#grainsPerPage && isSet(ends, at + grains)) {
      length += words[(at + grains) * wordsPerGrain + lengthWord]!;
      this.#unlink(address + grains);
    }
    this.#link(run, length);
    return length;
  }

  #link(run: number, length: number): void {
    const { words, ends } = this.#pages[run >>> this.#pageBits]!;
    const first = run & (this.#grainsPerPage - 1);
    const list = listOf(length);
    const head = this.#heads[list]!;
    const at = first * wordsPerGrain;
    words[at + next] = head;
    words[at + before] = none;
    words[at + lengthWord] = length;
    words[(first + length - 1) * wordsPerGrain + lastWord] = length;
    if (head !== none) this.#setWord(head, before, run);
    this.#heads[list] = run;
    set(ends, first);
    set(ends, first + length - 1);
  }

  #unlink(run: number): void {
    const { words, ends } = this.#pages[run >>> this.#pageBits]!;
    const first = run & (this.#grainsPerPage - 1);
    const at = first * wordsPerGrain;
    const length = words[at + lengthWord]!;
    const follower = words[at + next]!;
    const leader = words[at + before]!;
    if (follower !== none) this.#setWord(follower, before, leader);
    if (leader === none) this.#heads[listOf(length)] = follower;
    else this.#setWord(leader, next, follower);
    clear(ends, first);
    clear(ends, first + length - 1);
  }

  #word(run: number, word: number): number {
    const { words } = this.#pages[run >>> this.#pageBits]!;
    return words[(run & (this.#grainsPerPage - 1)) * wordsPerGrain + word]!;
  }

  #setWord(run: number, word: number, value: number): void {
    const { words } = this.#pages[run >>> this.#pageBits]!;
    words[(run & (this.#grainsPerPage - 1)) * wordsPerGrain + word] = value;
  }
}

/** The list of runs of a length; a longer run never has a lower list. */
function listOf(length: number): number {
  return length < 1 << exactBits ? length : (1 << exactBits) - exactBits + 31 - Math.clz32(length);
}

function isSet(bits: Uint32Array, i: number): boolean {
  return (bits[i >>> 5]! & (1 << (i & 31))) !== 0;
}

function set(bits: Uint32Array, i: number): void {
  bits[i >>> 5]! |= 1 << (i & 31);
}

function clear(bits: Uint32Array, i: number): void {
  bits[i >>> 5]! &= ~(1 << (i & 31));
}
