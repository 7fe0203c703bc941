import { join } from 'node:path';
import { replaceFile } from '../../capture/durable-file.ts';
import { readSmallFile } from './position.ts';

/**
 * Says whose data a queue's folder has, by the uid of an object. The name of the object is not enough: after it is
 * deleted, another tenant may create one of the same name.
 */
export class FolderOwner {
  readonly #path: string;
  /**
   * The uid in the folder's file. Null without the file, as in a folder of version 0.1.0. Empty if the disk has failed
   * to return it for a minute.
   */
  #saved: string | null;
  #current: string | null = null;

  /** `failingMs`: for how long earlier tries have failed with an error. Units: ms. Errors: of the system. */
  constructor(dir: string, failingMs: (error: unknown) => number) {
    this.#path = join(dir, 'owner');
    const file = readSmallFile(this.#path, failingMs);
    this.#saved = file === 'lost' ? '' : (file?.text ?? null);
  }

  /** Takes the uid of the object whose data comes from now on. */
  set(uid: string): void {
    this.#current = uid;
  }

  /**
   * Makes the folder that of the current object: `drop` removes what it has of another. What has no owner is taken over.
   * Until this succeeds, nothing may be written to the folder. Errors: of `drop` and of the system.
   */
  async settle(drop: () => Promise<void>): Promise<void> {
    const uid = this.#current;
    if (uid === null || uid === this.#saved) return;
    if (this.#saved !== null) await drop();
    await replaceFile(this.#path, uid, 0o640);
    this.#saved = uid;
  }
}
