/** The list of choices under the expression: a combobox by the pattern of WAI-ARIA. */
import { call } from './api.ts';
import { dataChoice, languageChoices, matching, placeAt, type Choice, type Place } from './completion.ts';

/** Names, labels and values are asked for again after this long. */
const keptMs = 60_000;
const lists = new Map<string, { at: number; texts: Promise<string[]> }>();

function list(path: string, metric?: string): Promise<string[]> {
  const match = metric === undefined ? undefined : `{__name__=${JSON.stringify(metric)}}`;
  const key = `${path} ${match ?? ''}`;
  const known = lists.get(key);
  if (known && Date.now() - known.at < keptMs) return known.texts;
  const texts = call<{ data: string[] }>(path, match === undefined ? {} : { 'match[]': match })
    .then(({ data }) => data)
    .catch(() => {
      lists.delete(key);
      return [];
    });
  lists.set(key, { at: Date.now(), texts });
  return texts;
}

async function choicesAt(place: Place): Promise<Choice[]> {
  const own = (texts: string[]): Choice[] => texts.map((text) => dataChoice(place, text));
  switch (place.kind) {
    case 'name':
      return [...own(await list('label/__name__/values')), ...languageChoices];
    case 'label':
      return own((await list('labels', place.metric)).filter((name) => name !== '__name__'));
    case 'value':
      return own(await list(`label/${encodeURIComponent(place.label)}/values`, place.metric));
  }
}

/**
 * Makes `input` complete what is written in it. Keys: Ctrl+Space opens, arrows choose, Tab takes the chosen or first,
 * Enter takes the chosen, Escape closes. `run` is called on Enter where nothing is chosen; Shift+Enter is a new line.
 */
export function attachCompletion(input: HTMLTextAreaElement, options: HTMLElement, run: () => void): void {
  let place: Place | undefined;
  let choices: Choice[] = [];
  let chosen = -1;
  let turn = 0;

  const close = (): void => {
    turn++;
    choices = [];
    chosen = -1;
    options.hidden = true;
    options.replaceChildren();
    input.setAttribute('aria-expanded', 'false');
    input.removeAttribute('aria-activedescendant');
  };

  const choose = (index: number): void => {
    chosen = (index + choices.length) % choices.length;
    [...options.children].forEach((child, i) => child.setAttribute('aria-selected', String(i === chosen)));
    const active = options.children[chosen]!;
    input.setAttribute('aria-activedescendant', active.id);
    active.scrollIntoView({ block: 'nearest' });
  };

  const take = (choice: Choice): void => {
    if (place === undefined) return;
    const end = input.selectionStart;
    // The end of a value that is already there is not written twice.
    const twice = place.kind === 'value' && input.value[end] === place.quote;
    input.setRangeText(choice.insert, place.from, twice ? end + 1 : end, 'end');
    close();
    input.focus();
  };

  const open = async (asked: boolean): Promise<void> => {
    const mine = ++turn;
    place = placeAt(input.value, input.selectionStart);
    if (place === undefined || (!asked && place.kind === 'name' && place.word === '')) return close();
    const found = matching(await choicesAt(place), place.word);
    if (mine !== turn) return;
    if (found.length === 0) return close();
    choices = found;
    chosen = -1;
    options.replaceChildren(...found.map((choice, i) => optionOf(choice, i)));
    options.hidden = false;
    input.setAttribute('aria-expanded', 'true');
    input.removeAttribute('aria-activedescendant');
  };

  const optionOf = (choice: Choice, i: number): HTMLElement => {
    const option = document.createElement('li');
    option.id = `option-${i}`;
    option.setAttribute('role', 'option');
    option.setAttribute('aria-selected', 'false');
    const what = Object.assign(document.createElement('small'), { textContent: choice.what });
    option.append(choice.text, ' ', what);
    // Not `click`: by then the input has lost the cursor.
    option.addEventListener('mousedown', (event) => {
      event.preventDefault();
      take(choice);
    });
    return option;
  };

  input.addEventListener('input', () => void open(false));
  input.addEventListener('blur', close);
  input.addEventListener('keydown', (event) => {
    const isOpen = choices.length > 0;
    if (event.key === ' ' && event.ctrlKey) void open(true);
    else if (isOpen && event.key === 'ArrowDown') choose(chosen + 1);
    else if (isOpen && event.key === 'ArrowUp') choose(chosen < 0 ? -1 : chosen - 1);
    else if (isOpen && event.key === 'Escape') close();
    else if (isOpen && event.key === 'Tab' && !event.shiftKey) take(choices[Math.max(chosen, 0)]!);
    else if (event.key === 'Enter' && chosen >= 0) take(choices[chosen]!);
    else if (event.key === 'Enter' && !event.shiftKey) {
      close();
      run();
    } else return;
    event.preventDefault();
  });
}
