/**
 * Prometheus' own PromQL editor: highlighting, completion from the API, and marks at errors in the query.
 * It lives in a shadow root, where its styles are constructed style sheets: in the document itself they would be
 * `<style>` elements, which the content security policy refuses.
 */
import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  closeCompletion,
  completionKeymap,
  completionStatus,
  moveCompletionSelection,
  selectedCompletionIndex,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, insertNewline } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { lintKeymap } from '@codemirror/lint';
import { Compartment, EditorState, Prec } from '@codemirror/state';
import { EditorView, keymap, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { PromQLExtension } from '@prometheus-io/codemirror-promql';
import { send } from '../api/client.ts';

export interface Editor {
  /** Replaces the text, unless it is the same. */
  set(text: string): void;
  /** Tells assistive technology whether the text is invalid. */
  invalid(yes: boolean): void;
  focus(): void;
  destroy(): void;
}

export interface EditorOptions {
  readonly text: string;
  readonly label: string;
  readonly onChange: (text: string) => void;
  readonly onRun: () => void;
}

/** The colours are those of the page, because custom properties reach into a shadow root. */
const look = EditorView.theme({
  '&': { backgroundColor: 'var(--field)', color: 'var(--ink)', fontSize: '14px', borderRadius: '6px' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '1px' },
  '.cm-content': {
    fontFamily: 'ui-monospace, monospace',
    padding: '8px 4px',
    caretColor: 'var(--ink)',
    minHeight: '22px',
  },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-placeholder': { color: 'var(--quiet)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground, .cm-content ::selection': {
    backgroundColor: 'var(--chosen)',
  },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--chosen)', outline: 'none' },
  '.cm-tooltip': { backgroundColor: 'var(--raised)', color: 'var(--ink)', border: '1px solid var(--line)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'ui-monospace, monospace', maxHeight: '18rem' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-completionDetail': { marginLeft: '1em', color: 'inherit', opacity: '0.85', fontStyle: 'normal' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
});

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--code-keyword)', fontWeight: '600' },
  { tag: [tags.function(tags.variableName), tags.name], color: 'var(--code-function)' },
  { tag: [tags.labelName, tags.propertyName], color: 'var(--code-label)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--code-string)' },
  { tag: [tags.number, tags.special(tags.number)], color: 'var(--code-number)' },
  { tag: tags.comment, color: 'var(--quiet)', fontStyle: 'italic' },
]);

/** Completion requests use the token of this tab and have a short deadline. */
async function fetchForCompletion(input: RequestInfo, init: RequestInit = {}): Promise<Response> {
  const { signal, ...rest } = init;
  return send(String(input), rest, { signal: signal ?? undefined, deadlineMs: 10_000 });
}

export function createEditor(host: HTMLElement, { text, label, onChange, onRun }: EditorOptions): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const folder = new URL('.', document.baseURI).href.replace(/\/$/, '');
  const promql = new PromQLExtension()
    .activateLinter(true)
    .setComplete({ remote: { url: folder, apiPrefix: '/api/v1', httpMethod: 'GET', fetchFn: fetchForCompletion } });
  const state = new Compartment();
  const attributes = (refused: boolean): ReturnType<typeof EditorView.contentAttributes.of> =>
    EditorView.contentAttributes.of({
      'aria-label': label,
      'aria-invalid': String(refused),
      'aria-multiline': 'true',
      autocapitalize: 'off',
      spellcheck: 'false',
    });
  const runs = Prec.highest(
    keymap.of([
      {
        key: 'Enter',
        run: (view) => {
          if (acceptCompletion(view)) return true;
          closeCompletion(view);
          onRun();
          return true;
        },
      },
      {
        // Tab takes the selected completion or the first; without completions it moves to the next control.
        key: 'Tab',
        run: (view) => {
          if (completionStatus(view.state) !== 'active') return false;
          if (selectedCompletionIndex(view.state) === null) moveCompletionSelection(true)(view);
          return acceptCompletion(view);
        },
      },
      { key: 'Shift-Enter', run: insertNewline },
    ]),
  );
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        runs,
        history(),
        closeBrackets(),
        bracketMatching(),
        // No completion is preselected, so a key that accepts the selected one may act immediately.
        autocompletion({ selectOnOpen: false, interactionDelay: 0, icons: false, maxRenderedOptions: 100 }),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...historyKeymap, ...lintKeymap, ...defaultKeymap]),
        promql.asExtension(),
        syntaxHighlighting(colours),
        look,
        placeholder('PromQL, e.g. sum(svc_agent_up)'),
        EditorView.lineWrapping,
        state.of(attributes(false)),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    set: (next) => {
      if (next === view.state.doc.toString()) return;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
    },
    invalid: (yes) => view.dispatch({ effects: state.reconfigure(attributes(yes)) }),
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}
