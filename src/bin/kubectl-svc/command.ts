import type { Command } from 'commander';
import type { Session } from './session.ts';

/** A subcommand of the plugin. What does the work is loaded when the command is asked for. */
export interface PluginCommand {
  readonly name: string;
  /** One line for `kubectl svc --help`. */
  readonly summary: string;
  readonly load: () => Promise<Register>;
  /** Exit code of an error, where it is not 1: `diff` has that for something else. */
  readonly errorCode?: number;
}

/** Adds arguments, flags and help to the command, and what it does: `command.action(run(async (session, …) => …))`. */
export type Register = (command: Command, run: Run) => void;

/**
 * Makes an action of commander's out of the work of a command. `work` gets what commander gives an action (arguments,
 * options, command), with the session before it; it resolves with an exit code, or nothing for 0, and throws what the
 * person is to be told.
 */
export type Run = <A extends unknown[]>(
  work: (session: Session, ...args: A) => Promise<number | void>,
) => (...args: A) => Promise<void>;
