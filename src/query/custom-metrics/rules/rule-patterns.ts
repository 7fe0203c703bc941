import { compileOnce } from '../../../base/text/compile-pattern.ts';
import { errorText, OperatorError } from '../../../base/errors.ts';
import { refuseDearPattern } from '../../../base/text/pattern-cost.ts';
import { readReplacement } from '../../../base/text/replacement.ts';
import { escapedPattern } from '../../../base/text/texts.ts';

type Pattern = ReturnType<typeof compileOnce>;

/** The kind of objects that a label names; `group` is "" where the label does not tell it. */
export interface NamedKind {
  readonly resource: string;
  readonly group: string;
}

/**
 * The test of a pattern of RE2, anywhere in a name.
 * Errors: ERR_INPUT_INVALID that names the field, for a pattern that is invalid or too expensive.
 */
export function nameTest(pattern: string, at: string): (name: string) => boolean {
  const compiled = compiledFor(pattern, at);
  return (name) => compiled.matcher(name).find();
}

/**
 * How a rule names the metric of a series: `as` expanded with the groups of the match, or without `as` the first group,
 * or the whole name where there is none. Undefined if the pattern matches no part of the name, or the result is empty.
 * Errors: those of `nameTest`.
 */
export function metricNamer(
  pattern: string,
  as: string | undefined,
  at: string,
): (series: string) => string | undefined {
  const compiled = compiledFor(pattern, at);
  const expand = as === undefined ? undefined : readReplacement(as, compiled);
  return (series) => {
    const match = compiled.matcher(series);
    if (!match.find()) return undefined;
    const name = expand ? expand(match).join('') : match.groupCount() > 0 ? match.group(1) : series;
    return name || undefined;
  };
}

/**
 * Reads the form of labels that name objects, a text with `<<.Resource>>` and `<<.Group>>` in it.
 * Errors: ERR_INPUT_INVALID that names the field, for a placeholder that appears twice.
 */
export function labelReader(template: string, at: string): (label: string) => NamedKind | undefined {
  const pattern = escapedPattern(template)
    .replaceAll(/<<\s*\\\.Resource\s*>>/g, '(?<resource>[a-z]+)')
    .replaceAll(/<<\s*\\\.Group\s*>>/g, '(?<group>[a-z.]*)');
  for (const name of ['resource', 'group']) {
    if (pattern.split(`(?<${name}>`).length > 2) refuse(at, `names the ${name} twice`);
  }
  const form = new RegExp(`^${pattern}$`);
  return (label) => {
    const { resource, group = '' } = form.exec(label)?.groups ?? {};
    return resource === undefined ? undefined : { resource, group };
  };
}

function compiledFor(pattern: string, at: string): Pattern {
  const refusal = refuseDearPattern(pattern);
  if (refusal !== null) refuse(at, refusal);
  try {
    return compileOnce(pattern);
  } catch (cause) {
    return refuse(at, `not a pattern of RE2: ${errorText(cause)}`);
  }
}

function refuse(at: string, why: string): never {
  throw new OperatorError('ERR_INPUT_INVALID', `${at}: ${why}`);
}
