import type { Point } from '../graph/shown.ts';
import { type Draft, firstFree, NOTE, type Note } from './draft.ts';

/** Adds an empty note, and returns its id. */
export function withNote(draft: Draft, position: Point): [Draft, string] {
  const ids = draft.notes.map((note) => note.id);
  const id = firstFree(ids, (number) => `note-${number}`);
  return [{ ...draft, notes: [...draft.notes, { id, text: '', position, ...NOTE }] }, id];
}

export function withoutNotes(draft: Draft, ids: ReadonlySet<string>): Draft {
  const notes = draft.notes.filter(({ id }) => !ids.has(id));
  return notes.length === draft.notes.length ? draft : { ...draft, notes };
}

export function withNotePart(draft: Draft, id: string, part: Partial<Note>): Draft {
  return { ...draft, notes: draft.notes.map((note) => (note.id === id ? { ...note, ...part } : note)) };
}

export function withNotePositions(draft: Draft, moved: ReadonlyMap<string, Point>): Draft {
  if (!draft.notes.some(({ id }) => moved.has(id))) return draft;
  const notes = draft.notes.map((note) => ({ ...note, position: moved.get(note.id) ?? note.position }));
  return { ...draft, notes };
}
