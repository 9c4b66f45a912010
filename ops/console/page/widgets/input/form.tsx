import { Button, Checkbox, Group, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { isObject } from '../../../ui/is-object.ts';
import { flag, number, type Properties, text, useExposed, usePage, type WidgetProps } from '../page-context.ts';
import { optionsOf } from './use-input.ts';

type Values = Readonly<Record<string, unknown>>;

/** Fields that are sent together: `event.values` in the actions of `onSubmit`. */
export function FormWidget({ widgetKey, title, properties }: WidgetProps) {
  const page = usePage();
  const [faults, setFaults] = useState<Values>({});
  const [isBusy, setBusy] = useState(false);
  const exposed = useExposed(page, widgetKey).values;
  const values = isObject(exposed) ? exposed : {};
  const fields = Array.isArray(properties.fields) ? properties.fields.filter(isObject) : [];
  const change = (key: string, value: unknown) => {
    const next = { ...values, [key]: value };
    page.enter(widgetKey, { values: next });
    setFaults(({ [key]: _, ...others }) => others);
    void page.fire(widgetKey, 'onFieldChange', { key, value, values: next });
  };
  const send = async (event: FormEvent) => {
    event.preventDefault();
    const found = faultsIn(fields, values);
    setFaults(found);
    if (Object.keys(found).length > 0) return;
    setBusy(true);
    try {
      const isSent = await page.fire(widgetKey, 'onSubmit', { values: valuesToSend(fields, values) });
      if (isSent && flag(properties.isReset)) page.clear(widgetKey);
    } finally {
      setBusy(false);
    }
  };
  return (
    <form noValidate aria-label={title} onSubmit={(event) => void send(event)}>
      <Stack gap="sm">
        {fields.map((field) => {
          const key = text(field.key);
          return (
            <Field
              key={key}
              field={field}
              value={Object.hasOwn(values, key) ? values[key] : undefined}
              error={Object.hasOwn(faults, key) ? faults[key] : undefined}
              onChange={(value) => change(key, value)}
            />
          );
        })}
        <Group>
          <Button type="submit" loading={isBusy}>
            <bdi>{text(properties.submitLabel, 'Send')}</bdi>
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

interface FieldProps {
  field: Properties;
  value: unknown;
  error: unknown;
  onChange: (value: unknown) => void;
}

function Field({ field, value, error, onChange }: FieldProps) {
  const shared = {
    label: text(field.label, text(field.key)),
    required: flag(field.isRequired),
    error: text(error) || undefined,
  };
  const typed = {
    ...shared,
    value: text(value),
    onChange: ({ currentTarget: { value: words } }: { currentTarget: { value: string } }) => onChange(words),
  };
  switch (field.type) {
    case 'checkbox':
      return (
        <Checkbox
          {...shared}
          checked={value === true}
          onChange={({ currentTarget: { checked } }) => onChange(checked)}
        />
      );
    case 'select': {
      const { options, givenValue } = optionsOf(field);
      const chosen = value === null || value === undefined ? null : text(value);
      return (
        <Select
          {...shared}
          data={options}
          value={chosen}
          onChange={(key) => onChange(key === null ? null : givenValue(key))}
        />
      );
    }
    case 'textarea':
      return <Textarea {...typed} autosize minRows={3} maxRows={12} />;
    case 'number':
      return <TextInput {...typed} inputMode="decimal" />;
    case 'date':
      return <TextInput {...typed} type="date" />;
    default:
      return <TextInput {...typed} />;
  }
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || value === '' || value === false;
}

function faultsIn(fields: readonly Properties[], values: Values): Values {
  const faults = fields.flatMap(({ key, type, isRequired }): [string, string][] => {
    const value = Object.hasOwn(values, text(key)) ? values[text(key)] : undefined;
    if (isEmpty(value)) return flag(isRequired) ? [[text(key), 'is required']] : [];
    return type === 'number' && number(value) === undefined ? [[text(key), 'is not a number']] : [];
  });
  return Object.fromEntries(faults);
}

/** Numbers as numbers; what was left empty as null, but for an empty text that the field has begun with. */
function valuesToSend(fields: readonly Properties[], values: Values): Values {
  const entries = fields.map(({ key, type, defaultValue }) => {
    const value = Object.hasOwn(values, text(key)) ? values[text(key)] : undefined;
    if (type === 'checkbox') return [text(key), value === true];
    if (isEmpty(value)) return [text(key), value === '' && defaultValue === '' ? '' : null];
    return [text(key), type === 'number' ? (number(value) ?? value) : value];
  });
  return Object.fromEntries(entries);
}
