import { closeSync, constants, openSync, readSync } from 'node:fs';
import { copyFile, link, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import type { Clock } from '../../base/clock.ts';
import { lockDirectory } from './lock.ts';

/** A file open for writing. */
export interface WritableFile {
  /** Writes all of `bytes` at `position`. May throw half-way (disk full): the caller may write the same place again. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Makes the written bytes survive power loss. */
  sync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** A file open for random reads. Synchronous: reads come from the page cache and take microseconds. */
export interface ReadableFile {
  /**
   * Reads exactly `length` bytes, into the memory of an earlier read if one is given and large enough. Errors: throws
   * when the file is shorter.
   */
  read(position: number, length: number, into?: Uint8Array): Uint8Array;
  close(): void;
}

/** The store's interface to the file system, so that tests can break any single call. */
export interface FileLayer {
  makeDir(path: string): Promise<void>;
  /** Names of the files and folders in a directory, sorted; empty when it does not exist. */
  list(path: string): Promise<string[]>;
  readAll(path: string): Promise<Uint8Array>;
  /** Size of a file, and when it was last written (ms since the epoch). */
  stat(path: string): Promise<{ bytes: number; writtenMs: number }>;
  openWrite(path: string, mode: 'create' | 'existing'): Promise<WritableFile>;
  openRead(path: string): ReadableFile;
  rename(from: string, to: string): Promise<void>;
  /** A hard link to the same file, or a copy when the file system has no hard links. */
  link(from: string, to: string): Promise<void>;
  /** Removes a file, or a folder with its content. Does nothing if the path does not exist. */
  remove(path: string): Promise<void>;
  /** Locks the directory for this process; the returned function releases it. Errors: ERR_STORE_LOCKED. */
  lock(dir: string, clock: Clock): Promise<() => Promise<void>>;
  /** fsync of a directory: makes creations, renames and removals in it durable. */
  syncDir(path: string): Promise<void>;
}

/** The machine's file system. */
export const nodeFiles: FileLayer = {
  makeDir: async (path) => void (await mkdir(path, { recursive: true, mode: 0o750 })),
  list: async (path) => {
    try {
      return (await readdir(path)).sort();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  },
  readAll: (path) => readFile(path),
  stat: async (path) => {
    const { size, mtimeMs } = await stat(path);
    return { bytes: size, writtenMs: mtimeMs };
  },
  openWrite: async (path, mode) => {
    const handle = await open(path, mode === 'create' ? 'wx' : 'r+', 0o640);
    return {
      write: async (bytes, position) => {
        for (let done = 0; done < bytes.length;) {
          const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
          done += bytesWritten;
        }
      },
      sync: () => handle.datasync(),
      truncate: (length) => handle.truncate(length),
      close: () => handle.close(),
    };
  },
  openRead: (path) => {
    const fd = openSync(path, 'r');
    return {
      read: (position, length, into) => {
        const has = (into?.buffer.byteLength ?? 0) >= length;
        const bytes = has ? new Uint8Array(into!.buffer, 0, length) : new Uint8Array(length);
        for (let done = 0; done < length;) {
          const n = readSync(fd, bytes, done, length - done, position + done);
          if (n === 0) throw new Error(`${path}: ends ${length - done} bytes early at ${position + done}`);
          done += n;
        }
        return bytes;
      },
      close: () => closeSync(fd),
    };
  },
  lock: (dir, clock) => lockDirectory(dir, clock),
  rename,
  link: async (from, to) => {
    try {
      await link(from, to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
      await copyFile(from, to, constants.COPYFILE_EXCL);
    }
  },
  remove: (path) => rm(path, { force: true, recursive: true }),
  syncDir: async (path) => {
    const handle = await open(path, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  },
};
