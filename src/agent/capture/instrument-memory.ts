import { readdir, readFile } from 'node:fs/promises';

/** Names that the kernel knows the instrument's process by, in old and new builds. */
const names = new Set(['ebpf-instrument', 'obi', 'beyla']);

/**
 * Resident memory of the instrument, found by its process name in the pod's shared process namespace, next to this
 * process in the tree of control groups. Null where no process is seen, as without `hostPID`.
 * Shape: `proc` is the directory of processes; the id found last is tried first, since a scan reads every process.
 * Units: bytes.
 */
export class InstrumentMemory {
  readonly #proc: string;
  #pid: string | null = null;

  constructor(proc = '/proc') {
    this.#proc = proc;
  }

  async read(): Promise<number | null> {
    if (this.#pid === null || !(await this.#isInstrument(this.#pid, await this.#podOf('self')))) {
      this.#pid = await this.#find();
    }
    if (this.#pid === null) return null;
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(await this.#text(this.#pid, 'status'))?.[1];
    return kilobytes === undefined ? null : Number(kilobytes) * 1024;
  }

  async #find(): Promise<string | null> {
    const own = await this.#podOf('self');
    const entries = await readdir(this.#proc).catch(() => []);
    for (const pid of entries) {
      if (/^\d+$/.test(pid) && (await this.#isInstrument(pid, own))) return pid;
    }
    return null;
  }

  async #isInstrument(pid: string, ownPod: string): Promise<boolean> {
    if (!names.has((await this.#text(pid, 'comm')).trim())) return false;
    return (await this.#podOf(pid)) === ownPod;
  }

  /**
   * The parent of a process' control group: that of its pod. Inside a cgroup namespace our own group is `/`, and that
   * of a sibling container `/../<name>`.
   */
  async #podOf(pid: string): Promise<string> {
    const path = /^0::(.*)$/m.exec(await this.#text(pid, 'cgroup'))?.[1] ?? '';
    return path === '/' ? '/..' : path.slice(0, path.lastIndexOf('/'));
  }

  /** Empty for a process that has ended, or whose file may not be read. */
  #text(pid: string, file: string): Promise<string> {
    return readFile(`${this.#proc}/${pid}/${file}`, 'utf8').catch(() => '');
  }
}
