import { Button, Group } from '@mantine/core';
import { useCallback, useEffect, useReducer } from 'react';
import { isTyping } from '../ui/typing.ts';
import { beginHistory, type HistoryAction, historyReducer } from './undo.ts';

/** A value whose changes can be taken back and done again: by buttons, and by keys outside of fields, which have their own. */
export function useUndo<T>(initial: () => T) {
  const [history, dispatch] = useReducer(historyReducer<T>, undefined, () => beginHistory(initial()));
  const change = useCallback(
    (next: (now: T) => T, what?: string) => dispatch({ type: 'change', next, at: Date.now(), what }),
    [],
  );
  /** Another value, behind which no step leads back. */
  const restart = useCallback((next: T) => dispatch({ type: 'restart', now: next }), []);
  /** A change that no field has made, as of a proposal. */
  const put = useCallback(
    (next: (now: T) => T, what?: string) => dispatch({ type: 'change', next, at: Date.now(), what, isAnew: true }),
    [],
  );
  const move = useCallback((type: HistoryAction<T>['type'] & ('undo' | 'redo')) => dispatch({ type }), []);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || isTyping(event.target)) return;
      const key = event.key.toLowerCase();
      if (key !== 'z' && key !== 'y') return;
      event.preventDefault();
      move(key === 'y' || event.shiftKey ? 'redo' : 'undo');
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [move]);
  const { now, past, future, moves } = history;
  const steps = { move, canUndo: past.length > 0, canRedo: future.length > 0 };
  return { value: now, change, put, restart, moves, undo: steps };
}

export interface UndoMoves {
  move: (type: 'undo' | 'redo') => void;
  canUndo: boolean;
  canRedo: boolean;
}

export function UndoButtons({ move, canUndo, canRedo }: UndoMoves) {
  return (
    <Group gap={4} wrap="nowrap">
      <Button size="xs" variant="default" title="Ctrl Z" disabled={!canUndo} onClick={() => move('undo')}>
        Undo
      </Button>
      <Button size="xs" variant="default" title="Ctrl Shift Z" disabled={!canRedo} onClick={() => move('redo')}>
        Redo
      </Button>
    </Group>
  );
}
