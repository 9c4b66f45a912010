import { z } from 'zod';
import { AppError } from '#shared/core/errors.ts';
import { numberIn } from '#shared/core/exact-number.ts';
import { hasMoreParts, isJsonObject, type Json, type JsonObject } from '#shared/core/json.ts';
import { PROTOTYPE_KEY } from '#shared/core/record.ts';
import { type Issue, invalid, within } from '#shared/core/schema/issues.ts';
import { mismatch, parseValue } from '#shared/core/schema/parse.ts';
import { readFormSchema } from '#shared/workflow/form-schema.ts';
import { CollectionField } from '#shared/workflow/nodes/kinds/data-collection.ts';

/**
 * Converts a submission to the fields of its request; unknown keys are dropped. Without fields it is checked by the form's schema.
 * Without a schema, or with one that was stored before schemas were checked, every key passes.
 */
export function checkSubmission(collectionConfig: JsonObject, submitted: JsonObject): JsonObject {
  const fields = Fields.safeParse(collectionConfig.fields).data ?? [];
  if (fields.length === 0) return checkForm(collectionConfig.formSchema ?? null, submitted);

  const answers = fields.map((field) => readAnswer(field, submitted));
  const issues = answers.flatMap(({ issue }) => issue ?? []);
  if (issues.length > 0) throw invalid(issues);
  return Object.fromEntries(answers.map(({ key, value }) => [key, value ?? null]));
}

function checkForm(form: Json, submitted: JsonObject): JsonObject {
  const read = isJsonObject(form) ? readFormSchema(form) : undefined;
  if (!read || 'message' in read) return submitted;
  if (hasMoreParts(submitted, read.maxParts))
    throw new AppError('PAYLOAD_TOO_LARGE', `An answer to this form has at most ${read.maxParts} values`);
  const parsed = parseValue(read.schema, submitted);
  if (!parsed.success) throw invalid([...within(['submittedData'], parsed.issues)]);
  const answer = isJsonObject(parsed.data) ? parsed.data : submitted;
  const lost = findLostKey(submitted, answer, ['submittedData']);
  if (lost) throw invalid([{ path: lost, message: 'this name cannot be used in forms' }]);
  return answer;
}

/** The path of a key `__proto__` that the schema has left out: zod's schemas of objects know no such key. */
function findLostKey(given: Json, read: Json | undefined, path: readonly string[]): string[] | undefined {
  if (typeof given !== 'object' || given === null || typeof read !== 'object' || read === null) return undefined;
  if (Object.hasOwn(given, PROTOTYPE_KEY) && !Object.hasOwn(read, PROTOTYPE_KEY)) return [...path, PROTOTYPE_KEY];
  for (const [key, value] of Object.entries(given)) {
    const found = findLostKey(value, Reflect.get(read, key), [...path, key]);
    if (found) return found;
  }
  return undefined;
}

interface Answer {
  key: string;
  value?: Json;
  issue?: Issue;
}

function readAnswer(field: CollectionField, submitted: JsonObject): Answer {
  const { key, required, fieldType } = field;
  const path = ['submittedData', key];
  const given = Object.hasOwn(submitted, key) ? (submitted[key] ?? '') : '';
  if (given === '') return required ? { key, issue: { path, message: 'is required' } } : { key };
  const value = readers[fieldType](given, field);
  return value === undefined ? { key, issue: { path, message: mismatch(wanted(field), given, path) } } : { key, value };
}

const Fields = z.array(CollectionField);

/** The value in the field's type, undefined when it cannot be converted. */
const readers: Record<CollectionField['fieldType'], (value: Json, field: CollectionField) => Json | undefined> = {
  text: readText,
  'long text': readText,
  number: readNumber,
  checkbox: (value) =>
    value === 'true' || value === 'false' ? value === 'true' : typeof value === 'boolean' ? value : undefined,
  dropdown: (value, field) => choicesOf(field).find((choice) => choice === value),
};

function readText(value: Json): Json | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A text with more digits than a double holds stays that text. */
function readNumber(value: Json): Json | undefined {
  if (typeof value === 'string') return numberIn(value);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

function choicesOf({ options = [] }: CollectionField): string[] {
  return options.map((option) => (typeof option === 'string' ? option : option.value));
}

function wanted(field: CollectionField): string {
  const named = { text: 'a text', 'long text': 'a text', number: 'a number', checkbox: 'true or false' };
  return field.fieldType === 'dropdown' ? `one of ${JSON.stringify(choicesOf(field))}` : named[field.fieldType];
}
