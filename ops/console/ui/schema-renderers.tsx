import {
  type ControlProps,
  type JsonFormsCore,
  type JsonFormsRendererRegistryEntry,
  rankWith,
  uiTypeIs,
} from '@jsonforms/core';
import { useJsonForms, withJsonFormsControlProps } from '@jsonforms/react';
import { type ComponentType, memo, useCallback } from 'react';
import { isPicked, type PickedType } from '../client/references.ts';
import type { CodeLanguage } from '../code/language.ts';
import { DeclaredInputs } from './declared-inputs.tsx';
import type { Drawn } from './drawn.ts';
import { OrExpression } from './expression.tsx';
import { type FieldKind, fieldKindOf } from './field-kind.ts';
import { isObject } from './is-object.ts';
import { NamedValues } from './named-values.tsx';
import { isID, namedBy, namesIn } from './picked.ts';
import { ManyPicker, Picker } from './picker.tsx';
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
import { faultAt, faultWithin } from './schema-faults.ts';
import { layoutRenderers } from './schema-layouts.tsx';
import { ListControl, ObjectControl } from './schema-parts.tsx';
import {
  choicesOf,
  hasFields,
  inputsFieldOf,
  itemsOf,
  keyOf,
  type Option,
  propertiesOf,
  referenceOf,
  type Schema,
  takesText,
  wordsOf,
} from './schema-shape.ts';
import { valueAt } from './schema-value.ts';
import { syntaxOf, takesSecrets } from './takes-values.ts';
import type { Templates } from './template.ts';
import { WithValues } from './with-values.tsx';
import { Words } from './words.tsx';

/** Settings that all fields of a form share. */
export interface Config {
  templates: Templates | undefined;
  isQuestion: boolean;
}

export const renderers: JsonFormsRendererRegistryEntry[] = [
  ...layoutRenderers,
  { tester: rankWith(1, uiTypeIs('Control')), renderer: withJsonFormsControlProps(Field, false) },
];

/** The types of what a field names, of those that pickers know. */
function pickedTypesOf(schema: Schema): PickedType[] {
  return referenceOf(schema)?.types.filter(isPicked) ?? [];
}

/** For a field with inputs: what the field beside it names. Parts of lists have none. */
function inputsOwner({ path, schema }: ControlProps, core: JsonFormsCore | undefined) {
  const field = path.includes('.') ? undefined : inputsFieldOf(schema as Schema);
  if (field === undefined || !core) return { of: undefined, ofTypes: undefined };
  const types = referenceOf(propertiesOf(core.schema as Schema)[field] ?? {})?.types;
  return { of: valueAt(core.data, [field]), ofTypes: types?.join() };
}

function Field(control: ControlProps) {
  const { path, uischema, required = false, enabled, readonly, handleChange, data } = control;
  const { core } = useJsonForms();
  const onChange = useCallback((value: unknown) => handleChange(path, value), [handleChange, path]);
  if (!control.visible) return null;
  const schema = control.schema as Schema;
  // A field without a meaning is shown to those alone who have filled it.
  if (schema.deprecated === true && data === undefined) return null;
  const { description, title } = schema;
  const words = typeof title === 'string' && title !== '' ? title : wordsOf(uischema.scope);
  const kind = fieldKindOf(schema);
  const hasSwitch = control.config.templates?.everywhere && SWITCHED.has(kind) && !path.includes('.');
  const View = hasSwitch ? Switched : views[kind];
  return (
    <View
      {...{ schema, path, required, value: data, onChange }}
      element={uischema as Drawn['element']}
      // A layout may ask for none; screen readers need one.
      label={(uischema.label !== undefined && control.label) || words}
      description={typeof description === 'string' ? withOwnName(description, schema, data) : undefined}
      error={control.errors || undefined}
      within={faultWithin(path, core?.additionalErrors)}
      disabled={!enabled || readonly === true}
      {...inputsOwner(control, core)}
      templates={control.config.templates}
      syntax={syntaxOf({ path, schema, templates: control.config.templates }, core)}
      takesSecrets={takesSecrets(path, core)}
      isProse={control.config.isQuestion}
    />
  );
}

/** A description that shows how the usual name is used shows it with the name that was given. */
function withOwnName(description: string, { default: usual }: Schema, value: unknown): string {
  if (typeof usual !== 'string' || typeof value !== 'string' || value === '') return description;
  return description.replaceAll(`{{ctx.${usual}}}`, `{{ctx.${value}}}`);
}

const views: Readonly<Record<FieldKind, ComponentType<Drawn>>> = {
  json: memo(JSONField),
  text: memo(TextField),
  'one or many': memo(OneOrManyField),
  'named values': memo(NamedField),
  number: memo(NumberField),
  check: memo(CheckField),
  group: memo(ObjectField),
  list: memo(ListField),
  choice: memo(ChoiceField),
  reference: memo(ReferenceField),
  inputs: memo(InputsField),
  fixed: () => null,
};

/** Kinds of fields into which no expression can be typed. */
const SWITCHED: ReadonlySet<FieldKind> = new Set(['check', 'choice', 'number', 'list', 'json', 'group']);

const Switched = memo(SwitchedField);

function SwitchedField(field: Drawn) {
  const { templates, schema } = field;
  const View = views[fieldKindOf(schema)];
  return (
    <OrExpression {...sharedOf(field)} root={templates?.root} canPick={false}>
      {({ value, onChange }) => <View {...{ ...field, value, onChange }} syntax={undefined} />}
    </OrExpression>
  );
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
  return (
    <WithValues {...field}>
      <JSONControl {...sharedOf(field)} isCode={languageOf(field) === 'json' || type === 'array'} />
    </WithValues>
  );
}

function TextField(field: Drawn) {
  const { options = {} } = field.element;
  if (typeof field.value === 'object' && field.value !== null) return <JSONField {...field} />;
  const isSecret = options.format === 'password' || field.schema['x-secret'] === true;
  const isMulti = options.multi === true;
  const text = { ...sharedOf(field), hint: hintOf(field) };
  if (isMulti && field.isProse) return <ProseControl {...text} />;
  return (
    <WithValues {...field}>
      <TextControl {...text} {...{ isSecret, isMulti }} language={languageOf(field)} />
    </WithValues>
  );
}

function languageOf({ element: { options = {} } }: Drawn): CodeLanguage {
  return languages.find((language) => language === options.language) ?? 'text';
}

const languages: readonly CodeLanguage[] = ['sql', 'javascript', 'json', 'text'];

function NumberField(field: Drawn) {
  if (typeof field.value === 'object' && field.value !== null) return <JSONField {...field} />;
  return (
    <WithValues {...field}>
      <NumberControl {...sharedOf(field)} hint={hintOf(field)} />
    </WithValues>
  );
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
  // Items of several types are lines as long as all of them are texts.
  if (!options && value?.some((one: unknown) => typeof one === 'object')) return <JSONField {...field} />;
  const shared = sharedOf(field);
  if (!options)
    return (
      <WithValues {...field}>
        <LinesControl {...shared} areNumbers={!takesText(items)} />
      </WithValues>
    );
  return (
    <ManyControl
      {...shared}
      data={options}
      value={value?.map(keyOf)}
      onChange={(keys) => field.onChange(keys?.map((key) => setBy(key, options)))}
    />
  );
}

/** One text, or several: each in a line of its own. */
function OneOrManyField(field: Drawn) {
  const { value, onChange } = field;
  const several: readonly unknown[] | undefined = Array.isArray(value) ? value : value === undefined ? [] : [value];
  if (several.some((one) => typeof one === 'object')) return <JSONField {...field} />;
  return (
    <WithValues {...field}>
      <LinesControl
        {...sharedOf(field)}
        areNumbers={false}
        value={several}
        onChange={(lines) => onChange(Array.isArray(lines) && lines.length === 1 ? lines[0] : lines)}
      />
    </WithValues>
  );
}

/** A template is a text. */
function NamedField(field: Drawn) {
  if (typeof field.value === 'string') return <JSONField {...field} />;
  return <NamedValues {...sharedOf(field)} />;
}

function ChoiceField(field: Drawn) {
  return <OneOf {...field} options={choicesOf(field.schema) ?? []} />;
}

function ReferenceField(field: Drawn) {
  const { schema, value, onChange, templates } = field;
  const types = pickedTypesOf(schema);
  if (types.length === 0) return <TextField {...field} />;
  const root = templates?.inIDs ? templates.root : undefined;
  const shared = { ...sharedOf(field), value, onChange };
  return (
    <OrExpression {...shared} root={root}>
      {({ value: given, onChange: give, ...one }) =>
        referenceOf(schema)?.isMany ? (
          <ManyPicker
            {...{ ...one, types }}
            takesNames={types.includes('user')}
            value={namesIn(given)}
            onChange={(ids) => give(ids.length > 0 ? ids : undefined)}
          />
        ) : (
          <Picker {...{ ...one, types }} value={namedBy(given)} onChange={(id) => give(id)} />
        )
      }
    </OrExpression>
  );
}

/** The declared inputs of what another field names; JSON where they are not known. */
function InputsField(field: Drawn) {
  const { path, value, of, ofTypes, templates } = field;
  const { core } = useJsonForms();
  const id = namedBy(of);
  if (id === undefined || !isID(id) || !isPicked(ofTypes) || (value !== undefined && !isObject(value)))
    return <JSONField {...field} />;
  return (
    <DeclaredInputs
      {...sharedOf(field)}
      {...{ id, value }}
      type={ofTypes}
      root={templates?.root}
      faultOf={(key) => faultAt(`${path}.${key}`, core?.additionalErrors)}
      other={<JSONField {...field} />}
    />
  );
}

/** A template is a text, and no choice. */
function OneOf({ options, ...field }: Drawn & { options: readonly Option[] }) {
  const { value } = field;
  const key = value === undefined || value === null || value === '' ? null : keyOf(value);
  if (key !== null && options.every((one) => one.value !== key)) return <TextField {...field} />;
  return (
    <ChoiceControl
      {...sharedOf(field)}
      {...{ hint: options.find((one) => one.value === hintOf(field))?.label ?? hintOf(field), data: options }}
      value={key}
      onChange={(chosen) => field.onChange(chosen === null ? undefined : setBy(chosen, options))}
    />
  );
}

function setBy(key: string, options: readonly Option[]): unknown {
  const option = options.find(({ value }) => value === key);
  return option && 'sets' in option ? option.sets : key;
}
