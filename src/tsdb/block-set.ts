import { errorText, isBlameless } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { Block } from './block/reader.ts';
import { addInterval, decodeTombstones, encodeTombstones } from './block/tombstones.ts';
import type { Tombstones } from './block/tombstones.ts';
import { blockName, writeBlock } from './block/writer.ts';
import type { BlockSource } from './block/writer.ts';
import type { FileLayer } from './disk/file-layer.ts';
import { retainSetAside } from './disk/quarantine.ts';
import { writeDurably } from './disk/write-durably.ts';
import type { CompiledMatcher } from './matcher.ts';
import { selectPostings } from './postings.ts';
import { blocksIn } from './select.ts';

export interface BlockSetOptions {
  readonly dir: string;
  /** Folder for files that cannot be read. */
  readonly quarantine: string;
  readonly files: FileLayer;
  readonly logger: Logger;
}

/**
 * The finished blocks of a store, in time order. The set writes, merges and removes blocks, and gives them tombstones
 * for deleted samples. A block that has left the set stays open until its readers are done.
 * Assumptions: one change at a time; only `quarantine` may run during another change.
 */
export class BlockSet {
  readonly #options: BlockSetOptions;
  #blocks: readonly Block[] = [];
  #quarantined = 0;
  #moving: Promise<void> = Promise.resolve();

  private constructor(options: BlockSetOptions) {
    this.#options = options;
  }

  /**
   * Opens the blocks of the directory. A file that cannot be read is moved to quarantine; temporary files, blocks that
   * a larger one has replaced, and tombstones without a block are removed.
   * Errors: those of the system, also when this process cannot open a block; then no block stays open.
   */
  static async open(options: BlockSetOptions): Promise<BlockSet> {
    const set = new BlockSet(options);
    try {
      await set.#openAll();
      return set;
    } catch (error) {
      await set.close();
      throw error;
    }
  }

  async #openAll(): Promise<void> {
    const { dir, files } = this.#options;
    await files.makeDir(dir);
    const names = await files.list(dir);
    for (const name of names.filter((n) => n.endsWith('.tmp'))) await files.remove(`${dir}/${name}`);
    for (const name of names.filter((n) => n.endsWith('.block'))) await this.#openOne(`${dir}/${name}`);
    for (const block of this.#blocks) {
      const replaced = this.#blocks.some(
        (b) => b.from <= block.from && b.to >= block.to && b.to - b.from > block.to - block.from,
      );
      if (replaced) await this.#drop([block], 'replaced by a merged one');
    }
    const kept = new Set(this.#blocks.map(({ path }) => tombstonePath(path)));
    for (const name of names.filter((n) => n.endsWith('.tombstones'))) {
      if (!kept.has(`${dir}/${name}`)) await files.remove(`${dir}/${name}`);
    }
  }

  get blocks(): readonly Block[] {
    return this.#blocks;
  }

  get bytes(): number {
    return this.#blocks.reduce((sum, block) => sum + block.bytes, 0);
  }

  /** How many blocks were moved to quarantine since the store was opened, those found at the start included. */
  get quarantined(): number {
    return this.#quarantined;
  }

  /**
   * Writes a block and adds it to the set. `taken` runs in the turn of the event loop in which readers first find the
   * block, and also when there is nothing to write. It drops the samples of the block from the head, so that readers
   * find them exactly once.
   */
  async write(range: { from: number; to: number }, series: Iterable<BlockSource>, taken: () => void): Promise<void> {
    const written = await writeBlock(this.#options.dir, this.#options.files, range, series);
    if (!written) return taken();
    const block = await Block.open(written.path, this.#options.files);
    this.#add(block);
    taken();
    const { samples, bytes } = block;
    this.#options.logger.info('store: block written', { path: block.path, series: written.series, samples, bytes });
  }

  /**
   * Merges `parts` into one block of the given range, and removes them. The range contains no other block. A part that
   * is moved to quarantine meanwhile stays open until the merge ends.
   */
  async merge(
    range: { from: number; to: number },
    parts: readonly Block[],
    series: Iterable<BlockSource>,
  ): Promise<void> {
    for (const block of parts) block.acquire();
    try {
      await this.#mergeOpen(range, parts, series);
    } finally {
      for (const block of parts) block.release();
    }
  }

  async #mergeOpen(
    range: { from: number; to: number },
    parts: readonly Block[],
    series: Iterable<BlockSource>,
  ): Promise<void> {
    const { dir, files, logger } = this.#options;
    const alone = parts.length === 1 && parts[0]!.path === `${dir}/${blockName(range.from, range.to)}`;
    const written = await writeBlock(dir, files, range, series);
    const merged = written && (await Block.open(written.path, files));
    this.#blocks = this.#blocks.filter((block) => !parts.includes(block));
    if (merged) this.#add(merged);
    for (const block of parts) block.retire();
    if (alone && merged) await files.remove(tombstonePath(parts[0]!.path));
    else await this.#removeFiles(parts);
    await files.syncDir(dir);
    logger.info('store: blocks merged', { path: written?.path, parts: parts.length, bytes: merged?.bytes ?? 0 });
  }

  /** Marks the matching series' samples in [mint, maxt] as deleted; returns the number of affected series. */
  async delete(matchers: readonly CompiledMatcher[], mint: number, maxt: number): Promise<number> {
    let touched = 0;
    for (const block of blocksIn({ blocks: this.#blocks, mint, maxt })) {
      const tombstones = new Map(block.tombstones);
      const before = touched;
      const ordinals = selectPostings(block.index, matchers);
      for (let i = 0; i < ordinals.length; i++) {
        const { chunks } = block.index.series(ordinals[i]!);
        if (!chunks.some((chunk) => chunk.minT <= maxt && chunk.maxT >= mint)) continue;
        touched++;
        tombstones.set(ordinals[i]!, addInterval(tombstones.get(ordinals[i]!) ?? [], { mint, maxt }));
      }
      if (touched === before) continue;
      await this.#writeTombstones(block, tombstones);
      block.tombstones = tombstones;
    }
    return touched;
  }

  async #drop(blocks: readonly Block[], why: string): Promise<void> {
    const { files, logger, dir } = this.#options;
    this.#blocks = this.#blocks.filter((block) => !blocks.includes(block));
    for (const block of blocks) block.retire();
    await this.#removeFiles(blocks, ({ path, bytes }) => logger.info('store: block removed', { path, bytes, why }));
    await files.syncDir(dir);
  }

  /**
   * Removes blocks that end at or before `oldest`, then the oldest ones until the rest is within `cap` bytes. Files in
   * quarantine count, too, and go first.
   */
  async retain(oldest: number, cap: number): Promise<void> {
    const { quarantine, files, logger } = this.#options;
    const damaged = await retainSetAside(quarantine, files, logger, { oldest, used: this.bytes, cap });
    let total = this.bytes + damaged;
    const dropped = this.#blocks.filter((block) => {
      const drop = block.to <= oldest || total > cap;
      if (drop) total -= block.bytes;
      return drop;
    });
    if (dropped.length > 0) await this.#drop(dropped, 'retention');
  }

  /**
   * Moves a block that turned out to be damaged to quarantine, so that the next query reads the other blocks. The block
   * leaves the set immediately; its file is moved afterwards.
   */
  quarantine(block: Block, error: unknown): void {
    if (!this.#blocks.includes(block)) return;
    this.#blocks = this.#blocks.filter((b) => b !== block);
    this.#quarantined++;
    block.retire();
    this.#moving = this.#moving
      .then(() => this.#setAside(block.path, error))
      .catch((failed: unknown) => {
        this.#options.logger.error('store: damaged block cannot be moved', {
          path: block.path,
          error: errorText(failed),
        });
      });
  }

  /** Hard-links every block, with its tombstones, into `dir`. */
  async linkTo(dir: string): Promise<void> {
    const { files } = this.#options;
    await files.makeDir(dir);
    for (const block of this.#blocks) {
      await files.link(block.path, `${dir}/${baseName(block.path)}`);
      if (block.tombstones.size > 0) {
        await files.link(tombstonePath(block.path), `${dir}/${baseName(tombstonePath(block.path))}`);
      }
    }
    await files.syncDir(dir);
  }

  async close(): Promise<void> {
    await this.#moving;
    for (const block of this.#blocks) block.retire();
    this.#blocks = [];
  }

  #add(block: Block): void {
    this.#blocks = [...this.#blocks, block].sort((a, b) => a.from - b.from || b.to - a.to);
  }

  async #openOne(path: string): Promise<void> {
    let block: Block | undefined;
    try {
      block = await Block.open(path, this.#options.files);
      block.tombstones = await this.#readTombstones(block);
      this.#add(block);
    } catch (error) {
      block?.retire();
      if (isBlameless(error)) throw error;
      this.#quarantined++;
      await this.#setAside(path, error);
    }
  }

  /**
   * Throws for unreadable tombstones, so that the block goes to quarantine: without its tombstones, it would show
   * deleted samples.
   */
  async #readTombstones(block: Block): Promise<Tombstones> {
    const { files, dir } = this.#options;
    const path = tombstonePath(block.path);
    const names = await files.list(dir);
    return names.includes(baseName(path)) ? decodeTombstones(await files.readAll(path), block.indexCrc) : new Map();
  }

  async #writeTombstones(block: Block, tombstones: Tombstones): Promise<void> {
    const { files, dir } = this.#options;
    await writeDurably(files, dir, baseName(tombstonePath(block.path)), encodeTombstones(block.indexCrc, tombstones));
  }

  async #setAside(path: string, error: unknown): Promise<void> {
    const { files, quarantine, logger, dir } = this.#options;
    logger.error('store: block cannot be read, it is set aside', { path, quarantine, error: errorText(error) });
    await files.makeDir(quarantine);
    await files.rename(path, `${quarantine}/${baseName(path)}`);
    const tombstones = tombstonePath(path);
    if ((await files.list(dir)).includes(baseName(tombstones))) {
      await files.rename(tombstones, `${quarantine}/${baseName(tombstones)}`);
    }
  }

  /**
   * Removes the files of blocks. The tombstones are removed last: a block without them would show deleted samples.
   * Errors: the first of the system's, after all that can be removed have been.
   */
  async #removeFiles(blocks: readonly Block[], removed: (block: Block) => void = () => {}): Promise<void> {
    const { files } = this.#options;
    const failures: unknown[] = [];
    for (const block of blocks) {
      try {
        await files.remove(block.path);
        await files.remove(tombstonePath(block.path));
        removed(block);
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

function tombstonePath(block: string): string {
  return `${block.slice(0, -'.block'.length)}.tombstones`;
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
