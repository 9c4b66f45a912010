import type { CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { syntaxTree } from '@codemirror/language';
import { EditorState, type Extension } from '@codemirror/state';
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate } from '@codemirror/view';
import { type Fault, faultOfPath, faultsIn } from './check.ts';
import { completionsAt } from './complete.ts';
import { INSERT, type ValuesOfField } from './context.ts';
import { insertion } from './path.ts';
import { type Key, shortText, typeOf, type Values } from './value.ts';

/** A longer text is neither marked nor completed: each key would go through all of it. */
const MAX_READ = 50_000;

/** Values of the run in an editor: put in by the picker, completed in templates, and marked where they are not there. */
export function valuesSupport({ values, syntax }: ValuesOfField): Extension {
  const isTemplate = syntax === 'template';
  return [
    insertedValues(syntax),
    marksOf((state) => (isTemplate ? faultsIn(state.doc.toString(), values) : faultsInCode(state, values))),
    isTemplate ? EditorState.languageData.of(() => [{ autocomplete: completed(values) }]) : [],
  ];
}

function insertedValues(syntax: ValuesOfField['syntax']): Extension {
  let wasEntered = false;
  return EditorView.domEventHandlers({
    focus() {
      wasEntered = true;
    },
    [INSERT](event: CustomEvent<readonly Key[]>, view: EditorView) {
      const { main } = view.state.selection;
      const end = view.state.doc.length;
      const at = wasEntered ? { from: main.from, to: main.to } : { from: end, to: end };
      const change = insertion(view.state.doc.toString(), at, event.detail, syntax);
      if (!change) return;
      const { caret, ...changes } = change;
      view.dispatch({ changes, selection: { anchor: caret }, userEvent: 'input.complete', scrollIntoView: true });
      view.focus();
    },
  } as Parameters<typeof EditorView.domEventHandlers>[0]);
}

function completed(values: Values) {
  return ({ state, pos }: CompletionContext): CompletionResult | null => {
    if (state.doc.length > MAX_READ) return null;
    const found = completionsAt(state.doc.toString(), pos, values);
    if (!found) return null;
    const options = found.options.map(({ label, value, insert, caret }) => ({
      label,
      detail: value.sample === undefined ? typeOf(value) : shortText(value.sample, 40),
      apply(view: EditorView) {
        const changes = { from: found.from, to: Math.max(found.to, view.state.selection.main.head), insert };
        view.dispatch({ changes, selection: { anchor: found.from + caret }, userEvent: 'input.complete' });
      },
    }));
    // They are found anew by each key: they contain what is typed, and need not begin with it.
    return { from: found.from, options, filter: false };
  };
}

/** Marks parts of the text, with what is wrong with them as their titles. */
function marksOf(faultsOf: (state: EditorState) => readonly Fault[]): Extension {
  const draw = (state: EditorState): DecorationSet => {
    if (state.doc.length > MAX_READ) return Decoration.none;
    const marks = faultsOf(state).map(({ from, to, message }) =>
      Decoration.mark({ class: 'value-fault', attributes: { title: message } }).range(from, to),
    );
    return Decoration.set(marks, true);
  };
  return ViewPlugin.fromClass(
    class {
      decorations: DecorationSet;
      constructor({ state }: EditorView) {
        this.decorations = draw(state);
      }
      update({ docChanged, state, startState }: ViewUpdate) {
        // The parser may come later than the text.
        if (docChanged || syntaxTree(state) !== syntaxTree(startState)) this.decorations = draw(state);
      }
    },
    { decorations: (plugin) => plugin.decorations },
  );
}

const NAMED = /(?<![\w$.])(ctx|vars)(?:\?\.|\.)([A-Za-z_$][\w$]*)(?:(?:\?\.|\.)([A-Za-z_$][\w$]*)(?!\s*\())?/g;
const TEXTS = /String|Comment|RegExp/;

/** Names behind `ctx` and `vars` in JavaScript that are not there; of values in them, those of declared inputs alone. */
function faultsInCode(state: EditorState, values: Values): Fault[] {
  const tree = syntaxTree(state);
  return [...state.doc.toString().matchAll(NAMED)].flatMap(({ 0: all, 1: root = '', 2: name = '', 3: part, index }) => {
    if (TEXTS.test(tree.resolveInner(index, 1).name)) return [];
    const path = root === 'ctx' && name === 'input' && part !== undefined ? [root, name, part] : [root, name];
    const message = faultOfPath(path, values);
    return message === undefined ? [] : [{ from: index, to: index + all.length, message }];
  });
}
