import type { Clock } from '../../base/clock.ts';

/** What a tool needs of its process; it never ends it. */
export interface ToolIo {
  env: Readonly<Record<string, string | undefined>>;
  stdout: (text: string) => void;
  stderr: (text: string) => void;
  clock: Clock;
}
