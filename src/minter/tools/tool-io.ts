import type { Clock } from '../../base/clock.ts';

/** What a command-line tool uses of its process. A tool never ends the process itself. */
export interface ToolIo {
  env: Readonly<Record<string, string | undefined>>;
  stdout: (text: string) => void;
  stderr: (text: string) => void;
  clock: Clock;
}
