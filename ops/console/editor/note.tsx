import { type Node, type NodeProps, NodeResizeControl } from '@xyflow/react';
import { useEffect, useState } from 'react';
import type { Point } from '../graph/shown.ts';
import { Icon } from '../ui/icon.tsx';
import type { Draft, Note } from './draft.ts';

type Change = (change: (draft: Draft) => Draft) => void;

interface Shown extends Record<string, unknown> {
  note: Note;
  isReadOnly: boolean;
  onChange: Change;
}
export type NoteNode = Node<Shown, 'note'>;

interface Parts {
  position: Point;
  isSelected: boolean;
  isReadOnly: boolean;
  onChange: Change;
}

export function noteNode(note: Note, { position, isSelected, ...shown }: Parts): NoteNode {
  const { id, width, height } = note;
  return {
    ...{ id, type: 'note', position, selected: isSelected, data: { note, ...shown } },
    ...{ width, height, measured: { width, height }, connectable: false, zIndex: -1 },
    ariaLabel: `Note: ${note.text || 'empty'}`,
  };
}

/** A text beside the steps. It is moved by its head, and written in like a field. */
export function CanvasNote({ data: { note, isReadOnly, onChange } }: NodeProps<NoteNode>) {
  const [text, setText] = useState(note.text);
  useEffect(() => setText(note.text), [note.text]);
  const set = (part: Partial<Note>) => onChange((old) => withNotePart(old, note.id, part));
  return (
    <div className="canvas-note">
      <header>
        Note
        {!isReadOnly && (
          <button
            type="button"
            className="add-here nodrag"
            tabIndex={-1}
            aria-label="Remove the note"
            onClick={() => onChange((old) => ({ ...old, notes: old.notes.filter(({ id }) => id !== note.id) }))}
          >
            <Icon name="cross" size={12} />
          </button>
        )}
      </header>
      <textarea
        className="nodrag nowheel"
        aria-label="Text of the note"
        readOnly={isReadOnly}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onBlur={() => text !== note.text && set({ text })}
      />
      {!isReadOnly && <NodeResizeControl minWidth={120} minHeight={70} />}
    </div>
  );
}

export function withNotePart(draft: Draft, id: string, part: Partial<Note>): Draft {
  return { ...draft, notes: draft.notes.map((note) => (note.id === id ? { ...note, ...part } : note)) };
}

export function withNotePositions(draft: Draft, moved: ReadonlyMap<string, Point>): Draft {
  if (!draft.notes.some(({ id }) => moved.has(id))) return draft;
  const notes = draft.notes.map((note) => ({ ...note, position: moved.get(note.id) ?? note.position }));
  return { ...draft, notes };
}
