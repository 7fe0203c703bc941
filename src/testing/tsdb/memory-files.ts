import type { FileLayer, ReadableFile, WritableFile } from '../../tsdb/index.ts';

interface MemoryFile {
  bytes: Uint8Array;
  /** What survives a power cut. */
  synced: Uint8Array;
  writtenMs: number;
}

/** A call that can be made to fail. */
export type FileCall = 'write' | 'sync' | 'create' | 'rename' | 'remove' | 'syncDir' | 'truncate';

/**
 * A file system in memory for the store's tests: it can lose everything that was not synced, tear writes, and fail
 * any single call. File contents are durable after a sync, names immediately. (A stricter model of names would add
 * nothing: the store syncs a directory before it relies on it.)
 */
export class MemoryFiles implements FileLayer {
  #files = new Map<string, MemoryFile>();
  #locked = new Set<string>();
  /** The time that files get when they are written. Units: ms since the epoch. */
  now: () => number = Date.now;
  /** Files that were opened for writing and are not closed yet. */
  readonly unclosed = new Set<WritableFile>();
  /** Files that were opened for reading and are not closed yet. */
  readonly unclosedReads = new Set<ReadableFile>();
  /** Decides about each call before it happens: a number fails a write after that many bytes; true fails the call. */
  fault: ((call: FileCall, path: string) => boolean | number) | undefined;

  /**
   * Power loss: open handles die. A file's length may have changed since its last sync; `keep` returns how much of that
   * change survives (0…1). With 0, unsynced bytes are lost, and bytes that were cut off are there again.
   */
  crash(keep: (path: string) => number = () => 0): void {
    this.#locked.clear();
    this.unclosed.clear();
    this.unclosedReads.clear();
    this.fault = undefined;
    const survivors = new Map<string, MemoryFile>();
    for (const [path, { bytes, synced, writtenMs }] of this.#files) {
      const length = synced.length + Math.trunc((bytes.length - synced.length) * keep(path));
      const kept = new Uint8Array(length);
      kept.set(bytes.subarray(0, length));
      kept.set(synced.subarray(0, length));
      survivors.set(path, { bytes: kept, synced: kept.slice(), writtenMs });
    }
    this.#files = survivors;
  }

  paths(): string[] {
    return [...this.#files.keys()].sort();
  }

  bytesOf(path: string): Uint8Array {
    return this.#get(path).bytes;
  }

  /** Changes one byte, as a failing disk would. */
  flip(path: string, at: number): void {
    const { bytes, synced } = this.#get(path);
    bytes[at]! ^= 0x40;
    if (at < synced.length) synced[at] = bytes[at]!;
  }

  async makeDir(): Promise<void> {}

  async list(path: string): Promise<string[]> {
    const prefix = `${path}/`;
    const inside = [...this.#files.keys()].filter((p) => p.startsWith(prefix)).map((p) => p.slice(prefix.length));
    return [...new Set(inside.map((name) => name.split('/', 1)[0]!))].sort();
  }

  async readAll(path: string): Promise<Uint8Array> {
    return this.#get(path).bytes.slice();
  }

  async stat(path: string): Promise<{ bytes: number; writtenMs: number }> {
    const { bytes, writtenMs } = this.#get(path);
    return { bytes: bytes.length, writtenMs };
  }

  async lock(dir: string): Promise<() => Promise<void>> {
    if (this.#locked.has(dir)) throw new Error(`${dir} is locked`);
    this.#locked.add(dir);
    return async () => void this.#locked.delete(dir);
  }

  async openWrite(path: string, mode: 'create' | 'existing'): Promise<WritableFile> {
    if (mode === 'create') {
      this.#check('create', path);
      if (this.#files.has(path)) throw Object.assign(new Error(`EEXIST: ${path}`), { code: 'EEXIST' });
      this.#files.set(path, { bytes: new Uint8Array(0), synced: new Uint8Array(0), writtenMs: this.now() });
    }
    const file = this.#get(path);
    const opened: WritableFile = {
      write: async (bytes, position) => {
        file.writtenMs = this.now();
        const fault = this.fault?.('write', path) ?? false;
        const length = fault === false ? bytes.length : fault === true ? 0 : Math.min(fault, bytes.length);
        if (position + length > file.bytes.length) {
          const grown = new Uint8Array(position + length);
          grown.set(file.bytes);
          file.bytes = grown;
        }
        file.bytes.set(bytes.subarray(0, length), position);
        if (fault !== false) throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
      },
      sync: async () => {
        this.#check('sync', path);
        file.synced = file.bytes.slice();
      },
      truncate: async (length) => {
        this.#check('truncate', path);
        file.bytes = file.bytes.slice(0, length);
      },
      close: async () => void this.unclosed.delete(opened),
    };
    this.unclosed.add(opened);
    return opened;
  }

  openRead(path: string): ReadableFile {
    const file = this.#get(path);
    let isOpen = true;
    // The number of a closed file may belong to another file: reading or closing it again is a defect.
    const assertOpen = (): void => {
      if (!isOpen) throw Object.assign(new Error(`EBADF: ${path}`), { code: 'EBADF' });
    };
    const opened: ReadableFile = {
      read: (position: number, length: number) => {
        assertOpen();
        if (position + length > file.bytes.length) throw new Error(`${path}: short read`);
        return file.bytes.slice(position, position + length);
      },
      close: () => {
        assertOpen();
        isOpen = false;
        this.unclosedReads.delete(opened);
      },
    };
    this.unclosedReads.add(opened);
    return opened;
  }

  async rename(from: string, to: string): Promise<void> {
    this.#check('rename', from);
    const inside = this.paths().filter((path) => path.startsWith(`${from}/`));
    for (const path of inside) this.#move(path, to + path.slice(from.length));
    if (inside.length === 0) this.#move(from, to);
  }

  async link(from: string, to: string): Promise<void> {
    this.#check('create', to);
    this.#files.set(to, this.#get(from));
  }

  async remove(path: string): Promise<void> {
    this.#check('remove', path);
    this.#files.delete(path);
    for (const inside of this.paths()) if (inside.startsWith(`${path}/`)) this.#files.delete(inside);
  }

  async syncDir(path: string): Promise<void> {
    this.#check('syncDir', path);
  }

  #move(from: string, to: string): void {
    this.#files.set(to, this.#get(from));
    this.#files.delete(from);
  }

  #check(call: FileCall, path: string): void {
    const fault = this.fault?.(call, path) ?? false;
    if (fault !== false) throw Object.assign(new Error(`EIO: ${call} ${path}`), { code: 'EIO' });
  }

  #get(path: string): MemoryFile {
    const file = this.#files.get(path);
    if (!file) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' });
    return file;
  }
}
