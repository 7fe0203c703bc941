import type { Clock } from '../../base/clock.ts';

/** The parts of its process that a tool uses; it never ends the process. */
export interface ToolIo {
  env: Readonly<Record<string, string | undefined>>;
  stdout: (text: string) => void;
  stderr: (text: string) => void;
  clock: Clock;
}
