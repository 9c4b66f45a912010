import { Button, Checkbox } from '@mantine/core';
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
  /** Undefined: rows are not chosen here. */
  onChoose?: (row: Row, isChosen: boolean) => void;
  /** Undefined: rows are not edited here. */
  onEdit?: (row: Row) => void;
}

export function TableRow({ row, columns, isChosen, onChoose, onEdit }: Props) {
  const [first] = columns;
  const name = (first && cellText(row[first.key] ?? '').slice(0, 60)) || 'the row';
  return (
    <tr data-selected={isChosen}>
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
