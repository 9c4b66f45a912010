import { Checkbox, Fieldset, MultiSelect, PasswordInput, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { Notice } from './notice.tsx';
import { isObject, type Layout, partOf, type Schema, schemaAt, shows, valueAt, withValueAt } from './schema-parts.ts';

interface Props {
  schema: Schema;
  uischema: Layout;
  value: Readonly<Record<string, unknown>>;
  onChange: (value: Readonly<Record<string, unknown>>) => void;
  /** Faults by the path of their field, its parts joined by dots. */
  faults?: ReadonlyMap<string, string>;
}

/** A form as the API describes it: JSON Schema of the value, and JSONForms for the layout. */
export function SchemaForm({ uischema, ...form }: Props) {
  return <Elements elements={uischema.elements ?? []} {...form} />;
}

function Elements({ elements, ...form }: Omit<Props, 'uischema'> & { elements: readonly Layout[] }) {
  return (
    <Stack gap="sm">
      {elements
        .filter((element) => shows(element, form.schema, form.value))
        .map((element) => (
          <Element key={element.scope ?? element.label} element={element} {...form} />
        ))}
    </Stack>
  );
}

function Element({ element, ...form }: Omit<Props, 'uischema'> & { element: Layout }) {
  const { type, label, elements = [], scope, options } = element;
  if (elements.length > 0) {
    if (type !== 'Group') return <Elements elements={elements} {...form} />;
    return (
      <details className="group">
        <summary>{label}</summary>
        <Fieldset variant="unstyled" aria-label={label}>
          <Elements elements={elements} {...form} />
        </Fieldset>
      </details>
    );
  }
  if (!scope) return null;
  const path = partOf(scope);
  const schema = schemaAt(form.schema, path);
  const fault = form.faults?.get(path.join('.'));
  return (
    <Control
      schema={schema}
      name={path.at(-1) ?? ''}
      isSecret={options?.format === 'password'}
      isMulti={options?.multi === true}
      isRequired={form.schema.required?.includes(path[0] ?? '') === true && path.length === 1}
      value={valueAt(form.value, path)}
      onChange={(value) => form.onChange(withValueAt(form.value, path, value))}
      {...(fault !== undefined && { fault })}
    />
  );
}

interface ControlProps {
  schema: Schema;
  name: string;
  isSecret: boolean;
  isMulti: boolean;
  isRequired: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
  fault?: string;
}

function Control({ schema, name, isSecret, isMulti, isRequired, value, onChange, fault }: ControlProps) {
  const { type, title = name, description } = schema;
  const initial = schema.default;
  const shared = { label: title, description, error: fault, required: isRequired };
  const hint = typeof initial === 'object' ? '' : String(initial ?? '');
  if (type === 'boolean')
    return (
      <Checkbox
        label={title}
        description={description}
        error={fault}
        checked={(value ?? initial) === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  if (Array.isArray(schema.enum))
    return (
      <Select
        {...shared}
        placeholder={hint}
        data={schema.enum.map(String)}
        value={typeof value === 'string' ? value : null}
        clearable={!isRequired}
        clearButtonProps={{ 'aria-label': `Clear ${title}` }}
        onChange={(chosen) => onChange(chosen ?? undefined)}
      />
    );
  if (type === 'array' && Array.isArray(schema.items?.enum))
    return (
      <MultiSelect
        {...shared}
        data={schema.items.enum.map(String)}
        value={Array.isArray(value) ? value.map(String) : []}
        onChange={(chosen) => onChange(chosen.length > 0 ? chosen : undefined)}
      />
    );
  if (!['string', 'number', 'integer'].includes(String(type)))
    return <JSONControl {...shared} value={value} onChange={onChange} />;
  return (
    <TextControl
      {...shared}
      isNumber={type !== 'string'}
      value={value}
      onChange={onChange}
      {...{ hint, isSecret, isMulti }}
    />
  );
}

interface TextControlProps extends JSONControlProps {
  hint: string;
  isNumber: boolean;
  isSecret: boolean;
  isMulti: boolean;
}

/** A number may be the template of one, which is a text. */
function TextControl({ hint, isNumber, isSecret, isMulti, value, onChange, ...shared }: TextControlProps) {
  const text = value === undefined || value === null ? '' : String(value);
  const change = (typed: string) => onChange(typed === '' ? undefined : isNumber ? numberOf(typed) : typed);
  const input = {
    ...{ ...shared, placeholder: hint, value: text },
    onChange: (event: { currentTarget: { value: string } }) => change(event.currentTarget.value),
  };
  if (isSecret) return <PasswordInput {...input} autoComplete="off" />;
  if (isMulti || text.includes('\n')) return <Textarea {...input} autosize minRows={4} maxRows={20} className="code" />;
  return <TextInput {...input} {...(isNumber && { inputMode: 'decimal' as const })} />;
}

function numberOf(typed: string): unknown {
  return /^-?\d+(\.\d+)?$/.test(typed) ? Number(typed) : typed;
}

interface JSONControlProps {
  label: string;
  description: string | undefined;
  error: string | undefined;
  required: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}

/** Text that is not JSON is a text, which may be a template; a list or an object that does not parse is told, and not taken over. */
function JSONControl({ value, onChange, error, ...shared }: JSONControlProps) {
  const [text, setText] = useState(() => written(value));
  const [problem, setProblem] = useState<string>();
  const change = (typed: string) => {
    setText(typed);
    setProblem(undefined);
    if (typed.trim() === '') return onChange(undefined);
    try {
      onChange(JSON.parse(typed));
    } catch (failure) {
      if (/^\s*[[{](?!\{)/.test(typed)) setProblem((failure as Error).message);
      else onChange(typed);
    }
  };
  return (
    <Textarea
      {...shared}
      autosize
      minRows={isObject(value) || Array.isArray(value) ? 3 : 1}
      maxRows={16}
      className="code"
      error={problem ?? error}
      value={text}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}

function written(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' && !isJSON(value) ? value : JSON.stringify(value, null, 2);
}

function isJSON(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Faults that belong to no field of the form. */
export function OtherFaults({ faults }: { faults: readonly string[] }) {
  if (faults.length === 0) return null;
  return (
    <Notice tone="bad" role="alert">
      {faults.join('\n')}
    </Notice>
  );
}
