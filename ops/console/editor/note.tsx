import type { Node, NodeProps } from '@xyflow/react';
import { useEffect, useState } from 'react';
import type { Point } from '../graph/shown.ts';
import { Icon } from '../ui/icon.tsx';
import type { Draft, Note } from './draft.ts';
import { withNotePart, withoutNotes } from './notes.ts';

/** The height of the head of a note. */
const HEAD = 26;

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

/** A text beside the steps. It is moved by its head, written in like a field, and made larger at its corner. */
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
            onClick={() => onChange((old) => withoutNotes(old, new Set([note.id])))}
          >
            <Icon name="cross" size={12} />
          </button>
        )}
      </header>
      <textarea
        className="nodrag nowheel"
        aria-label="Text of the note"
        readOnly={isReadOnly}
        style={{ width: note.width, height: note.height - HEAD }}
        onPointerUp={({ currentTarget: { offsetWidth: width, offsetHeight } }) => {
          const height = offsetHeight + HEAD;
          if (width !== note.width || height !== note.height) set({ width, height });
        }}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        onBlur={() => text !== note.text && set({ text })}
      />
    </div>
  );
}
