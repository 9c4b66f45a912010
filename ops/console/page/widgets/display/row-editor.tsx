import { Button, Checkbox, Group, Modal, Stack, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { cellText } from '../../../ui/cell-text.ts';
import { Notice } from '../../../ui/notice.tsx';
import { usePage } from '../page-context.ts';
import { changesOf, type FieldKind, kindOfField, valueIn } from './row-values.ts';

type Row = Readonly<Record<string, unknown>>;

interface Props {
  widgetKey: string;
  columns: readonly { key: string; label: string; type: string }[];
  row: Row;
  onClose: () => void;
}

/** The values of a row to change. It stays open, with what was entered, if what saves them fails. */
export function RowEditor({ widgetKey, columns, row, onClose }: Props) {
  const page = usePage();
  const [entered, setEntered] = useState<Row>({});
  const [faults, setFaults] = useState<Readonly<Record<string, string>>>({});
  const [state, setState] = useState<'open' | 'saving' | 'refused'>('open');
  const isSaving = state === 'saving';
  const save = async (event: FormEvent) => {
    event.preventDefault();
    // React would send it to a form around the table, too.
    event.stopPropagation();
    if (isSaving) return;
    const { changes, faults: found } = changesOf(row, columns, entered);
    setFaults(found);
    if (Object.keys(found).length > 0) return;
    if (Object.keys(changes).length === 0) return onClose();
    setState('saving');
    const isDone = await page.fire(widgetKey, 'onRowSave', { row: { ...row, ...changes }, before: row, changes });
    if (isDone) onClose();
    else setState('refused');
  };
  // Another row could not be saved meanwhile, and a question of an action is closed by Escape as well.
  const close = () => !isSaving && onClose();
  return (
    <Modal opened onClose={close} title="Edit the row" closeOnClickOutside={false}>
      <form noValidate aria-label="Edit the row" onSubmit={(event) => void save(event)}>
        <Stack gap="sm">
          {columns.map((column, at) => {
            const { key, label } = column;
            return (
              <Field
                key={key}
                {...{ label, isFirst: at === 0 }}
                kind={kindOfField(row, column)}
                value={Object.hasOwn(entered, key) ? entered[key] : valueIn(row, key)}
                error={Object.hasOwn(faults, key) ? faults[key] : undefined}
                onChange={(value) => setEntered((before) => ({ ...before, [key]: value }))}
              />
            );
          })}
          {state === 'refused' && (
            <Notice tone="bad" role="alert">
              This is not saved. What you have entered is still here.
            </Notice>
          )}
          <Group justify="flex-end">
            <Button variant="default" disabled={isSaving} onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={isSaving}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

interface FieldProps {
  label: string;
  kind: FieldKind;
  isFirst: boolean;
  value: unknown;
  error: string | undefined;
  onChange: (value: unknown) => void;
}

function Field({ label, kind, isFirst, value, error, onChange }: FieldProps) {
  const shared = { label, error, 'data-autofocus': isFirst || undefined };
  if (kind === 'boolean')
    return (
      <Checkbox
        {...shared}
        checked={value === true || value === 'true'}
        onChange={({ currentTarget: { checked } }) => onChange(checked)}
      />
    );
  const typed = {
    ...shared,
    value: cellText(value ?? ''),
    onChange: ({ currentTarget }: { currentTarget: { value: string } }) => onChange(currentTarget.value),
  };
  if (kind === 'lines') return <Textarea {...typed} autosize minRows={2} maxRows={12} />;
  if (kind === 'number') return <TextInput {...typed} inputMode="decimal" />;
  if (kind === 'day') return <TextInput {...typed} type="date" />;
  return <TextInput {...typed} disabled={kind === 'none'} />;
}
