import type { Command } from 'commander';
import type { Session } from './session.ts';

/** A subcommand of the plugin. Its implementation is loaded when the command is used. */
export interface PluginCommand {
  readonly name: string;
  /** One line for `kubectl svc --help`. */
  readonly summary: string;
  readonly load: () => Promise<Register>;
  /** Exit code of an error, if it is not 1: `diff` uses 1 for a difference. */
  readonly errorCode?: number;
  /** Completions of its arguments, read from the cluster on a key press. */
  readonly complete?: () => Promise<Complete>;
}

/** Completions of `word`, after the arguments in `before`. An error counts as no completions. */
export type Complete = (session: Session, word: string, before: readonly string[]) => Promise<readonly string[]>;

/** Adds arguments, flags, help and the action to the command: `command.action(run(async (session, …) => …))`. */
export type Register = (command: Command, run: Run) => void;

/**
 * Makes a commander action from a command's implementation. `work` gets the session and then commander's arguments
 * (arguments, options, command). It resolves with an exit code, or nothing for 0, and throws an error whose message is
 * for the user.
 */
export type Run = <A extends unknown[]>(
  work: (session: Session, ...args: A) => Promise<number | void>,
) => (...args: A) => Promise<void>;
