import { Button, Checkbox } from '@mantine/core';
import type { MouseEvent } from 'react';
import { cellText } from '../../../ui/cell-text.ts';
import { valueIn } from './row-values.ts';
import { TypedCell } from './typed-cell.tsx';

type Row = Readonly<Record<string, unknown>>;

interface Column {
  key: string;
  label: string;
  type: string;
}

interface Props {
  row: Row;
  columns: readonly Column[];
  isChosen: boolean;
  /** Undefined: rows are not chosen here. Alone: in the place of those that were chosen before. */
  onChoose?: (row: Row, isChosen: boolean, isAlone?: boolean) => void;
  /** Undefined: rows are not edited here. */
  onEdit?: (row: Row) => void;
}

export function TableRow({ row, columns, isChosen, onChoose, onEdit }: Props) {
  const [first] = columns;
  const name = (first && cellText(row[first.key] ?? '').slice(0, 60)) || 'the row';
  const choose = (event: MouseEvent<HTMLTableRowElement>) => {
    if (!onChoose || !isOnRow(event)) return;
    const isMore = event.ctrlKey || event.metaKey || event.shiftKey;
    onChoose(row, isMore ? !isChosen : true, !isMore);
  };
  return (
    <tr data-selected={isChosen} data-chosen-by={onChoose && 'click'} onClick={choose}>
      {onChoose && (
        <td>
          <Checkbox
            size="xs"
            aria-label={`Choose ${name}`}
            checked={isChosen}
            onChange={({ currentTarget: { checked } }) => onChoose(row, checked)}
          />
        </td>
      )}
      {onEdit && (
        <td>
          <Button
            className="page-row-edit"
            size="compact-xs"
            variant="default"
            aria-label={`Edit ${name}`}
            onClick={() => onEdit(row)}
          >
            Edit
          </Button>
        </td>
      )}
      {columns.map(({ key, label, type }) => (
        <td key={key}>
          <TypedCell name={label} type={type} value={valueIn(row, key)} />
        </td>
      ))}
    </tr>
  );
}

/** Whether a click is meant for the row: it is on nothing that has one of its own, in no dialog of a cell, and ends no marking of a text. */
function isOnRow({ target, currentTarget }: MouseEvent<HTMLTableRowElement>): boolean {
  if (!(target instanceof Element) || !currentTarget.contains(target)) return false;
  if (target.closest('a, button, input, label, select, textarea, summary')) return false;
  return (window.getSelection()?.toString() ?? '') === '';
}
