import { closeCompletion } from '@codemirror/autocomplete';
import { EditorView } from '@codemirror/view';

const LEFT_MS = 10;

/** Handles typing where the browser and CodeMirror would do otherwise. */
export const typing = EditorView.domEventHandlers({
  /**
   * The browser would keep the colours of a selection that is typed over, in an element with a style of its own. The policy of the
   * console refuses those.
   */
  beforeinput(event, view) {
    if (event.inputType !== 'insertText' || !event.data || view.composing) return false;
    const { from, to } = selectedIn(view);
    if (from === to) return false;
    const end = from + event.data.length;
    view.dispatch({
      ...{ changes: { from, to, insert: event.data }, selection: { anchor: end } },
      ...{ userEvent: 'input.type', scrollIntoView: true },
    });
    return true;
  },
  /** Completions that are still looked for would open in a field that has been left. */
  blur(_, view) {
    setTimeout(() => !view.hasFocus && closeCompletion(view), LEFT_MS);
  },
});

/** The browser's selection may be newer. In a text longer than the drawn part it covers only that part. */
function selectedIn(view: EditorView): { from: number; to: number } {
  const { main } = view.state.selection;
  const selection = getSelection();
  if (!selection?.rangeCount) return main;
  const { startContainer, startOffset, endContainer, endOffset } = selection.getRangeAt(0);
  const from = view.posAtDOM(startContainer, startOffset);
  const to = view.posAtDOM(endContainer, endOffset);
  return main.from <= from && to <= main.to ? main : { from, to };
}
