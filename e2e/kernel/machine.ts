import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { exited, signalGroup, spawnBound, toolEnvironment } from '../cluster/processes.ts';
import { probeAnswer, shellWord } from './images.ts';

/** How the guest's instructions run: on the host's own processors (kvm), or translated (tcg). */
export type Acceleration = 'kvm' | 'tcg';

export interface MachineOptions {
  readonly acceleration: Acceleration;
  readonly kernel: string;
  readonly initialRam: string;
  /** Image of the root file system. Absent for a probe, which needs none. */
  readonly rootImage?: string;
  readonly memoryMb: number;
  /** Path of a Unix socket on which a shell of the machine answers; absent for none. */
  readonly shell?: string;
  /** Further kernel parameters. */
  readonly words?: string;
  /** Path of a file that gets the kernel's output. */
  readonly console: string;
  /** Called with each line that the guest writes to its second serial port. */
  readonly onLine: (line: string) => void;
}

/** A virtual machine without a network. It ends with this process. */
export class VirtualMachine {
  readonly #child: ChildProcess;

  constructor(options: MachineOptions) {
    const { acceleration, kernel, initialRam, rootImage, shell, memoryMb, words = '' } = options;
    const how = acceleration === 'kvm' ? ['kvm', 'host'] : ['tcg,thread=multi,tb-size=512', 'max'];
    const out = openSync(`${options.console}.errors`, 'w');
    this.#child = spawnBound(
      [
        ...['qemu-system-x86_64', '-machine', 'q35', '-accel', how[0]!, '-cpu', how[1]!],
        ...['-smp', '2', '-m', String(memoryMb), '-kernel', kernel, '-initrd', initialRam],
        ...[
          '-append',
          `console=ttyS0 panic=-1 edd=off mitigations=off quiet ${words} ${shell === undefined ? '' : shellWord}`,
        ],
        ...(rootImage === undefined ? [] : ['-drive', `file=${rootImage},format=raw,if=virtio,cache=unsafe`]),
        ...['-display', 'none', '-monitor', 'none', '-no-reboot', '-nic', 'none'],
        ...['-serial', `file:${options.console}`, '-serial', 'stdio'],
        ...(shell === undefined ? [] : ['-serial', `unix:${shell},server=on,wait=off`]),
      ],
      { run: `kernel-${process.pid}`, env: toolEnvironment(), stdio: ['ignore', 'pipe', out] },
    );
    closeSync(out);
    createInterface({ input: this.#child.stdout! }).on('line', options.onLine);
  }

  /** Resolves when the machine is off. */
  off(): Promise<void> {
    return exited(this.#child);
  }

  async kill(): Promise<void> {
    if (this.#child.pid !== undefined) signalGroup(this.#child.pid, 'SIGKILL');
    await exited(this.#child);
  }
}

/** How long a probe may take. A kernel that starts at all does so in two seconds. Units: ms. */
const probeMs = 10_000;

/** Whether guests can use KVM: some machines have its device, but guests never start on it. */
export async function findAcceleration(
  options: Pick<MachineOptions, 'kernel' | 'initialRam' | 'console'>,
): Promise<Acceleration> {
  let answered = false;
  const machine = new VirtualMachine({
    ...options,
    acceleration: 'kvm',
    memoryMb: 512,
    words: 'svc.probe',
    onLine: (line) => (answered ||= line.includes(probeAnswer)),
  });
  const timer = setTimeout(() => void machine.kill(), probeMs);
  await machine.off();
  clearTimeout(timer);
  return answered ? 'kvm' : 'tcg';
}
