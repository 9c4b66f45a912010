import { Checkbox, PasswordInput, Select, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { numberIn } from '#shared/core/exact-number.ts';
import type { CodeLanguage } from '../code/language.ts';
import { CodeEditor, type CodeEditorProps } from './code-editor.tsx';
import type { ControlProps } from './drawn.ts';
import { isObject } from './is-object.ts';
import { MultiSelect } from './multi-select.tsx';
import type { Choice } from './schema-shape.ts';
import { parseTemplateJSON } from './template-json.ts';

/** Unchecked is an answer too, so that none is required. */
export function CheckControl({ value, onChange, required: _, ...shared }: ControlProps) {
  return <Checkbox {...shared} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />;
}

interface ChoiceControlProps extends Omit<ControlProps, 'value' | 'onChange'> {
  data: readonly Choice[];
  value: string | null;
  onChange: (value: string | null) => void;
  hint: string;
}

export function ChoiceControl({ data, hint, value, onChange, ...shared }: ChoiceControlProps) {
  return (
    <Select
      {...shared}
      withAsterisk={shared.required}
      placeholder={hint}
      data={[...data]}
      value={value}
      clearable={!shared.required}
      clearButtonProps={{ 'aria-label': `Clear ${shared.label}` }}
      onChange={onChange}
    />
  );
}

interface ManyControlProps extends Omit<ControlProps, 'value' | 'onChange'> {
  data: readonly Choice[];
  value: string[] | undefined;
  onChange: (value: string[] | undefined) => void;
}

export function ManyControl({ data, value, onChange, ...shared }: ManyControlProps) {
  return (
    <MultiSelect
      {...shared}
      data={[...data]}
      value={value ?? []}
      onChange={(chosen) => onChange(chosen.length > 0 ? chosen : undefined)}
    />
  );
}

interface TextControlProps extends ControlProps {
  hint: string;
  isSecret: boolean;
  isMulti: boolean;
  /** The language of the field's content. */
  language: CodeLanguage;
}

export function TextControl({ hint, isSecret, isMulti, language, value, onChange, ...shared }: TextControlProps) {
  const text = value === undefined || value === null ? '' : String(value);
  const change = (typed: string) => onChange(typed || undefined);
  const given = { ...shared, placeholder: hint, value: text };
  if (!isSecret && (isMulti || text.includes('\n')))
    return <CodeControl {...given} language={language} onChange={change} />;
  const input = {
    ...given,
    onChange: (event: { currentTarget: { value: string } }) => change(event.currentTarget.value),
  };
  if (isSecret) return <PasswordInput {...input} autoComplete="off" />;
  return <TextInput {...input} />;
}

/** Code that cannot be changed now needs no editor. */
function CodeControl({ disabled, ...field }: CodeEditorProps & { disabled: boolean }) {
  if (!disabled) return <CodeEditor {...field} />;
  const { label, description, error, required, value, maxRows = 20 } = field;
  return <Textarea {...{ label, description, error, required, value, maxRows }} autosize readOnly disabled />;
}

/** Words of a person, on several lines. */
export function ProseControl({ hint, value, onChange, ...shared }: ControlProps & { hint: string }) {
  return (
    <Textarea
      {...{ ...shared, placeholder: hint }}
      autosize
      minRows={3}
      maxRows={20}
      value={value === undefined || value === null ? '' : String(value)}
      onChange={(event) => onChange(event.currentTarget.value || undefined)}
    />
  );
}

/** A number may be the template of one, which is a text. */
export function NumberControl({ hint, value, onChange, ...shared }: ControlProps & { hint: string }) {
  // The number alone would forget the zero of `1.0`, which may become `1.05`.
  const [typed, setTyped] = useState('');
  const text = value === undefined || value === null ? '' : String(value);
  return (
    <TextInput
      {...shared}
      placeholder={hint}
      inputMode="decimal"
      value={numberOf(typed) === value ? typed : text}
      onChange={({ currentTarget }) => {
        setTyped(currentTarget.value);
        onChange(numberOf(currentTarget.value));
      }}
    />
  );
}

function numberOf(typed: string): unknown {
  if (typed === '') return undefined;
  return /^-?\d+(\.\d+)?$/.test(typed) ? numberIn(typed) : typed;
}

/** Text that is not JSON is a text, which may be a template; templates may stand in JSON without quotes. A list or an object that does not parse is told, and left to the API. */
export function JSONControl({ isCode, value, onChange, error, ...shared }: ControlProps & { isCode: boolean }) {
  const [text, setText] = useState(() => written(value));
  const [problem, setProblem] = useState<string>();
  const change = (typed: string) => {
    setText(typed);
    setProblem(undefined);
    if (typed.trim() === '') return onChange(undefined);
    try {
      onChange(parseTemplateJSON(typed));
    } catch (failure) {
      if (/^\s*[[{](?!\{)/.test(typed)) setProblem((failure as Error).message);
      onChange(typed);
    }
  };
  const field = { ...shared, error: problem ?? error, value: text };
  // A value that is seldom more than a word or a template has a line.
  const [isLong] = useState(isCode || isObject(value) || Array.isArray(value));
  if (isLong) return <CodeControl {...field} language="json" minRows={3} maxRows={16} onChange={change} />;
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

/** A list of texts or of numbers, one in each line. */
export function LinesControl({
  areNumbers,
  value,
  onChange,
  description,
  ...shared
}: ControlProps & { areNumbers: boolean }) {
  const [text, setText] = useState(() => (Array.isArray(value) ? value.join('\n') : ''));
  const change = (typed: string) => {
    setText(typed);
    const lines = typed.split('\n').filter((line) => line.trim() !== '');
    onChange(lines.length > 0 ? lines.map((line) => (areNumbers ? numberOf(line.trim()) : line)) : undefined);
  };
  return (
    <Textarea
      {...shared}
      description={
        <>
          {description}
          {description && '. '}One in each line
        </>
      }
      autosize
      maxRows={12}
      value={text}
      onChange={(event) => change(event.currentTarget.value)}
    />
  );
}
