import { parseArgs, type ParseArgsConfig } from 'node:util';
import { OperatorError } from '../base/errors.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

/**
 * Flags of a command, given with one dash (as older installations have them) or two.
 * Errors: ERR_CONFIG_INVALID that names a flag and never repeats a value.
 */
export function parseFlags<const T extends Options>(
  argv: readonly string[],
  options: T,
): ReturnType<typeof parseArgs<{ args: string[]; options: T; allowPositionals: true }>> {
  try {
    const args = argv.map((arg) => (/^-[a-z][a-z-]+(=|$)/.test(arg) ? `-${arg}` : arg));
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (cause) {
    const flag = /'(--?[a-z][a-z-]*)/.exec(String((cause as { message?: unknown }).message))?.[1] ?? 'an argument';
    throw new OperatorError('ERR_CONFIG_INVALID', `${flag}: unknown flag, or a flag without its value`);
  }
}
