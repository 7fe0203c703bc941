import { errorText, isOperatorError, OperatorError, type ErrorCode } from '../../base/errors.ts';
import { printable } from './output/table.ts';

/**
 * Exit codes of the plugin. `interrupted` and `unread` are the codes that a shell reports for a program that Ctrl-C or
 * a closed pipe has ended.
 */
export const exitCodes = { fine: 0, error: 1, usage: 2, interrupted: 130, unread: 141 } as const;

/** The reader of the standard output is gone: `| head` closes the pipe when it has enough. */
export class ClosedOutputError extends OperatorError {
  constructor() {
    super('ERR_ABORTED', 'nobody reads the output');
  }
}

/** An error of the plugin: the cause, and the remedy. */
export class PluginError extends OperatorError {
  /** The remedies, one line each. */
  readonly hints: readonly string[];

  constructor(code: ErrorCode, message: string, options: { hints?: readonly string[]; cause?: unknown } = {}) {
    super(code, message, { cause: options.cause });
    this.name = 'PluginError';
    this.hints = options.hints ?? [];
  }
}

/** The command line is wrong: exit code 2. */
export class UsageError extends PluginError {
  constructor(message: string, ...hints: string[]) {
    super('ERR_INPUT_INVALID', message, { hints });
    this.name = 'UsageError';
  }
}

/**
 * An error as text for stderr: the cause first, then the remedies, indented. The cause may be a server's text, so its
 * control characters other than newlines are escaped. Ends with a newline. Pure.
 */
export function errorLines(error: unknown): string {
  const hints = error instanceof PluginError ? error.hints : hintsOf(error);
  // The message of a plugin's error already contains the cause.
  const text = error instanceof PluginError ? error.message : errorText(error);
  const lines = text.split('\n').map(printable).join('\n');
  return [`error: ${lines}`, ...hints.map((hint) => `  ${hint}`), ''].join('\n');
}

function hintsOf(error: unknown): string[] {
  if (isOperatorError(error, 'ERR_API_FORBIDDEN')) return ['ask whoever runs the cluster for this right'];
  if (isOperatorError(error, 'ERR_CONFIG_INVALID') && /no KUBECONFIG/.test(error.message))
    return ['name a kubeconfig with --kubeconfig, or set KUBECONFIG'];
  if (/ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/.test(errorText(error)))
    return ['is this the right cluster, and can it be reached? kubectl config current-context; kubectl version'];
  return [];
}
