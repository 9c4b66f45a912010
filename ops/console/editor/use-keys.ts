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

function actionOf({
  key,
  ctrlKey,
  metaKey,
  target,
}: KeyboardEvent): keyof Omit<StepActions, 'copy' | 'paste'> | undefined {
  const letter = key.toLowerCase();
  if (ctrlKey || metaKey) {
    if (letter === 'd') return 'duplicate';
    return letter === 'a' && isInStudio(target) ? 'selectAll' : undefined;
  }
  if (!isInStudio(target)) return undefined;
  if (key === 'Delete' || key === 'Backspace') return 'remove';
  if (!hasSingleKeys()) return undefined;
  return { a: 'add', d: 'toggleDisabled', n: 'addNote' }[letter] as 'add' | 'toggleDisabled' | 'addNote' | undefined;
}

function isInStudio(target: EventTarget | null): boolean {
  return target === document.body || (target instanceof Element && target.closest('.studio') !== null);
}
