import { flagOf, type Setting } from '../../../src/base/settings.ts';
import { queryOptionTable, type QueryOption, type QueryOptions } from '../../../src/render/index.ts';
import type { ChartValue } from './chart-value.ts';
import { when } from './when.ts';

/**
 * Every option of the query server is a chart value under `query`. The chart passes it to the operator only if it
 * differs from the default.
 */
const options = Object.keys(queryOptionTable) as QueryOption[];
const defaultOf = (option: QueryOption): string => queryOptionTable[option].default ?? '';

/** A marker for each option in the rendered operator; `queryOptionRules` replaces it with the chart value. */
export const markedQueryOptions: QueryOptions = Object.fromEntries(options.map((option) => [option, `mark-${option}`]));

export const queryOptionRules = options.map((option) => {
  const flag = flagOf(option);
  return {
    find: new RegExp(`- ${flag}=mark-`),
    put(line: string): string[] {
      const value = `.Values.query.${option}`;
      const text = defaultOf(option);
      const kind = kindOf(text);
      // Helm reads whole numbers as floats: printed as they are, large ones get an exponent.
      const shown = kind === 'integer' ? `int64 ${value}` : value;
      const differs = kind === 'boolean' ? value : `ne (${shown}) ${kind === 'integer' ? text : JSON.stringify(text)}`;
      return when(differs, line.replace(`mark-${option}`, `{{ ${shown} }}`));
    },
  };
});

export const queryOptionValues: readonly ChartValue[] = options.map((option) => {
  const text = defaultOf(option);
  const kind = kindOf(text);
  const { help, choices }: Setting<unknown> = queryOptionTable[option];
  return {
    path: `query.${option}`,
    default: kind === 'text' ? text : (JSON.parse(text) as unknown),
    schema: kind !== 'text' ? { type: kind } : choices ? { enum: choices } : { type: 'string' },
    help: `${help.charAt(0).toUpperCase()}${help.slice(1)}.`,
  };
});

/** The type of a value is that of its default; a boolean's default is always false. */
function kindOf(text: string): 'boolean' | 'integer' | 'text' {
  if (text === 'false') return 'boolean';
  return /^[0-9]+$/.test(text) ? 'integer' : 'text';
}
