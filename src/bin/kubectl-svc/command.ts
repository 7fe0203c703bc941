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
  /** Words that its arguments may be, asked of the cluster when a key is pressed. */
  readonly complete?: () => Promise<Complete>;
}

/** What may stand where `word` has been begun, behind the arguments in `before`. Errors count as nothing. */
export type Complete = (session: Session, word: string, before: readonly string[]) => Promise<readonly string[]>;

/** Adds arguments, flags and help to the command, and what it does: `command.action(run(async (session, …) => …))`. */
export type Register = (command: Command, run: Run) => void;

/**
 * Makes an action of commander's out of the work of a command. `work` gets what commander gives an action (arguments,
 * options, command), with the session before it; it resolves with an exit code, or nothing for 0, and throws an error
 * whose message is for the user.
 */
export type Run = <A extends unknown[]>(
  work: (session: Session, ...args: A) => Promise<number | void>,
) => (...args: A) => Promise<void>;
