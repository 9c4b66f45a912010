import { closeCompletion } from '@codemirror/autocomplete';
import { EditorView } from '@codemirror/view';

const LEFT_MS = 10;

/** What the field does with what is typed, where the browser and CodeMirror would do otherwise. */
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

/** That of the browser may be newer. Of one that is longer than what is drawn, it knows the part that is. */
function selectedIn(view: EditorView): { from: number; to: number } {
  const { main } = view.state.selection;
  const selection = getSelection();
  if (!selection?.rangeCount) return main;
  const { startContainer, startOffset, endContainer, endOffset } = selection.getRangeAt(0);
  const from = view.posAtDOM(startContainer, startOffset);
  const to = view.posAtDOM(endContainer, endOffset);
  return main.from <= from && to <= main.to ? main : { from, to };
}
