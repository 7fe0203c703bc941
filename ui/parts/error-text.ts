/** The position in a parse error: line and column, from 1. Columns count bytes of UTF-8, as in Prometheus. */
const position = /(?:^|: )(\d+):(\d+): /;

/** The API's message and, below it, the line of the query that it names, with a mark under the position. Pure. */
export function errorText(message: string, query: string): string {
  const sentence = message.replace(/^invalid parameter "query": /, '');
  const [, line, column] = position.exec(sentence) ?? [];
  const text = line === undefined ? undefined : query.split('\n')[Number(line) - 1];
  if (text === undefined) return sentence;
  const before = new TextDecoder().decode(new TextEncoder().encode(text).slice(0, Number(column) - 1));
  // Tabs stay tabs, so that the mark is under the position.
  return `${sentence}\n\n${text}\n${before.replace(/[^\t]/gu, ' ')}^`;
}
