import { useEffect, useRef } from 'react';
import { hasSingleKeys } from '../shell/single-keys.ts';
import { isTyping } from '../ui/typing.ts';
import type { Move } from './parts.ts';
import type { PartActions } from './use-part-actions.ts';

interface Keys {
  actions: PartActions;
  isOff: boolean;
  onAdd: () => void;
  onSave: () => void;
  /** Chooses the part around the one that is chosen, and at last none. */
  onLeave: () => void;
}

const arrows: Readonly<Record<string, Move>> = {
  ArrowUp: 'before',
  ArrowDown: 'after',
  ArrowRight: 'into',
  ArrowLeft: 'out',
};

/** Keys of the builder, outside of fields and dialogs; those that change parts only on the page and in the list of its parts. */
export function useBuilderKeys(keys: Keys): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const isFree = (target: EventTarget | null) =>
      !latest.current.isOff && !isTyping(target) && !document.querySelector('[role="dialog"]');
    const onKey = (event: KeyboardEvent) => {
      if (isSaving(event)) {
        event.preventDefault();
        latest.current.onSave();
        return;
      }
      if (!isFree(event.target) || !isOnPage(event.target)) return;
      const act = actOf(event, latest.current);
      if (!act) return;
      event.preventDefault();
      act();
    };
    const onCopy = (event: ClipboardEvent) => {
      // A text that is marked is what is copied.
      if (!isFree(event.target) || !document.getSelection()?.isCollapsed) return;
      const text = latest.current.actions.copied();
      if (text === undefined) return;
      event.preventDefault();
      event.clipboardData?.setData('text/plain', text);
      if (event.type === 'cut') latest.current.actions.remove();
    };
    const onPaste = (event: ClipboardEvent) => {
      const text = event.clipboardData?.getData('text/plain');
      if (!text || !isFree(event.target)) return;
      event.preventDefault();
      latest.current.actions.paste(text);
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

function isSaving({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return key.toLowerCase() === 's' && (ctrlKey || metaKey) && !altKey;
}

function actOf(event: KeyboardEvent, { actions, onAdd, onLeave }: Keys): (() => void) | undefined {
  const { key, altKey, shiftKey, ctrlKey, metaKey } = event;
  const move = arrows[key];
  if (altKey && move) return () => (shiftKey ? actions.resize(move) : actions.move(move));
  if (altKey) return undefined;
  const letter = key.toLowerCase();
  if (ctrlKey || metaKey) return letter === 'd' ? actions.duplicate : undefined;
  if (key === 'Delete' || key === 'Backspace') return actions.remove;
  if (key === 'Escape') return onLeave;
  return letter === 'a' && hasSingleKeys() ? onAdd : undefined;
}

function isOnPage(target: EventTarget | null): boolean {
  return (
    target === document.body || (target instanceof Element && target.closest('.builder-page, .builder-tree') !== null)
  );
}
