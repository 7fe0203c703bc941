import type { TurnTaking } from '../base/turns/turns.ts';

/** For tests: a turn for other work is always due. Records the most processor time between two turns. */
export class TurnWatch implements TurnTaking {
  turns = 0;
  longestMs = 0;
  readonly #onTurn: (turns: number) => void;
  #since = cpuMs();

  /** `onTurn` is called at each turn, with its number. */
  constructor(onTurn: (turns: number) => void = () => {}) {
    this.#onTurn = onTurn;
  }

  due(): boolean {
    return true;
  }

  next(): Promise<void> {
    this.look();
    this.#onTurn(++this.turns);
    return Promise.resolve();
  }

  /** Records the computation since the last turn. To be called at the end, when no other turn follows. */
  look(): void {
    const now = cpuMs();
    this.longestMs = Math.max(this.longestMs, now - this.#since);
    this.#since = now;
  }
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
