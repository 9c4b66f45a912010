/** Texts that the console keeps in the browser. */
import { expect, test } from 'vitest';
import { keep } from '#ops/console/client/keep.ts';
import { draftOf } from '#ops/console/editor/draft.ts';
import { dropDraft, keepDraft, storedDraft } from '#ops/console/editor/stored-draft.ts';

test('a text that the browser refuses to keep is forgotten, and the page goes on', () => {
  const stored = new Map<string, string>();
  const storage = {
    setItem(key: string, text: string) {
      if (text.length > 3) throw new DOMException('full', 'QuotaExceededError');
      stored.set(key, text);
    },
  } as unknown as Storage;

  keep('short', 'abc', storage);
  expect(() => keep('long', 'abcd', storage)).not.toThrow();

  expect(Object.fromEntries(stored)).toEqual({ short: 'abc' });
});

/** A storage as browsers have it: its keys are its own properties. */
function aStorage(): Storage {
  const methods = {
    getItem: (key: string) => stored[key] ?? null,
    setItem(key: string, text: string) {
      stored[key] = text;
    },
    removeItem(key: string) {
      Reflect.deleteProperty(stored, key);
    },
  };
  const stored: Record<string, string> = Object.create(methods);
  return stored as unknown as Storage;
}

test('drafts that are not saved are kept within bounds: the oldest goes first, and a large one is not kept', () => {
  const store = aStorage();
  const workflow = (id: string) => ({ id, title: 'T', workflowNodes: [], workflowEdges: [] }) as never;
  const draft = { ...draftOf({ workflowNodes: [], workflowEdges: [] }), options: { note: 'changed' } };
  for (let at = 1; at <= 20; at += 1) keepDraft(`w${at}`, { at, versionNumber: 1, title: 'T', draft }, store);
  const stored = () =>
    Array.from({ length: 20 }, (_, at) => `w${at + 1}`).filter((id) => storedDraft(workflow(id), store));
  expect(stored()).toEqual(['w13', 'w14', 'w15', 'w16', 'w17', 'w18', 'w19', 'w20']);

  const large = { ...draft, options: { note: 'x'.repeat(500_000) } };
  keepDraft('w20', { at: 21, versionNumber: 1, title: 'T', draft: large }, store);
  dropDraft('w19', store);
  expect(stored()).toEqual(['w13', 'w14', 'w15', 'w16', 'w17', 'w18']);
  const same = draftOf({ workflowNodes: [], workflowEdges: [] });
  keepDraft('w1', { at: 22, versionNumber: 1, title: 'T', draft: same }, store);
  expect(stored()).not.toContain('w1');
});
