/** Where an error of the language says that it is: line and column, from 1. */
const position = /(?:^|: )(\d+):(\d+): /;

/** The API's sentence, and below it the line that it is about with a mark under the place. Pure. */
export function errorText(message: string, query: string): string {
  const sentence = message.replace(/^invalid parameter "query": /, '');
  const [, line, column] = position.exec(sentence) ?? [];
  const text = line === undefined ? undefined : query.split('\n')[Number(line) - 1];
  if (text === undefined) return sentence;
  const before = text.slice(0, Number(column) - 1);
  // Tabs stay tabs, so that the mark stands where the place is.
  return `${sentence}\n\n${text}\n${before.replace(/[^\t]/g, ' ')}^`;
}
