import { encode } from '@jsonforms/core';
import { isObject } from '../ui/is-object.ts';
import { type Form, hasFields, kindOf, layoutOf, propertiesOf, requiredOf, type Schema } from '../ui/schema-shape.ts';
import { layoutProblem, schemaProblem } from './check-form.ts';

type Answer = Readonly<Record<string, unknown>>;

export interface QuestionForm {
  form: Form;
  /** The answer before anything is entered. */
  start: Answer;
  /** Why it is not drawn as its author meant. */
  problem?: string;
}

/** The form of a question: of its fields, else of its schema by its layout, else for any JSON. */
export function questionForm({ fields, formSchema, formUischema }: Answer): QuestionForm {
  const own = Array.isArray(fields) ? fields.filter(isObject) : [];
  const { schema, layout } = own.length > 0 ? formOfFields(own) : { schema: formSchema, layout: formUischema };
  if (!isObject(schema)) return { form: anyAnswer, start: {} };
  const problem = schemaProblem(schema);
  if (problem) return { form: anyAnswer, start: {}, problem: `The schema of this question is not drawn: ${problem}.` };
  const start = startOf(schema);
  if (!isObject(layout) || Object.keys(layout).length === 0)
    return { form: { schema, uischema: layoutOf(schema) }, start };
  const flaw = layoutProblem(layout, schema);
  if (!flaw) return { form: { schema, uischema: layout }, start };
  return {
    ...{ form: { schema, uischema: layoutOf(schema) }, start },
    problem: `The layout of this question is not used: ${flaw}.`,
  };
}

/** For a schema that cannot be drawn. */
export const anyAnswer: Form = {
  schema: { title: 'Answer', description: 'A JSON object' },
  uischema: { type: 'Control', scope: '#' },
};

function formOfFields(fields: readonly Schema[]): { schema: Schema; layout: Schema } {
  const properties = fields.map((field) => [String(field.key), propertyOf(field)] as const);
  const required = fields.filter((field) => field.required === true && field.fieldType !== 'checkbox');
  const elements = fields.map(({ key, placeholder, fieldType }) => ({
    ...{ type: 'Control', scope: `#/properties/${encode(String(key))}` },
    options: { placeholder, multi: fieldType === 'long text' },
  }));
  return {
    schema: { type: 'object', properties: Object.fromEntries(properties), required: required.map(({ key }) => key) },
    layout: { type: 'VerticalLayout', elements },
  };
}

const types: Readonly<Record<string, string>> = { number: 'number', checkbox: 'boolean' };

function propertyOf({ key, label, fieldType, options }: Schema): Schema {
  const title = typeof label === 'string' && label !== '' ? label : key;
  const type = types[String(fieldType)] ?? 'string';
  if (fieldType !== 'dropdown') return { type, title };
  const choices = Array.isArray(options) ? options : [];
  const oneOf = choices.map((choice: unknown) =>
    isObject(choice) ? { const: choice.value, title: choice.label } : { const: choice },
  );
  return { type, title, oneOf };
}

/** With the defaults of a schema. A box that stays unchecked answers too. */
function startOf(schema: Schema): Answer {
  const start = Object.entries(propertiesOf(schema)).flatMap(([name, property]) => {
    const value = startOfField(property, requiredOf(schema).includes(name));
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(start);
}

function startOfField(property: Schema, isRequired: boolean): unknown {
  if (property.default !== undefined) return property.default;
  if (kindOf(property) === 'boolean') return false;
  return isRequired && hasFields(property) ? startOf(property) : undefined;
}

/** Makes the answer to send: text that is no JSON stays as it is; objects in which everything has been cleared are left out, unless the schema asks for them. */
export function answerOf(entered: Answer, { schema }: Form): Answer {
  return isObject(entered) ? withoutEmpty(entered, schema as Schema) : entered;
}

function withoutEmpty(entered: Answer, schema: Schema): Answer {
  const entries = Object.entries(entered).flatMap(([name, value]) => {
    const property = propertiesOf(schema)[name];
    if (!property || !isObject(value)) return [[name, value]];
    const inner = withoutEmpty(value, property);
    const isEmpty = Object.keys(inner).length === 0 && !requiredOf(schema).includes(name);
    return isEmpty && hasFields(property) ? [] : [[name, inner]];
  });
  return Object.fromEntries(entries);
}
