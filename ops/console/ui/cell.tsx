import { Modal } from '@mantine/core';
import { useState } from 'react';
import { cellText } from './cell-text.ts';
import { JSONView } from './json.tsx';

/** Characters of a cell that are shown: its width has room for no more. */
export const MAX_CELL = 50;

/** A value of a row. The text `null` does not look like NULL. */
export function Cell({ name, value }: { name: string; value: unknown }) {
  if (value === null) return <span className="null">NULL</span>;
  const text = cellText(value);
  return text.length > MAX_CELL ? <CutCell name={name} value={value} text={text} /> : <bdi>{text}</bdi>;
}

function CutCell({ name, value, text }: { name: string; value: unknown; text: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" className="plain link cut-text" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <bdi>{text.slice(0, MAX_CELL)}</bdi> … ({text.length.toLocaleString()} characters)
      </button>
      {isOpen && (
        <Modal opened size="xl" title={name} onClose={() => setOpen(false)}>
          <JSONView value={value} label={`Value of ${name}`} />
        </Modal>
      )}
    </>
  );
}
