import { Type, type Static, type TSchema } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { OperatorError } from '../errors.ts';

/**
 * Makes a function that checks a message against its schema, and returns the message. Errors of that function:
 * ERR_INPUT_INVALID that names the field, never a value; it begins with `what`, or with what `where` returns.
 */
export function parser<T extends TSchema>(what: string, schema: T) {
  const compiled = TypeCompiler.Compile(schema);
  return (value: unknown, where?: () => string): Static<T> => {
    if (compiled.Check(value)) return value;
    const first = compiled.Errors(value).First();
    throw new OperatorError(
      'ERR_INPUT_INVALID',
      `${where?.() ?? what} ${first?.path || '/'}: ${first?.message ?? 'invalid'}`,
    );
  };
}

/** One of a fixed set of strings. */
export const oneOf = <T extends readonly string[]>(values: T) =>
  Type.Unsafe<T[number]>(Type.String({ pattern: `^(${values.join('|')})$`, maxLength: 63 }));
