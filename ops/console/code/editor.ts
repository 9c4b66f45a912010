import { autocompletion, completionStatus } from '@codemirror/autocomplete';
import {
  history,
  historyKeymap,
  indentLess,
  indentMore,
  moveLineDown,
  moveLineUp,
  standardKeymap,
  toggleComment,
} from '@codemirror/commands';
import { bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { Annotation, Compartment, type Extension } from '@codemirror/state';
import { EditorView, highlightSpecialChars, keymap, lineNumbers, placeholder } from '@codemirror/view';
import { classHighlighter } from '@lezer/highlight';
import { getNonce } from 'get-nonce';
import { theme } from './theme.ts';
import { codeOf } from './turning.ts';
import { typing } from './typing.ts';

export interface Editor {
  readonly view: EditorView;
  /** Takes over a text that is not one of those that `onChange` was given, and leaves the caret where it is. */
  show(text: string): void;
  speak(language: Extension): void;
  /** Has further abilities in place of those before. */
  extend(extension: Extension): void;
  /** Sets the description of the field for assistive technology. */
  describe(attributes: Readonly<Record<string, string>>): void;
}

interface Given {
  parent: HTMLElement;
  text: string;
  hasLineNumbers: boolean;
  placeholder: string;
  onChange: (text: string) => void;
}

const isFromOutside = Annotation.define<true>();

/** CodeMirror, with what every code field has. */
export function createEditor({ parent, text, hasLineNumbers, placeholder: hint, onChange }: Given): Editor {
  const language = new Compartment();
  const attributes = new Compartment();
  const further = new Compartment();
  // Those that may still come back: React draws an older one while a newer one is typed.
  const told = [text];
  const tell = EditorView.updateListener.of(({ docChanged, transactions, state }) => {
    if (!docChanged || transactions.some((one) => one.annotation(isFromOutside))) return;
    const now = state.doc.toString();
    told.push(now);
    onChange(now);
  });
  const own = [
    language.of([]),
    attributes.of([]),
    further.of([]),
    hasLineNumbers ? lineNumbers() : [],
    hint ? placeholder(hint) : [],
  ];
  const view = new EditorView({ parent, doc: text, extensions: [common, ...own, tell] });
  return {
    view,
    show(next) {
      const known = told.lastIndexOf(next);
      told.splice(0, known < 0 ? told.length : known, ...(known < 0 ? [next] : []));
      if (known >= 0) return;
      view.dispatch({ changes: changeOf(view.state.doc.toString(), next), annotations: isFromOutside.of(true) });
    },
    speak: (support) => view.dispatch({ effects: language.reconfigure(support) }),
    extend: (extension) => view.dispatch({ effects: further.reconfigure(extension) }),
    describe: (told) => view.dispatch({ effects: attributes.reconfigure(EditorView.contentAttributes.of(told)) }),
  };
}

/**
 * Tab is not bound: it leaves the field. While completions are shown, Escape closes them and not the dialog around, whose library
 * reads this attribute.
 */
const common: Extension = [
  EditorView.cspNonce.of(getNonce() ?? ''),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ tabindex: '0' }),
  EditorView.contentAttributes.of(
    ({ state }): Record<string, string> =>
      completionStatus(state) === 'active' ? { 'data-mantine-stop-propagation': 'true' } : {},
  ),
  highlightSpecialChars({ addSpecialChars: /[\u202a-\u202c\u2068]/g, render: specialCharacter }),
  history(),
  indentOnInput(),
  bracketMatching(),
  autocompletion({ icons: false, maxRenderedOptions: 10 }),
  typing,
  syntaxHighlighting(classHighlighter),
  keymap.of([
    { key: 'Mod-Enter', run: sendForm },
    { key: 'Mod-[', run: indentLess },
    { key: 'Mod-]', run: indentMore },
    { key: 'Mod-/', run: toggleComment },
    { key: 'Alt-ArrowUp', run: moveLineUp },
    { key: 'Alt-ArrowDown', run: moveLineDown },
    ...historyKeymap,
    ...standardKeymap,
  ]),
  theme,
];

/** Draws a special character by its code: one that turns the text around it, or that has no form. */
function specialCharacter(code: number, description: string | null): HTMLElement {
  const mark = document.createElement('span');
  mark.className = 'cm-specialChar';
  mark.textContent = codeOf(String.fromCharCode(code));
  mark.title = description ?? '';
  return mark;
}

/** Sends the form in which the code is, if it is in one. */
function sendForm({ dom }: EditorView): boolean {
  const form = dom.closest('form');
  form?.requestSubmit();
  return form !== null;
}

/** From the first to the last character that differs. */
function changeOf(old: string, next: string) {
  const most = Math.min(old.length, next.length);
  let start = 0;
  while (start < most && old.charCodeAt(start) === next.charCodeAt(start)) start += 1;
  let end = 0;
  while (end < most - start && old.charCodeAt(old.length - 1 - end) === next.charCodeAt(next.length - 1 - end))
    end += 1;
  return { from: start, to: old.length - end, insert: next.slice(start, next.length - end) };
}
