import { RE2JS } from 're2js';
import { executionError } from '../../errors.ts';
import { labelValue, setLabel } from '../../labels.ts';
import { isValidName } from '../../parser/strings.ts';
import { mergeDuplicates, type Column } from '../columns.ts';

/** label_replace(v, dst, replacement, src, regex): sets dst where the whole of src matches. */
export function labelReplace(columns: readonly Column[], texts: readonly string[]): Column[] {
  const [target, replacement, source, pattern] = texts as [string, string, string, string];
  let regex: RE2JS;
  try {
    // Compiled alone first, so that an unbalanced pattern cannot be balanced by the anchors.
    RE2JS.compile(pattern);
    regex = RE2JS.compile(`^(?s:${pattern})$`);
  } catch {
    throw executionError(`invalid regular expression in label_replace(): ${pattern}`);
  }
  if (!isValidName(target)) throw executionError(`invalid destination label name in label_replace(): ${target}`);
  const expand = parseTemplate(replacement, regex);
  const known = new Map<string, string | null>();
  const replaced = columns.map((column) => {
    const value = labelValue(column.labels, source);
    let text = known.get(value);
    if (text === undefined) known.set(value, (text = expand(value)));
    return text === null ? column : relabelled(column, target, text);
  });
  return mergeDuplicates(replaced);
}

/** label_join(v, dst, separator, src…): sets dst to the joined values. */
export function labelJoin(columns: readonly Column[], texts: readonly string[]): Column[] {
  const [target, separator, ...sources] = texts as [string, string, ...string[]];
  for (const source of sources) {
    if (!isValidName(source)) throw executionError(`invalid source label name in label_join(): ${source}`);
  }
  if (!isValidName(target)) throw executionError(`invalid destination label name in label_join(): ${target}`);
  const joined = columns.map((column) => {
    const text = sources.map((source) => labelValue(column.labels, source)).join(separator);
    return relabelled(column, target, text);
  });
  return mergeDuplicates(joined);
}

function relabelled(column: Column, name: string, value: string): Column {
  const dropName = name === '__name__' ? false : column.dropName;
  return { ...column, labels: setLabel(column.labels, name, value), dropName };
}

/**
 * A replacement template as Go expands it: `$name` takes the longest run of word characters, `${name}` is explicit,
 * `$$` is a dollar; an unknown or unmatched group is empty, a malformed reference stays as it is.
 * The result gives null where the pattern does not match the whole value.
 */
function parseTemplate(template: string, regex: RE2JS): (value: string) => string | null {
  const parts: (string | { group: number })[] = [];
  const names = regex.namedGroups() as Record<string, number>;
  const reference = /\$(?:\$|\{([\p{L}\p{Nd}_]+)\}|([\p{L}\p{Nd}_]+))/gu;
  let last = 0;
  for (const match of template.matchAll(reference)) {
    parts.push(template.slice(last, match.index));
    last = match.index + match[0].length;
    const name = match[1] ?? match[2];
    if (name === undefined) parts.push('$');
    else parts.push({ group: /^\d+$/.test(name) ? Number(name) : (names[name] ?? -1) });
  }
  parts.push(template.slice(last));
  return (value) => {
    const matcher = regex.matcher(value);
    if (!matcher.matches()) return null;
    const count = matcher.groupCount();
    return parts
      .map((part) => {
        if (typeof part === 'string') return part;
        return part.group < 0 || part.group > count ? '' : (matcher.group(part.group) ?? '');
      })
      .join('');
  };
}
