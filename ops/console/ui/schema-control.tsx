import {
  Button,
  Checkbox,
  Fieldset,
  Group,
  MultiSelect,
  PasswordInput,
  Select,
  Stack,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useState } from 'react';
import type { CodeLanguage } from '../code/language.ts';
import { CodeEditor } from './code-editor.tsx';
import { isObject, type Schema } from './schema-parts.ts';

export interface Choice {
  value: string;
  label: string;
}

interface ControlProps {
  schema: Schema;
  name: string;
  isSecret: boolean;
  isMulti: boolean;
  /** Of what is written in the field. */
  language?: CodeLanguage | undefined;
  isRequired: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
  fault?: string;
  choices?: readonly Choice[];
}

export function Control(control: ControlProps) {
  const { schema, value, choices, onChange } = control;
  const { type, items } = schema;
  const shared = { ...sharedOf(control), value, onChange };
  if (type === 'boolean') return <CheckControl {...control} />;
  // A template is a text, and no choice.
  if (choices && isAmong(choices, value)) return <ChoiceControl {...control} data={choices} />;
  if (Array.isArray(schema.enum)) return <ChoiceControl {...control} data={schema.enum.map(String)} />;
  if (type === 'array' && items && (value === undefined || Array.isArray(value))) {
    if (Array.isArray(items.enum)) return <ManyControl {...control} data={items.enum.map(String)} />;
    if (items.type === 'string') return <LinesControl {...shared} />;
    if (isFlat(items)) return <ListControl {...shared} items={items} />;
  }
  if (!['string', 'number', 'integer'].includes(String(type)))
    return <JSONControl {...shared} isCode={control.language === 'json' || type === 'array'} />;
  const { isSecret, isMulti, language } = control;
  return (
    <TextControl {...shared} isNumber={type !== 'string'} hint={hintOf(schema)} {...{ isSecret, isMulti, language }} />
  );
}

function sharedOf({ schema: { title, description }, name, fault, isRequired }: ControlProps) {
  return { label: title ?? wordsOf(name), description, error: fault, required: isRequired };
}

/** `connectionOption` is "Connection option". */
function wordsOf(name: string): string {
  const words = name.replace(/(?<=[a-z])[A-Z](?=[a-z])/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function hintOf({ default: initial }: Schema): string {
  return typeof initial === 'object' ? '' : String(initial ?? '');
}

function isAmong(choices: readonly Choice[], value: unknown): boolean {
  return value === undefined || value === '' || choices.some((one) => one.value === value);
}

function CheckControl({
  schema: { title, description, default: initial },
  name,
  value,
  fault,
  onChange,
}: ControlProps) {
  return (
    <Checkbox
      label={title ?? wordsOf(name)}
      description={description}
      error={fault}
      checked={(value ?? initial) === true}
      onChange={(event) => onChange(event.currentTarget.checked)}
    />
  );
}

function ChoiceControl({ data, ...control }: ControlProps & { data: readonly (string | Choice)[] }) {
  const { value, onChange, schema, isRequired } = control;
  const shared = sharedOf(control);
  return (
    <Select
      {...shared}
      searchable={control.choices !== undefined}
      placeholder={hintOf(schema)}
      data={[...data]}
      value={typeof value === 'string' && value !== '' ? value : null}
      clearable={!isRequired}
      clearButtonProps={{ 'aria-label': `Clear ${shared.label}` }}
      onChange={(chosen) => onChange(chosen ?? undefined)}
    />
  );
}

function ManyControl({ data, ...control }: ControlProps & { data: string[] }) {
  const { value, onChange } = control;
  return (
    <MultiSelect
      {...sharedOf(control)}
      data={data}
      value={Array.isArray(value) ? value.map(String) : []}
      onChange={(chosen) => onChange(chosen.length > 0 ? chosen : undefined)}
    />
  );
}

interface TextControlProps extends JSONControlProps {
  hint: string;
  isNumber: boolean;
  isSecret: boolean;
  isMulti: boolean;
  language: CodeLanguage | undefined;
}

/** A number may be the template of one, which is a text. */
function TextControl({
  hint,
  isNumber,
  isSecret,
  isMulti,
  language = 'text',
  value,
  onChange,
  ...shared
}: TextControlProps) {
  const text = value === undefined || value === null ? '' : String(value);
  const change = (typed: string) => onChange(typed === '' ? undefined : isNumber ? numberOf(typed) : typed);
  const given = { ...shared, placeholder: hint, value: text };
  if (!isSecret && (isMulti || text.includes('\n')))
    return <CodeEditor {...given} language={language} onChange={change} />;
  const input = {
    ...given,
    onChange: (event: { currentTarget: { value: string } }) => change(event.currentTarget.value),
  };
  if (isSecret) return <PasswordInput {...input} autoComplete="off" />;
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
function JSONControl({ isCode, value, onChange, error, ...shared }: JSONControlProps & { isCode: boolean }) {
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
  const field = { ...shared, error: problem ?? error, value: text };
  // A value that is seldom more than a word or a template has a line.
  const [isLong] = useState(isCode || isObject(value) || Array.isArray(value));
  if (isLong) return <CodeEditor {...field} language="json" minRows={3} maxRows={16} onChange={change} />;
  return <Textarea {...field} autosize maxRows={16} onChange={(event) => change(event.currentTarget.value)} />;
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

/** Whether each item is a few fields beside each other. */
function isFlat({ type, properties = {} }: Schema): boolean {
  const all = Object.values(properties);
  return type === 'object' && all.length > 0 && all.every((one) => one.type !== 'object' && one.type !== 'array');
}

/** A list of texts, one in each line. */
function LinesControl({ value, onChange, description, ...shared }: JSONControlProps) {
  const [text, setText] = useState(() => (Array.isArray(value) ? value.join('\n') : ''));
  const change = (typed: string) => {
    setText(typed);
    const lines = typed.split('\n').filter((line) => line.trim() !== '');
    onChange(lines.length > 0 ? lines : undefined);
  };
  return (
    <Textarea
      {...shared}
      description={[description, 'One in each line'].filter(Boolean).join('. ')}
      autosize
      maxRows={12}
      value={text}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}

/** A list of objects: their fields beside each other, in an order that can be changed. */
function ListControl({ items, value, onChange, label, description, error }: JSONControlProps & { items: Schema }) {
  // Fields keep what is typed, so they begin anew where items have moved.
  const [moves, setMoves] = useState(0);
  const rows = Array.isArray(value) ? value.map((one: unknown) => (isObject(one) ? one : {})) : [];
  const put = (next: readonly unknown[]) => onChange(next.length > 0 ? next : undefined);
  const move = (next: readonly unknown[]) => {
    setMoves(moves + 1);
    put(next);
  };
  return (
    <Fieldset legend={label} p="xs">
      <Stack gap="xs">
        {description && <Text size="xs">{description}</Text>}
        {rows.map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: items have no key but their place
          <fieldset key={`${moves} ${index}`} className="item" aria-label={`${label}, ${index + 1}`}>
            {Object.entries(items.properties ?? {}).map(([name, schema]) => (
              <Control
                key={name}
                schema={schema}
                name={name}
                isSecret={schema['x-secret'] === true}
                isMulti={false}
                isRequired={items.required?.includes(name) === true}
                value={row[name]}
                onChange={(field) => {
                  const { [name]: _, ...others } = row;
                  const changed = field === undefined ? others : { ...row, [name]: field };
                  put(rows.with(index, changed));
                }}
              />
            ))}
            <Group gap={4} wrap="nowrap">
              <Button
                size="compact-xs"
                variant="default"
                aria-label={`Move ${label} ${index + 1} up`}
                disabled={index === 0}
                onClick={() => move(rows.with(index, rows[index - 1] ?? {}).with(index - 1, row))}
              >
                ↑
              </Button>
              <Button
                size="compact-xs"
                variant="default"
                aria-label={`Remove ${label} ${index + 1}`}
                onClick={() => move(rows.toSpliced(index, 1))}
              >
                ×
              </Button>
            </Group>
          </fieldset>
        ))}
        {error && <div className="fault">{error}</div>}
        <div>
          <Button size="compact-sm" variant="default" onClick={() => put([...rows, {}])}>
            Add to {label}
          </Button>
        </div>
      </Stack>
    </Fieldset>
  );
}
