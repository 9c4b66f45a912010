import { expect, test } from 'vitest';
import { beginHistory, type History, type HistoryAction, historyReducer } from '#ops/console/editor/undo.ts';

function after<T>(initial: T, ...actions: HistoryAction<T>[]): History<T> {
  return actions.reduce((history, action) => historyReducer(history, action), beginHistory(initial));
}

const to = (now: string, at: number, what?: string): HistoryAction<string> => ({
  ...{ type: 'change', next: () => now, at },
  what,
});
const undo = { type: 'undo' } as const;
const redo = { type: 'redo' } as const;

test('what is typed without a pause is taken back as a whole, and done again', () => {
  const typed = [to('a', 1_000, 'x'), to('ab', 1_200, 'x'), to('abc', 1_500, 'x'), to('abc d', 9_000, 'x')];

  expect(after('', ...typed, undo).now).toBe('abc');
  expect(after('', ...typed, undo, undo).now).toBe('');
  expect(after('', ...typed, undo, undo, undo).now).toBe('');
  expect(after('', ...typed, undo, undo, redo).now).toBe('abc');
});

test('changes of two things are two steps, however close', () => {
  expect(after('', to('a', 1_000, 'x'), to('b', 1_010, 'y'), undo).now).toBe('a');
  expect(after('', to('a', 1_000), to('b', 1_010), undo).now).toBe('a');
});

test('the first value is the same object again, so that nothing is unsaved', () => {
  const saved = { nodes: [] };
  const changed: HistoryAction<object> = { type: 'change', next: () => ({ nodes: [] }), at: 1 };

  expect(after<object>(saved, changed, undo).now).toBe(saved);
});

test('a change after something was taken back ends what could be done again, and is a step of its own', () => {
  const history = after('', to('a', 1_000, 'x'), to('b', 9_000, 'x'), undo, to('c', 9_100, 'x'));

  expect(history).toMatchObject({ now: 'c', future: [], past: ['', 'a'] });
  expect(historyReducer(history, redo)).toBe(history);
});

test('a change that changes nothing is no step, and fields begin anew only when no field has changed it', () => {
  const same: HistoryAction<string> = { type: 'change', next: (now) => now, at: 9_000 };

  expect(after('', to('a', 1), same).past).toEqual(['']);
  expect(after('', to('a', 1)).moves).toBe(0);
  expect(after('', to('a', 1), undo).moves).toBe(1);
  expect(after('', { ...to('a', 1), isAnew: true } as HistoryAction<string>).moves).toBe(1);
});
