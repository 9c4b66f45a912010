import { useEffect, useRef } from 'react';
import { hasSingleKeys } from '../shell/single-keys.ts';
import { isTyping } from '../ui/typing.ts';

export interface StepActions {
  copy: () => string | undefined;
  paste: (text: string) => void;
  remove: () => void;
  duplicate: () => void;
  selectAll: () => void;
  toggleDisabled: () => void;
  add: () => void;
  addNote: () => void;
  /** Goes from a step that is chosen to its panel. */
  openPanel: () => void;
  /** Goes back from the panel to the step. */
  closePanel: () => void;
}

/** Keys of the editor, outside of fields and dialogs; single keys only while the focus is in the graph or the list of its steps. */
export function useKeys(actions: StepActions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const isFree = (target: EventTarget | null) => !isTyping(target) && !document.querySelector('[role="dialog"]');
    const onKey = (event: KeyboardEvent) => {
      if (!isFree(event.target) || event.altKey) return;
      const act = actionOf(event);
      if (!act) return;
      event.preventDefault();
      latest.current[act]();
    };
    const onCopy = (event: ClipboardEvent) => {
      // A text that is marked is what is copied.
      if (!isFree(event.target) || !document.getSelection()?.isCollapsed) return;
      const text = latest.current.copy();
      if (text === undefined) return;
      event.preventDefault();
      event.clipboardData?.setData('text/plain', text);
      if (event.type === 'cut') latest.current.remove();
    };
    const onPaste = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData('text/plain');
      if (!text || !isFree(event.target)) return;
      event.preventDefault();
      latest.current.paste(text);
    };
    document.addEventListener('keydown', onKey);
    document.addEventListener('copy', onCopy);
    document.addEventListener('cut', onCopy);
    document.addEventListener('paste', onPaste);
    return () => {
      document.removeEventListener('keydown', onKey);
      document.removeEventListener('copy', onCopy);
      document.removeEventListener('cut', onCopy);
      document.removeEventListener('paste', onPaste);
    };
  }, []);
}

type Action = keyof Omit<StepActions, 'copy' | 'paste'>;

function actionOf(event: KeyboardEvent): Action | undefined {
  const { key, ctrlKey, metaKey, target } = event;
  const letter = key.toLowerCase();
  if (ctrlKey || metaKey) {
    if (letter === 'd') return 'duplicate';
    return letter === 'a' && isInStudio(target) ? 'selectAll' : undefined;
  }
  if (!isInStudio(target)) return undefined;
  return withoutLetters(event) ?? (hasSingleKeys() ? single[letter] : undefined);
}

const single: Readonly<Record<string, Action>> = { a: 'add', d: 'toggleDisabled', n: 'addNote' };

function withoutLetters({ key, target }: KeyboardEvent): Action | undefined {
  if (key === 'Delete' || key === 'Backspace') return 'remove';
  if (key === 'Enter') return isNode(target) ? 'openPanel' : undefined;
  return key === 'Escape' && isIn(target, '.studio-panel') ? 'closePanel' : undefined;
}

/** A node of the graph itself, and no button on it. */
function isNode(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches('.react-flow__node');
}

function isInStudio(target: EventTarget | null): boolean {
  return target === document.body || isIn(target, '.studio');
}

function isIn(target: EventTarget | null, selector: string): boolean {
  return target instanceof Element && target.closest(selector) !== null;
}
