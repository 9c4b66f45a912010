import './cell-field.css';
import { Button, Group, Select, Textarea, TextInput } from '@mantine/core';
import { JSONEditor } from '../ui/json-editor.tsx';
import { type CellKind, type Entry, isNeeded, isUsuallyNull, kindOf, type TableColumn, usualWords } from './cells.ts';

interface Props {
  column: TableColumn;
  /** Undefined: nothing was entered, so that a new row gets what is usual, and another one stays as it is. */
  entry: Entry;
  isNew: boolean;
  error: string | undefined;
  onChange: (entry: Entry) => void;
}

/** A field for one value of a row, by the type of its column. */
export function CellField({ column, entry, isNew, error, onChange }: Props) {
  const { databaseTableColumnName: name, databaseTableColumnType: type, isList, isNullable } = column;
  const kind = kindOf(column);
  const typeWords = `${type}${isList && !type.endsWith('[]') ? '[]' : ''}`;
  const isEntered = entry !== undefined && entry !== null;
  const field = {
    label: name,
    description: isNew ? `${typeWords}, ${usualWords(column)}` : typeWords,
    required: isNew && isNeeded(column),
    error,
    placeholder: entry === null ? 'null' : '',
  };
  return (
    <div className="cell-field">
      <Control {...{ kind, column, field }} text={isEntered ? entry : ''} onChange={onChange} />
      <Group gap={4} className="cell-field-buttons">
        {isNullable && entry !== null && !(isNew && isUsuallyNull(column)) && (
          <Button size="compact-xs" variant="default" aria-label={`Set ${name} to null`} onClick={() => onChange(null)}>
            Null
          </Button>
        )}
        {isNew && entry !== undefined && (
          <Button size="compact-xs" variant="default" aria-label={`Clear ${name}`} onClick={() => onChange(undefined)}>
            Clear
          </Button>
        )}
      </Group>
    </div>
  );
}

interface ControlProps {
  kind: CellKind;
  column: TableColumn;
  field: { label: string; description: string; required: boolean; error: string | undefined; placeholder: string };
  text: string;
  onChange: (entry: Entry) => void;
}

function Control({ kind, column: { enumValues, isNullable }, field, text, onChange }: ControlProps) {
  const type = (typed: string) => onChange(typed);
  // A field that cannot be an empty text has none when it is emptied.
  const choose = (typed: string) => onChange(typed === '' ? (isNullable ? null : undefined) : typed);
  const onInput = ({ currentTarget: { value } }: { currentTarget: { value: string } }) => choose(value);
  if (kind === 'boolean' || kind === 'enum')
    return (
      <Select
        {...field}
        withAsterisk={field.required}
        allowDeselect={false}
        data={kind === 'enum' ? [...(enumValues ?? [])] : [...booleans]}
        value={text === '' ? null : text}
        onChange={(next) => choose(next ?? '')}
      />
    );
  if (kind === 'json') return <JSONEditor {...field} minRows={2} maxRows={12} value={text} onChange={choose} />;
  if (kind === 'date') return <TextInput {...field} type="date" value={text.slice(0, 10)} onChange={onInput} />;
  if (kind === 'time') return <TimeField {...{ field, text, onInput }} onChange={choose} />;
  if (kind === 'number') return <TextInput {...field} inputMode="decimal" value={text} onChange={onInput} />;
  if (kind === 'other') return <TextInput {...field} value={text} onChange={onInput} />;
  return (
    <Textarea
      {...field}
      autosize
      minRows={1}
      maxRows={10}
      value={text}
      onChange={({ currentTarget: { value } }) => type(value)}
    />
  );
}

const booleans = [
  { value: 'true', label: 'true' },
  { value: 'false', label: 'false' },
];

interface TimeProps {
  field: ControlProps['field'];
  text: string;
  onInput: (event: { currentTarget: { value: string } }) => void;
  onChange: (typed: string) => void;
}

/** A moment as text, since a field of a browser has no microseconds; the present one by a click. */
function TimeField({ field, text, onInput, onChange }: TimeProps) {
  return (
    <Group gap="xs" align="end" wrap="nowrap">
      <TextInput
        {...field}
        description={`${field.description}; such as 2026-03-05 14:05:00+01`}
        flex={1}
        value={text}
        onChange={onInput}
      />
      <Button
        variant="default"
        aria-label={`Set ${field.label} to now`}
        onClick={() => onChange(new Date().toISOString())}
      >
        Now
      </Button>
    </Group>
  );
}
