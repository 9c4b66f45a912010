import {
  and,
  type ControlProps,
  type JsonFormsRendererRegistryEntry,
  rankWith,
  schemaMatches,
  type Tester,
  type UISchemaElement,
  uiTypeIs,
} from '@jsonforms/core';
import { useJsonForms, withJsonFormsControlProps } from '@jsonforms/react';
import { type ComponentType, memo, useCallback } from 'react';
import type { CodeLanguage } from '../code/language.ts';
import type { Drawn } from './drawn.ts';
import { isObject } from './is-object.ts';
import {
  CheckControl,
  ChoiceControl,
  JSONControl,
  LinesControl,
  ManyControl,
  NumberControl,
  ProseControl,
  TextControl,
} from './schema-control.tsx';
import { faultWithin } from './schema-faults.ts';
import { layoutRenderers } from './schema-layouts.tsx';
import { ListControl, ObjectControl } from './schema-parts.tsx';
import {
  type Choice,
  choicesOf,
  hasFields,
  itemsOf,
  keyOf,
  kindOf,
  nameOf,
  type Option,
  type Schema,
  wordsOf,
} from './schema-shape.ts';
import { Words } from './words.tsx';

/** Settings that all fields of a form share. */
export interface Config {
  choices: ReadonlyMap<string, readonly Choice[]>;
  isQuestion: boolean;
}

const isControl = uiTypeIs('Control');
const isText = (schema: Schema) => kindOf(schema) === 'string';
const isNumber = (schema: Schema) => ['number', 'integer'].includes(kindOf(schema));
const isCheck = (schema: Schema) => kindOf(schema) === 'boolean';
const isGroup = (schema: Schema) => kindOf(schema) === 'object' && hasFields(schema);
const isList = (schema: Schema) => itemsOf(schema) !== undefined;
const isChoice = (schema: Schema) => choicesOf(schema) !== undefined;
const isFixed = (schema: Schema) => schema.const !== undefined;
const isAsset = and(isControl, (element, _, { config }) => choicesFor(element, config) !== undefined);

/** The ways to draw a field. The last one that fits counts. */
const fields: readonly [tester: Tester, View: ComponentType<Drawn>][] = [
  [isControl, JSONField],
  [controlOf(isText), TextField],
  [controlOf(isNumber), NumberField],
  [controlOf(isCheck), CheckField],
  [controlOf(isGroup), ObjectField],
  [controlOf(isList), ListField],
  [controlOf(isChoice), ChoiceField],
  [isAsset, AssetField],
  // There is nothing to choose.
  [controlOf(isFixed), () => null],
];

export const renderers: JsonFormsRendererRegistryEntry[] = [
  ...layoutRenderers,
  ...fields.map(([tester, View], rank) => ({ tester: rankWith(rank + 1, tester), renderer: rendererOf(View) })),
];

function controlOf(fits: (schema: Schema) => boolean): Tester {
  return and(
    isControl,
    schemaMatches((schema) => fits(schema as Schema)),
  );
}

function choicesFor(element: UISchemaElement & { scope?: string }, { choices }: Config): readonly Choice[] | undefined {
  return choices.get(nameOf(element.scope ?? ''));
}

function rendererOf(View: ComponentType<Drawn>) {
  const Memo = memo(View);
  return withJsonFormsControlProps(function Field(control: ControlProps) {
    const { path, uischema, required = false, enabled, readonly, handleChange, data } = control;
    const { core } = useJsonForms();
    const onChange = useCallback((value: unknown) => handleChange(path, value), [handleChange, path]);
    if (!control.visible) return null;
    const schema = control.schema as Schema;
    const { description, title } = schema;
    const words = typeof title === 'string' && title !== '' ? title : wordsOf(uischema.scope);
    return (
      <Memo
        {...{ schema, path, required, value: data, onChange }}
        element={uischema as Drawn['element']}
        // A layout may ask for none; screen readers need one.
        label={(uischema.label !== undefined && control.label) || words}
        description={typeof description === 'string' ? description : undefined}
        error={control.errors || undefined}
        within={faultWithin(path, core?.additionalErrors)}
        disabled={!enabled || readonly === true}
        choices={choicesFor(uischema, control.config)}
        isProse={control.config.isQuestion}
      />
    );
  }, false);
}

/** Props that all Mantine fields share. A fault within a value is told at the field that shows all of it. */
function sharedOf({ label, description, error, within, required, disabled, value, onChange }: Drawn) {
  const fault = error ?? within;
  return {
    ...{ label, required, disabled, value, onChange },
    description: description && <Words text={description} />,
    error: fault && <Words text={fault} />,
  };
}

function hintOf({ schema, element: { options = {} } }: Drawn): string {
  const hint = options.placeholder ?? schema.default ?? '';
  return typeof hint === 'object' ? '' : String(hint);
}

function JSONField(field: Drawn) {
  const { type } = field.schema;
  return <JSONControl {...sharedOf(field)} isCode={languageOf(field) === 'json' || type === 'array'} />;
}

function TextField(field: Drawn) {
  const { options = {} } = field.element;
  if (typeof field.value === 'object' && field.value !== null) return <JSONField {...field} />;
  const isSecret = options.format === 'password' || field.schema['x-secret'] === true;
  const isMulti = options.multi === true;
  const text = { ...sharedOf(field), hint: hintOf(field) };
  if (isMulti && field.isProse) return <ProseControl {...text} />;
  return <TextControl {...text} {...{ isSecret, isMulti }} language={languageOf(field)} />;
}

function languageOf({ element: { options = {} } }: Drawn): CodeLanguage {
  return languages.find((language) => language === options.language) ?? 'text';
}

const languages: readonly CodeLanguage[] = ['sql', 'javascript', 'json', 'text'];

function NumberField(field: Drawn) {
  if (typeof field.value === 'object' && field.value !== null) return <JSONField {...field} />;
  return <NumberControl {...sharedOf(field)} hint={hintOf(field)} />;
}

/** A template is a text. */
function CheckField(field: Drawn) {
  if (typeof field.value === 'string') return <TextField {...field} />;
  return <CheckControl {...sharedOf(field)} value={field.value ?? field.schema.default} />;
}

function ObjectField(field: Drawn) {
  return field.value === undefined || isObject(field.value) ? <ObjectControl {...field} /> : <JSONField {...field} />;
}

function ListField(field: Drawn) {
  const { schema, value } = field;
  if (value !== undefined && !Array.isArray(value)) return <JSONField {...field} />;
  const items = itemsOf(schema) ?? {};
  const options = choicesOf(items);
  if (!options && hasFields(items)) return <ListControl {...field} />;
  const shared = sharedOf(field);
  if (!options) return <LinesControl {...shared} areNumbers={kindOf(items) !== 'string'} />;
  return (
    <ManyControl
      {...shared}
      data={options}
      value={value?.map(keyOf)}
      onChange={(keys) => field.onChange(keys?.map((key) => setBy(key, options)))}
    />
  );
}

function ChoiceField(field: Drawn) {
  return <OneOf {...field} options={choicesOf(field.schema) ?? []} isSearchable={false} />;
}

function AssetField(field: Drawn) {
  return <OneOf {...field} options={field.choices ?? []} isSearchable />;
}

/** A template is a text, and no choice. */
function OneOf({ options, isSearchable, ...field }: Drawn & { options: readonly Option[]; isSearchable: boolean }) {
  const { value } = field;
  const key = value === undefined || value === null || value === '' ? null : keyOf(value);
  if (key !== null && options.every((one) => one.value !== key)) return <TextField {...field} />;
  return (
    <ChoiceControl
      {...sharedOf(field)}
      {...{ isSearchable, hint: hintOf(field), data: options }}
      value={key}
      onChange={(chosen) => field.onChange(chosen === null ? undefined : setBy(chosen, options))}
    />
  );
}

function setBy(key: string, options: readonly Option[]): unknown {
  const option = options.find(({ value }) => value === key);
  return option && 'sets' in option ? option.sets : key;
}
