import { parseArgs, type ParseArgsConfig } from 'node:util';
import { OperatorError } from '../../base/errors.ts';
import { doubleDash } from '../settings.ts';

type Options = NonNullable<ParseArgsConfig['options']>;

/** Flags of a tool, given with one dash or two. Errors: ERR_CONFIG_INVALID that never repeats a value. */
export function parseToolFlags<const T extends Options>(
  argv: readonly string[],
  options: T,
): ReturnType<typeof parseArgs<{ args: string[]; options: T; allowPositionals: true }>> {
  try {
    return parseArgs({ args: argv.map(doubleDash), options, allowPositionals: true, strict: true });
  } catch (cause) {
    const flag = cause instanceof Error ? /'(--?[a-z-]+)/.exec(cause.message)?.[1] : undefined;
    throw new OperatorError(
      'ERR_CONFIG_INVALID',
      `${flag ?? 'an argument'}: unknown flag, or a flag without its value`,
    );
  }
}
